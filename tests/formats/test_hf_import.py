"""tokenizer.json as others write it: what we read of it gives the ids that `tokenizers` gives."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bpenb import Tokenizer, encode_to_files
from bpenb.errors import EncodingError, FormatError, TrainingError
from bpenb.formats import load_model, save_folder
from bpenb.formats.byte_map import to_printable
from bpenb.formats.hf_json import parse_tokenizer_json, tokenizer_json
from bpenb.model import BPEModel
from bpenb.traits import TokenFlags, Traits
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.models import EOT, facts, trained
from tokenizers import Tokenizer as Peer

HERE = Path("tokenizer.json")
TEXT = "It's the cats' 1234 tests, isn't it? the  the\n\nthé naïve cafés 中文 def f(x):\n\treturn x\r\n" * 3
pytestmark = pytest.mark.filterwarnings("ignore:.*the normalizer NFC is applied")


def document(model: BPEModel) -> Any:
    return json.loads(tokenizer_json(model))


def both(top: Any) -> tuple[Tokenizer, Peer]:
    """Ours and theirs of one tokenizer.json; ours as well through all that we write of it."""
    ours = parse_tokenizer_json(top, HERE)
    again = parse_tokenizer_json(document(ours), HERE)
    assert facts(again) == facts(ours)
    assert again.traits == ours.traits
    return Tokenizer.from_model(again), Peer.from_str(json.dumps(top))


def check(ours: Tokenizer, theirs: Peer, text: str) -> list[int]:
    ids = theirs.encode(text, add_special_tokens=False).ids
    assert ours.encode(text) == ids, text
    return ids


def parts(text: str, sizes: list[int]) -> Iterator[str]:
    """A text in pieces of these sizes, again and again."""
    position = 0
    while position < len(text):
        for size in sizes:
            yield text[position : position + size]
            position += size


# --- ignore_merges --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole_words() -> tuple[Tokenizer, Peer]:
    top = document(trained(TEXT, 40, [EOT], pattern="cl100k"))
    words = [
        " xyz",
        "q",
        "qq",
        " 1",
        "'s",
        "中文中",
        "thethe",
        " " + "z" * 14,
        "z" * 15,
        "y" * 16,
        "w" * 300,
        "é",
    ]
    for word in words:
        top["model"]["vocab"].setdefault(to_printable(word.encode()), len(top["model"]["vocab"]))
    top["model"]["ignore_merges"] = True
    return both(top)


def test_a_word_in_the_vocab_is_taken_whole(whole_words: tuple[Tokenizer, Peer]) -> None:
    ours, theirs = whole_words
    assert len(check(ours, theirs, " xyz")) == 1
    assert len(check(ours, theirs, "xyz")) == 3
    for text in (
        "qq qqq q",
        "中文中 中文中文",
        "w" * 300,
        "w" * 299,
        "y" * 16 + " " + "z" * 15,
        f"é{EOT}'s",
        TEXT,
    ):
        check(ours, theirs, text)
    long = " ".join([*("z" * n for n in range(13, 18)), "w" * 300] * 40)
    assert ours.encode(long) == theirs.encode(long).ids  # most of it from the word cache


@settings(max_examples=150)
@given(
    st.lists(
        st.sampled_from([" xyz", "q", "the", "'s", "中文", "中", " ", EOT, "1", "é", "z" * 14]), max_size=12
    )
)
def test_any_text_with_whole_words(whole_words: tuple[Tokenizer, Peer], words: list[str]) -> None:
    check(*whole_words, "".join(words))


def test_without_ignore_merges_such_tokens_are_never_met(whole_words: tuple[Tokenizer, Peer]) -> None:
    top = document(whole_words[0].model)
    top["model"]["ignore_merges"] = False
    ours, theirs = both(top)
    assert len(check(ours, theirs, " xyz qq")) == 7


# --- NFC ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def composing() -> tuple[Tokenizer, Peer]:
    model = trained(TEXT, 60, [EOT, "<m>"], pattern="qwen2")
    top = document(model)
    top["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}]}
    return both(top)


COMPOSING = ["e\u0301", "\u0301", "a\u0327\u0301", "\u0301\u0327", "\u212b", "\u2126", "\u2000",
             "\u1100\u1161", "caf", "\u0958", "\n", " ", EOT, "<m>", "é", "中", "=\u0338", "\ufb1d",
             ">\u0338"]  # fmt: skip


@settings(max_examples=200)
@given(st.lists(st.sampled_from(COMPOSING), max_size=10), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_nfc(composing: tuple[Tokenizer, Peer], words: list[str], sizes: list[int]) -> None:
    ours, theirs = composing
    text = "".join(words)
    ids = check(ours, theirs, text)
    assert list(ours.encode_iterable(parts(text, sizes))) == ids
    assert ours.encode_batch([text, text]) == [ids, ids]


def test_nfc_in_a_long_text_and_in_files(composing: tuple[Tokenizer, Peer], tmp_path: Path) -> None:
    ours, theirs = composing
    text = unicodedata.normalize("NFD", TEXT * 400) + EOT + "\u0301x"
    ids = check(ours, theirs, text)
    (tmp_path / "a.txt").write_text(text, encoding="utf-8", newline="")
    encode_to_files(ours, tmp_path / "a.txt", tmp_path / "a.npy", workers=2)
    assert np.load(tmp_path / "a.npy").tolist() == ids
    assert ours.decode(ids) == unicodedata.normalize("NFC", text[:-2]) + text[-2:]


def test_nfc_is_told(tmp_path: Path, composing: tuple[Tokenizer, Peer]) -> None:
    ours, _ = composing
    ours.save(tmp_path / "t")
    with pytest.warns(UserWarning, match="NFC is applied to every text, so the decoded text may be another"):
        load_model(tmp_path / "t" / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "t")
    assert loaded.encode("e\u0301") == ours.encode("é") == loaded.encode("é")
    assert loaded.encode_with_offsets("é").ids.tolist() == ours.encode("é")
    with pytest.raises(EncodingError, match="the text is not in NFC"):
        loaded.encode_with_offsets("e\u0301")


def test_bytes_that_are_not_utf8_and_nfc(composing: tuple[Tokenizer, Peer], tmp_path: Path) -> None:
    ours, theirs = composing
    (tmp_path / "a.txt").write_bytes(b"e\xcc\x81 \xff e\xcc\x81")
    ids = theirs.encode("é \ufffd é").ids
    from bpenb import EncodeSettings

    encode_to_files(ours, tmp_path / "a.txt", tmp_path / "a.npy", EncodeSettings(errors="replace"))
    assert np.load(tmp_path / "a.npy").tolist() == ids


# --- flags of added tokens ------------------------------------------------------------------------


def with_flags(flags: dict[str, dict[str, bool]], pattern: str = "gpt2") -> Any:
    top = document(trained(TEXT, 40, [EOT, *flags], pattern=pattern))
    for row in top["added_tokens"]:
        row |= flags.get(row["content"], {})
    return top


FLAGGED = {
    "<l>": {"lstrip": True},
    "<r>": {"rstrip": True, "special": False},
    "<lr>": {"lstrip": True, "rstrip": True},
    "[one]": {"single_word": True},
    "[two]": {"single_word": True, "lstrip": True, "rstrip": True},
    "word": {"single_word": True},
}
AROUND = ["<l>", "<r>", "<lr>", "[one]", "[two]", "word", EOT, " ", "  ", "\n", "\u3000", "\u00a0", "\x1c",
          "\u0085", "a", "_", "9", "é", "\u0301", ".", "-", "½", "\u200c", "'s"]  # fmt: skip


@pytest.fixture(scope="module")
def flagged() -> tuple[Tokenizer, Peer]:
    return both(with_flags(FLAGGED))


@settings(max_examples=400)
@given(st.lists(st.sampled_from(AROUND), max_size=10), st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_flags(flagged: tuple[Tokenizer, Peer], words: list[str], sizes: list[int]) -> None:
    ours, theirs = flagged
    text = "".join(words)
    ids = check(ours, theirs, text)
    assert list(ours.encode_iterable(parts(text, sizes))) == ids
    assert ours.encode_batch(["a", text, "<l>", text, " "], workers=1)[1] == ids


def test_flags_in_files(flagged: tuple[Tokenizer, Peer], tmp_path: Path) -> None:
    ours, theirs = flagged
    text = "".join(AROUND * 3 + AROUND[::-1]) * 3000
    (tmp_path / "a.txt").write_text(text, encoding="utf-8", newline="")
    encode_to_files(ours, tmp_path / "a.txt", tmp_path / "a.npy", workers=2)
    assert np.load(tmp_path / "a.npy").tolist() == check(ours, theirs, text)


def test_whitespace_that_is_gone_has_no_offsets(flagged: tuple[Tokenizer, Peer]) -> None:
    ours, _ = flagged
    assert ours.encode_with_offsets("a<l> b").byte_spans.tolist()[1] == [1, 4]
    with pytest.raises(EncodingError, match="its tokens have no offsets"):
        ours.encode_with_offsets("a <l> b")


def test_flags_are_kept_in_every_file(flagged: tuple[Tokenizer, Peer], tmp_path: Path) -> None:
    ours, theirs = flagged
    assert ours.model.traits.flags["<r>"] == TokenFlags(special=False, rstrip=True)
    ours.save(tmp_path / "t")
    text = "".join(AROUND) * 2
    for path in (tmp_path / "t", tmp_path / "t" / "tokenizer.json", tmp_path / "t" / "tokenizer.tiktoken"):
        assert load_model(path).traits == ours.model.traits
        assert Tokenizer.load(path).encode(text) == theirs.encode(text).ids
    assert json.loads((tmp_path / "t" / "bpenb.json").read_text("utf-8"))["format_version"] == 2
    rows = json.loads((tmp_path / "t" / "tokenizer.json").read_text("utf-8"))["added_tokens"]
    assert {row["content"]: row["lstrip"] for row in rows}["<lr>"] is True
    assert Peer.from_file(str(tmp_path / "t" / "tokenizer.json")).encode(text).ids == theirs.encode(text).ids


def test_normalized_tokens(tmp_path: Path) -> None:
    """As in GPT-NeoX: runs of spaces that are looked for in normalised text."""
    spaces = {" " * n: {"normalized": True, "special": False} for n in (2, 3, 8)}
    top = with_flags(spaces)
    top["normalizer"] = {"type": "NFC"}
    ours, theirs = both(top)
    for text in ("a  b", "a       b", f"  \u0301 {EOT}   e\u0301          ", "\u2000\u2000  "):
        check(ours, theirs, text)


def test_normalized_tokens_where_nothing_normalizes() -> None:
    ours, theirs = both(with_flags({"<a>": {"normalized": True}, "[b]": {"normalized": True}}))
    for text in ("x<a>[b]<a><a>", f"<a{EOT}a>{EOT}<a>"):
        check(ours, theirs, text)


@pytest.mark.parametrize(
    ("flags", "normalizer", "message"),
    [
        (
            {"<a>": {"normalized": True}},
            "NFC",
            "added token '<a>': normalized is not supported together with",
        ),
        (
            {"<|end": {"normalized": True}},
            None,
            r"'<\|end' and '<\|endoftext\|>' can overlap, and one is normalized",
        ),
        ({"|><": {"lstrip": True}}, None, r"'\|><' and '<\|endoftext\|>' can overlap, and one has lstrip"),
        ({">a": {"rstrip": True}}, None, "can overlap, and one has rstrip"),
        ({"a<": {"single_word": True}}, None, "can overlap, and one has single_word"),
        (
            {"ab": {"single_word": True, "normalized": True}},
            None,
            "single_word and normalized are not supported",
        ),
    ],
)
def test_flags_that_are_refused_by_name(flags: Any, normalizer: str | None, message: str) -> None:
    top = with_flags(flags)
    top["normalizer"] = normalizer and {"type": normalizer}
    with pytest.raises(FormatError, match=message):
        parse_tokenizer_json(top, HERE)


# --- pre-tokenizers -------------------------------------------------------------------------------

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def split(regex: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}


DEEPSEEK = [
    split(r"\p{N}{1,3}"),
    split("[一-龥\u3040-ゟ゠-ヿ]+"),
    split(
        "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
        "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
    ),
]
SEQUENCES = {
    "DeepSeek's three": [*DEEPSEEK, BYTE_LEVEL],
    "digits alone": [{"type": "Digits", "individual_digits": True}, BYTE_LEVEL | {"use_regex": True}],
    "digits together": [{"type": "Digits", "individual_digits": False}, split(r"\s+"), BYTE_LEVEL],
    "a string": [split(r"x") | {"pattern": {"String": "a.b"}}, BYTE_LEVEL | {"use_regex": True}],
    "a range that repeats": [split(r"\p{N}{1,3}+|[ab]{2}+"), BYTE_LEVEL],
    "a split before GPT-2's": [split(r"[\r\n]"), BYTE_LEVEL | {"use_regex": True}],
}
CUT = [
    "a",
    "ab",
    "a.b",
    "1",
    "12345",
    "中文",
    "カナ",
    " ",
    "\n",
    "\r\n",
    "!",
    "(x",
    "é",
    "\u0301",
    "  ",
    EOT,
    "'s",
    "½",
]


@pytest.mark.parametrize("steps", SEQUENCES.values(), ids=SEQUENCES)
def test_sequences_of_splits(steps: Any) -> None:
    top = document(trained(TEXT, 60, [EOT]))
    top["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
    ours, theirs = both(top)
    assert ours.pattern.name is None

    @settings(max_examples=120)
    @given(st.lists(st.sampled_from(CUT), max_size=10))
    def check_text(words: list[str]) -> None:
        check(ours, theirs, "".join(words))

    check_text()
    check(ours, theirs, TEXT * 30)


# --- the rest -------------------------------------------------------------------------------------


def test_the_post_processor_is_kept_and_adds_nothing(tmp_path: Path) -> None:
    model = trained(TEXT, 20, [EOT, "<s>"])
    top = document(model)
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [model.special_tokens["<s>"]], "tokens": ["<s>"]}},
    }
    top["post_processor"] = template
    ours, theirs = both(top)
    check(ours, theirs, TEXT)
    assert theirs.encode("a").ids == [model.special_tokens["<s>"], *ours.encode("a")]
    ours.save(tmp_path / "t")
    for path in (tmp_path / "t", tmp_path / "t" / "tokenizer.json"):
        save_folder(load_model(path), tmp_path / "again")
        saved = tmp_path / "again" / "tokenizer.json"
        assert json.loads(saved.read_text("utf-8"))["post_processor"] == template
        assert Peer.from_file(str(saved)).encode("a").ids == theirs.encode("a").ids


@pytest.mark.parametrize("key", ["truncation", "padding"])
def test_what_is_left_out_is_told(key: str) -> None:
    top = document(trained("", 0))
    top[key] = {"max_length": 3}
    with pytest.warns(UserWarning, match=f"tokenizer.json: {key} is left out: ids are those of the whole"):
        parse_tokenizer_json(top, HERE)


def test_what_training_cannot_go_on_with(
    composing: tuple[Tokenizer, Peer], flagged: tuple[Tokenizer, Peer]
) -> None:
    from bpenb import train_from_iterator

    for (ours, _), name in ((composing, "normalizer"), (flagged, "flags")):
        with pytest.raises(TrainingError, match=rf"does more to a text than training can \({name}\)"):
            train_from_iterator([TEXT], vocab_size=ours.n_vocab + 5, base=ours)
    top = document(trained(TEXT, 20, [EOT]))
    top["model"]["ignore_merges"] = True
    base = Tokenizer.from_model(parse_tokenizer_json(top, HERE))
    more = train_from_iterator([TEXT], vocab_size=base.n_vocab + 5, base=base)
    assert more.model.traits == Traits(ignore_merges=True)


def test_traits_are_part_of_what_a_dataset_is_made_with(composing: tuple[Tokenizer, Peer]) -> None:
    from dataclasses import replace

    from bpenb.dataset import model_digest

    model = composing[0].model
    assert model_digest(model) != model_digest(replace(model, traits=Traits()))
