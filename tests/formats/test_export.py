"""What is written for other programs, loaded by those programs: their ids on a text are ours."""

from __future__ import annotations

import json
import logging
import runpy
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bpenb import Tokenizer
from bpenb.errors import OutputError
from bpenb.formats import EXPORT_KINDS, check_export, export_model, load_model
from bpenb.formats.byte_map import from_printable
from bpenb.formats.gguf_file import GGUF_NAMES, gguf_pre
from bpenb.model import BPEModel
from bpenb.patterns import ASCII_CASE, PATTERNS, THEN, SplitPattern, resolve_pattern
from bpenb.traits import TokenFlags, Traits
from tests.formats.models import BYTES, EOT, facts, ids_of, trained
from tests.formats.test_hf_import import DEEPSEEK
from tests.oracles.encoder import encode

SPECIALS = [EOT, "<|im_start|>", "[END OF DOC]", "é中"]
TEXT = (
    f"It's the cats' 1234567 tests, isn't it? IT'S{EOT}\n\nthe naïve cafés 中文 é中é ①Ⅻ½\r\n\r\n"
    "def f(x_1, y=[0.5e-3]):\r\n\treturn {'a': x**2}  # → √2\n\n[END OF DOC]<|im_start|>user\n"
    "  \u3000हिन्दी 😀 end  "
)


@pytest.fixture(scope="module")
def transformers() -> Iterator[Any]:
    """The package, without torch and without what it says about that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import transformers

        logging.getLogger("transformers").setLevel(logging.ERROR)
        yield transformers


def model_of(pattern: str, ties: str = "cs336") -> BPEModel:
    return trained(TEXT * 3, 80, SPECIALS, ties, pattern)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


# --- transformers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["hf", "bpenb"])
@pytest.mark.parametrize("name", PATTERNS)
def test_transformers_loads_the_folder(tmp_path: Path, transformers: Any, name: str, kind: str) -> None:
    model = model_of(name)
    export_model(model, tmp_path / "t", kind)
    if kind == "hf":
        assert names(tmp_path / "t") == ["token_bytes.npy", "tokenizer.json", "tokenizer_config.json"]
    peer = transformers.AutoTokenizer.from_pretrained(tmp_path / "t")
    ids = peer.encode(TEXT, add_special_tokens=False)
    assert ids == ids_of(model, TEXT)
    assert peer.decode(ids) == TEXT
    assert peer(TEXT)["input_ids"] == ids
    assert (peer.eos_token, peer.eos_token_id) == (EOT, model.special_tokens[EOT])
    assert len(peer) == model.n_vocab
    assert peer.decode([model.special_tokens[EOT]], skip_special_tokens=True) == ""


def test_transformers_and_what_a_foreign_tokenizer_does(tmp_path: Path, transformers: Any) -> None:
    flags = {"<|im_start|>": TokenFlags(lstrip=True, rstrip=True), "é中": TokenFlags(special=False)}
    model = replace(model_of("qwen2"), traits=Traits(True, "NFC", flags))
    export_model(model, tmp_path / "t", "hf")
    peer = transformers.AutoTokenizer.from_pretrained(tmp_path / "t")
    text = TEXT + "e\u0301 <|im_start|> \n x é中"
    assert peer.encode(text, add_special_tokens=False) == Tokenizer.from_model(model).encode(text)
    rows = json.loads((tmp_path / "t" / "tokenizer_config.json").read_text("utf-8"))["added_tokens_decoder"]
    row = rows[str(model.special_tokens["<|im_start|>"])]
    assert (row["lstrip"], row["rstrip"], row["special"], row["normalized"]) == (True, True, True, False)


def test_a_tokenizer_without_an_end_of_text(tmp_path: Path, transformers: Any) -> None:
    Tokenizer(BYTES, []).save(tmp_path / "t")
    peer = transformers.AutoTokenizer.from_pretrained(tmp_path / "t")
    assert peer.eos_token is None
    assert peer.encode("ab", add_special_tokens=False) == [97, 98]


# --- vocab.json and merges.txt --------------------------------------------------------------------


def test_gpt2s_own_class_loads_the_two_files(tmp_path: Path, transformers: Any) -> None:
    model = model_of("gpt2")
    export_model(model, tmp_path / "t", "gpt2")
    assert names(tmp_path / "t") == ["merges.txt", "token_bytes.npy", "vocab.json"]
    peer = transformers.GPT2Tokenizer(str(tmp_path / "t" / "vocab.json"), str(tmp_path / "t" / "merges.txt"))
    peer.add_special_tokens({"additional_special_tokens": SPECIALS})
    assert peer.encode(TEXT, add_special_tokens=False) == ids_of(model, TEXT)


def test_tokenizers_loads_the_two_files(tmp_path: Path) -> None:
    from tokenizers.implementations import ByteLevelBPETokenizer

    model = model_of("gpt2", "huggingface")
    export_model(model, tmp_path / "t", "gpt2")
    peer = ByteLevelBPETokenizer.from_file(str(tmp_path / "t/vocab.json"), str(tmp_path / "t/merges.txt"))
    peer.add_special_tokens(SPECIALS)
    assert peer.encode(TEXT).ids == ids_of(model, TEXT)


def test_what_the_two_files_cannot_tell(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="hold no split pattern; who loads them must know 'cl100k'"):
        export_model(model_of("cl100k"), tmp_path / "a", "gpt2")
    model = replace(model_of("gpt2"), traits=Traits(normalizer="NFC", ignore_merges=True))
    with pytest.warns(UserWarning, match="no place for .*: ignore_merges, normalizer"):
        export_model(model, tmp_path / "b", "gpt2")


# --- tiktoken -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", ["cs336", "huggingface", "rustbpe"])
@pytest.mark.parametrize("name", PATTERNS)
def test_the_snippet_builds_the_encoding(tmp_path: Path, name: str, ties: str) -> None:
    model = model_of(name, ties)
    export_model(model, tmp_path / "t", "tiktoken")
    assert names(tmp_path / "t") == ["token_bytes.npy", "tokenizer.tiktoken", "tokenizer_tiktoken.py"]
    peer = runpy.run_path(str(tmp_path / "t" / "tokenizer_tiktoken.py"))["encoding"]
    assert peer.encode(TEXT, allowed_special="all") == ids_of(model, TEXT)
    assert peer.n_vocab == model.n_vocab
    assert peer.decode(peer.encode(TEXT, allowed_special="all")) == TEXT
    read = load_model(tmp_path / "t" / "tokenizer.tiktoken", pattern=name)
    assert read.merge_pairs() == model.merge_pairs()


def test_what_tiktoken_does_otherwise_is_told(tmp_path: Path) -> None:
    flags = {EOT: TokenFlags(lstrip=True)}
    model = replace(trained(TEXT, 20, [EOT, EOT + "!"]), traits=Traits(normalizer="NFC", flags=flags))
    with pytest.warns(UserWarning) as caught:
        export_model(model, tmp_path / "t", "tiktoken")
    said = " ".join(str(warning.message) for warning in caught)
    assert len(caught) == 3
    for part in (
        "has no normalizer: bring texts into NFC",
        "is told of no lstrip",
        "the longest of overlapping",
    ):
        assert part in said
    with pytest.warns(UserWarning, match="by your regex was not compared with ours"):
        export_model(trained("ab", 1, pattern=r"\s+|\S"), tmp_path / "u", "tiktoken")


def test_what_tiktoken_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(
        OutputError, match="tiktoken cuts by one regex, and this tokenizer by 2, one after the"
    ):
        export_model(trained("ab", 1, pattern=rf"\d{THEN}\s+|\S+"), tmp_path / "t", "tiktoken")
    model = BPEModel.from_ids(BYTES | {300: b"ab", 299: b"bc"}, [(b"a", b"b"), (b"b", b"c")], {}, "gpt2")
    with pytest.raises(OutputError, match="299 merges after token 300"):
        export_model(model, tmp_path / "t", "tiktoken")
    assert names(tmp_path) == []


# --- llama.cpp ------------------------------------------------------------------------------------


def fields(path: Path) -> dict[str, Any]:
    from gguf import GGUFReader

    reader = GGUFReader(path)
    found = {key: field.contents() for key, field in reader.fields.items() if key.startswith("tokenizer.")}
    assert not reader.tensors
    del reader  # it maps the file
    return found


@pytest.mark.parametrize(("name", "pre"), GGUF_NAMES.items())
def test_gguf(tmp_path: Path, name: str, pre: str) -> None:
    model = replace(model_of(name), traits=Traits(flags={"é中": TokenFlags(special=False)}))
    export_model(model, tmp_path / "t.gguf", "gguf")
    found = fields(tmp_path / "t.gguf")
    vocab = json.loads(vocab_of(model, tmp_path))
    assert found["tokenizer.ggml.model"] == "gpt2"
    assert found["tokenizer.ggml.pre"] == pre
    assert dict(zip(found["tokenizer.ggml.tokens"], range(model.n_vocab), strict=True)) == vocab
    kinds = found["tokenizer.ggml.token_type"]
    assert {token: kinds[token_id] for token, token_id in model.special_tokens.items()} == dict.fromkeys(
        SPECIALS, 3
    ) | {"é中": 4}
    assert kinds.count(1) == model.n_vocab - 4
    merges = (tmp_path / "g" / "merges.txt").read_text("utf-8").splitlines()[1:]
    assert found["tokenizer.ggml.merges"] == merges
    assert found["tokenizer.ggml.eos_token_id"] == model.special_tokens[EOT]
    assert found["tokenizer.ggml.add_bos_token"] is found["tokenizer.ggml.add_eos_token"] is False
    assert names(tmp_path) == ["g", "t.gguf"]


def vocab_of(model: BPEModel, folder: Path) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the pattern, which the two files do not hold
        export_model(model, folder / "g", "gpt2")
    return (folder / "g" / "vocab.json").read_text("utf-8")


def test_what_a_gguf_file_says_encodes_as_we_do(tmp_path: Path) -> None:
    """llama.cpp's steps, by the metadata alone: special tokens, its regex, merges by rank."""
    model = model_of("cl100k")
    export_model(model, tmp_path / "t.gguf", "gguf")
    found = fields(tmp_path / "t.gguf")
    tokens, kinds = found["tokenizer.ggml.tokens"], found["tokenizer.ggml.token_type"]
    vocab = {i: t.encode() if kinds[i] > 1 else from_printable(t) for i, t in enumerate(tokens)}
    merges = [tuple(map(from_printable, line.split(" "))) for line in found["tokenizer.ggml.merges"]]
    specials = [t for t, kind in zip(tokens, kinds, strict=True) if kind in (3, 4)]
    assert found["tokenizer.ggml.pre"] == "llama-bpe"
    assert encode(TEXT, vocab, merges, specials, ASCII_CASE["llama3"]) == ids_of(model, TEXT)


def test_holes_get_names_that_nothing_else_has(tmp_path: Path) -> None:
    model = BPEModel.from_ids(BYTES | {258: b"ab"}, [(b"a", b"b")], {"[UNUSED 256]": 259}, "gpt2")
    export_model(model, tmp_path / "t.gguf", "gguf")
    found = fields(tmp_path / "t.gguf")
    assert found["tokenizer.ggml.tokens"][256:] == ["[UNUSED 256] ", "[UNUSED 257]", "ab", "[UNUSED 256]"]
    assert found["tokenizer.ggml.token_type"][256:] == [5, 5, 1, 3]
    assert "tokenizer.ggml.eos_token_id" not in found


def test_patterns_that_llama_cpp_knows() -> None:
    deepseek = THEN.join(row["pattern"]["Regex"] for row in DEEPSEEK)
    assert gguf_pre(resolve_pattern(deepseek)) == "deepseek-v3"
    assert gguf_pre(resolve_pattern(rf"\p{{N}}{THEN}{PATTERNS['gpt2']}")) == "starcoder"
    assert gguf_pre(resolve_pattern(ASCII_CASE["qwen2"])) == "qwen2"
    assert gguf_pre(SplitPattern(None, r"\w+|\W")) is None


def test_a_pattern_that_llama_cpp_does_not_know(tmp_path: Path) -> None:
    with pytest.raises(
        OutputError, match=r"'nanochat' has no name in llama.cpp .*\(pre=, --pre\); known are deepseek"
    ):
        export_model(model_of("nanochat"), tmp_path / "t.gguf", "gguf")
    with pytest.warns(
        UserWarning, match="pre is 'mine', as you say; the split pattern 'nanochat' was not comp"
    ):
        export_model(model_of("nanochat"), tmp_path / "t.gguf", "gguf", pre="mine")
    assert fields(tmp_path / "t.gguf")["tokenizer.ggml.pre"] == "mine"
    with pytest.warns(UserWarning, match="the split pattern 'gpt2' is 'gpt-2' there"):
        export_model(model_of("gpt2"), tmp_path / "t.gguf", "gguf", pre="mine", force=True)


def test_what_a_gguf_file_cannot_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strange = BPEModel.from_ids(BYTES | {256: b"xyz"}, [], {}, "llama3")
    with pytest.raises(OutputError, match=r"token 256 \(b'xyz'\) .*llama.cpp takes such tokens whole"):
        export_model(strange, tmp_path / "t.gguf", "gguf")
    whole = replace(strange, traits=Traits(ignore_merges=True))
    export_model(whole, tmp_path / "whole.gguf", "gguf")
    other = replace(whole, pattern=resolve_pattern("qwen2"))
    with pytest.raises(OutputError, match=r"llama\.cpp does not take such tokens whole with pre 'qwen2'"):
        export_model(other, tmp_path / "t.gguf", "gguf")
    shared = BPEModel.from_vocab(BYTES | {256: b" b"}, [(b" ", b"b")], [" b"], "gpt2")
    with pytest.raises(OutputError, match=r"id 256 is the token .* a GGUF file has one string"):
        export_model(shared, tmp_path / "t.gguf", "gguf")
    flagged = replace(model_of("gpt2"), traits=Traits(normalizer="NFC", flags={EOT: TokenFlags(rstrip=True)}))
    with pytest.warns(UserWarning) as caught:
        export_model(flagged, tmp_path / "t.gguf", "gguf")
    assert len(caught) == 2
    monkeypatch.setitem(__import__("sys").modules, "gguf", None)
    with pytest.raises(OutputError, match=r"needs the package gguf: pip install 'bpenb\[gguf\]'"):
        export_model(model_of("gpt2"), tmp_path / "u.gguf", "gguf")
    assert names(tmp_path) == ["t.gguf", "whole.gguf"]


# --- bytes of each id -----------------------------------------------------------------------------


def test_token_bytes(tmp_path: Path) -> None:
    model = BPEModel.from_ids(BYTES | {300: b"ab"}, [(b"a", b"b")], {EOT: 305}, "gpt2")
    tokenizer = Tokenizer.from_model(model)
    tokenizer.save(tmp_path / "t")
    counts = np.load(tmp_path / "t" / "token_bytes.npy")
    assert counts.dtype == np.int32
    expected = [len(model.ordinary_vocab().get(i, b"")) for i in range(model.n_vocab)]
    assert counts.tolist() == expected
    assert (counts[300], counts[305], counts[304]) == (2, 0, 0)
    ids = tokenizer.encode(f"abba{EOT}é")
    assert counts[ids].sum() == len("abbaé".encode())


# --- where it is written --------------------------------------------------------------------------


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    model = model_of("gpt2")
    for kind in EXPORT_KINDS:
        target = tmp_path / kind
        if kind == "gguf":
            target.write_bytes(b"mine")
        else:
            target.mkdir()
            (target / "config.json").write_bytes(b"mine")
        with pytest.raises(OutputError, match="force=True, --force"):
            export_model(model, target, kind)
        export_model(model, target, kind, force=True)
        assert kind == "gguf" or (target / "config.json").read_bytes() == b"mine"
    assert fields(tmp_path / "gguf")["tokenizer.ggml.pre"] == "gpt-2"
    assert facts(load_model(tmp_path / "bpenb")) == facts(model)
    with pytest.raises(OutputError, match="is a folder; a GGUF file needs a name"):
        export_model(model, tmp_path / "hf", "gguf", force=True)
    with pytest.raises(OutputError, match="cannot be written"):
        export_model(model, tmp_path / "no" / "t.gguf", "gguf")


def test_arguments(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="unknown kind 'onnx'; there are: bpenb, hf, gpt2, tiktoken, gguf"):
        check_export("onnx")
    with pytest.raises(OutputError, match="pre names the split pattern in a GGUF file; hf has none"):
        export_model(model_of("gpt2"), tmp_path / "t", "hf", pre="gpt-2")


def test_the_door(tmp_path: Path) -> None:
    model = model_of("o200k")
    Tokenizer.from_model(model).export(tmp_path / "t.gguf", "gguf")
    assert fields(tmp_path / "t.gguf")["tokenizer.ggml.pre"] == "gpt-4o"
