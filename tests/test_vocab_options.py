"""Special tokens in reserve, their roles, padding, and special tokens that are added later."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import bpenb
import pytest
from bpenb import Tokenizer, VocabOptions, WordCounts
from bpenb.errors import BpenbError, CountsError, FormatError, ModelError, OutputError, TrainingError
from bpenb.model import BPEModel
from bpenb.preparing import EncodeSettings
from bpenb.training import TIE_MODES
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.models import BYTES, SPECIALS, facts, ids_of, models

EOT = "<|endoftext|>"
RESERVED = ["<|reserved_special_token_0|>", "<|reserved_special_token_1|>"]
TEXT = f"low low lower lowest{EOT}newer newest wider été<|pad|>lowlow {RESERVED[1]}west west\n" * 9
TEXT += "the quick brown fox jumps over the lazy dog, quicker browner foxes jumped\n" * 3
ALL = VocabOptions(2, 64, bos="<s>", eos=EOT, pad="<|pad|>", unk=EOT)
NAMES = [EOT, "<s>", "<|pad|>", *RESERVED]
ROLES = {"bos": "<s>", "eos": EOT, "pad": "<|pad|>", "unk": EOT}

every_mode = pytest.mark.parametrize("ties", sorted(TIE_MODES))


def slow_padded(n_vocab: int, multiple: int) -> int:
    """The first multiple that has room for all ids."""
    size = 0
    while size < n_vocab:
        size += multiple
    return size


def train(**options: Any) -> Tokenizer:
    return bpenb.train_from_iterator([TEXT], **{"vocab_size": 300} | options)


def unlike(model: BPEModel) -> dict[str, Any]:
    return facts(model, "roles", "pad_multiple")


# --- training -------------------------------------------------------------------------------------


@every_mode
def test_they_are_special_tokens_like_those_that_are_named(ties: str) -> None:
    tokenizer = train(ties=ties, vocab_options=ALL)
    named = train(ties=ties, special_tokens=NAMES)
    assert unlike(tokenizer.model) == unlike(named.model)
    first = {"cs336": 256, "huggingface": 0, "rustbpe": 300 - len(NAMES)}[ties]
    assert tokenizer.special_tokens == {name: first + i for i, name in enumerate(NAMES)}
    assert tokenizer.roles == ROLES and named.roles == {}
    assert (tokenizer.n_vocab, tokenizer.padded_vocab_size, named.padded_vocab_size) == (300, 320, 300)
    ids = tokenizer.encode(f"<s>low{RESERVED[1]}west{EOT}<|pad|>")
    assert [i for i in ids if i in tokenizer.special_tokens.values()] == [
        tokenizer.special_tokens[name] for name in ("<s>", RESERVED[1], EOT, "<|pad|>")
    ]
    assert tokenizer.report is not None
    assert tokenizer.report["settings"]["roles"] == ROLES
    assert tokenizer.report["settings"]["special_tokens"] == NAMES
    assert tokenizer.report["settings"]["pad_vocab_to_multiple"] == 64
    assert tokenizer.report["sizes"]["padded_vocab_size"] == 320


def test_padding_adds_no_token_and_changes_no_merge() -> None:
    plain = train()
    for multiple in (1, 7, 64, 300, 301, 1000):
        padded = train(vocab_options=VocabOptions(pad_vocab_to_multiple=multiple))
        assert padded.vocab == plain.vocab and padded.merges == plain.merges
        assert padded.padded_vocab_size == slow_padded(300, multiple)
        with pytest.raises(bpenb.BpenbError):
            padded.decode([padded.n_vocab])
    assert [slow_padded(n, 64) for n in (64, 65, 50257)] == [64, 128, 50304]


@every_mode
def test_every_way_to_train_takes_them(ties: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    expected = facts(train(ties=ties, vocab_options=ALL).model)
    options: dict[str, Any] = {"ties": ties, "vocab_options": ALL}
    assert facts(bpenb.train(tmp_path / "a.txt", vocab_size=300, **options).model) == expected
    sweep = bpenb.train_sweep(tmp_path / "a.txt", [300, 270], **options)
    assert facts(sweep.tokenizers[300].model) == expected
    small = bpenb.train(tmp_path / "a.txt", vocab_size=270, **options)
    assert facts(sweep.tokenizers[270].model) == facts(small.model)
    assert (small.padded_vocab_size, sweep.tokenizers[270].padded_vocab_size) == (320, 320)
    counts = bpenb.count_words(tmp_path / "a.txt", special_tokens=NAMES)
    assert facts(bpenb.train_from_counts(counts, vocab_size=300, **options).model) == expected
    assert facts(bpenb.train_sweep(counts, [300], **options).tokenizers[300].model) == expected
    vocab, merges = bpenb.train_bpe(tmp_path / "a.txt", 300, [EOT], **options)
    assert (vocab, merges) == (sweep.tokenizers[300].vocab, sweep.tokenizers[300].merges)
    assert bpenb.train(tmp_path / "a.txt", vocab_size=300, verify=True, **options).report is not None


@every_mode
def test_counts_that_were_cut_at_fewer_special_tokens(ties: str) -> None:
    counts = bpenb.count_words_from_iterator([f"low low{EOT}lower west west"], special_tokens=[EOT])
    tokenizer = bpenb.train_from_counts(counts, vocab_size=270, ties=ties, vocab_options=ALL)
    again = bpenb.train_from_iterator([f"low low{EOT}lower west west"], vocab_size=270, ties=ties,
                                      vocab_options=ALL)  # fmt: skip
    assert facts(tokenizer.model) == facts(again.model)
    assert counts.special_tokens == (EOT,)  # the caller's stay as they are


def test_no_word_of_the_counts_may_hold_one() -> None:
    spread = WordCounts.from_dict({"a<": 3, "b<s": 2, ">b": 2, "s>": 2})  # only side by side
    options = VocabOptions(bos="<s>")
    assert bpenb.train_from_counts(spread, vocab_size=260, vocab_options=options).roles == {"bos": "<s>"}
    held = WordCounts.from_dict({"a<": 3, "s>": 1, "x<s>y": 2})
    for call in (
        lambda: bpenb.train_from_counts(held, vocab_size=260, vocab_options=options),
        lambda: bpenb.train_sweep(held, [260], vocab_options=options),
    ):
        with pytest.raises(
            CountsError, match=r"hold the word b'x<s>y', in which .* '<s>' is text; count again"
        ):
            call()
    cut = WordCounts.from_dict({"a": 1}, special_tokens=["a"])  # cut at it, so the word is the user's own
    assert bpenb.train_from_counts(cut, vocab_size=258, vocab_options=VocabOptions(pad="a")).n_vocab == 257


def test_the_vocab_size_has_to_hold_them(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="256 bytes and 1001 special tokens need 1257"):
        train(vocab_options=VocabOptions(1000))
    exactly = train(vocab_size=261, vocab_options=ALL)
    assert exactly.merges == [] and exactly.n_vocab == 261
    exactly.save(tmp_path / "t")
    assert facts(Tokenizer.load(tmp_path / "t").model) == facts(exactly.model)


# --- base, checkpoint ---------------------------------------------------------------------------------


@every_mode
def test_a_base_keeps_its_roles_and_its_padding(ties: str) -> None:
    base = train(ties=ties, vocab_options=ALL)
    kept = train(base=base, vocab_size=310)
    assert (kept.roles, kept.model.pad_multiple, kept.special_tokens) == (ROLES, 64, base.special_tokens)
    changed = train(base=base, vocab_size=320, vocab_options=VocabOptions(3, 1, eos="</s>", pad="<|pad|>"))
    assert changed.roles == ROLES | {"eos": "</s>"}
    new = {"</s>": 300, "<|reserved_special_token_2|>": 301}
    assert changed.special_tokens == base.special_tokens | new
    assert (changed.n_vocab, changed.padded_vocab_size) == (320, 320)
    assert base.vocab.items() <= changed.vocab.items() and base.roles == ROLES
    named = train(base=base, vocab_size=320, special_tokens=[*new])
    assert unlike(changed.model) == unlike(named.model)


def test_counts_for_a_base() -> None:
    base = train(vocab_size=270)
    counts = bpenb.count_words_from_iterator([TEXT], special_tokens=[EOT])
    options = VocabOptions(1, pad="<q>")
    tokenizer = bpenb.train_from_counts(counts, vocab_size=290, base=base, vocab_options=options)
    assert tokenizer.special_tokens == {EOT: 256, "<q>": 270, RESERVED[0]: 271}
    uncut = bpenb.count_words_from_iterator([TEXT], special_tokens=[])
    with pytest.raises(CountsError, match="count again with those"):
        bpenb.train_from_counts(uncut, vocab_size=290, base=base, vocab_options=options)


def test_a_training_that_is_resumed(tmp_path: Path) -> None:
    checkpoint = tmp_path / "c.npz"
    train(vocab_size=280, vocab_options=ALL, checkpoint=checkpoint)
    went_on = train(vocab_options=ALL, checkpoint=checkpoint, resume=True)
    assert facts(went_on.model) == facts(train(vocab_options=ALL).model)
    with pytest.raises(TrainingError, match="another training: special tokens"):
        train(vocab_options=VocabOptions(3), checkpoint=checkpoint, resume=True)
    other_roles = VocabOptions(2, bos="<s>", pad="<|pad|>")  # the same special tokens, so the same merges
    assert train(vocab_options=other_roles, checkpoint=checkpoint, resume=True).merges == went_on.merges


# --- files ----------------------------------------------------------------------------------------


@every_mode
def test_files_hold_them(ties: str, tmp_path: Path) -> None:
    tokenizer = train(ties=ties, vocab_options=ALL)
    tokenizer.save(tmp_path)
    for name in ("", "bpenb.json", "vocab.json", "tokenizer.tiktoken"):
        assert facts(Tokenizer.load(tmp_path / name).model) == facts(tokenizer.model), name
    assert Tokenizer.load(tmp_path / "tokenizer.json").special_tokens == tokenizer.special_tokens
    assert facts(pickle.loads(pickle.dumps(tokenizer)).model) == facts(tokenizer.model)
    kept = json.loads((tmp_path / "bpenb.json").read_text("utf-8"))
    assert (kept["roles"], kept["pad_vocab_to_multiple"], kept["padded_vocab_size"]) == (ROLES, 64, 320)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text("utf-8"))
    assert {row["content"] for row in config.pop("added_tokens_decoder").values()} == {
        *tokenizer.special_tokens
    }
    assert config.pop("model_max_length") == int(1e30)
    assert config == {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": EOT,
        "pad_token": "<|pad|>",
        "unk_token": EOT,
        "clean_up_tokenization_spaces": False,
        "padded_vocab_size": 320,
    }


def test_a_folder_from_before_there_were_roles(tmp_path: Path) -> None:
    train().save(tmp_path)
    path = tmp_path / "bpenb.json"
    document = json.loads(path.read_text("utf-8"))
    for key in ("roles", "pad_vocab_to_multiple", "padded_vocab_size"):
        del document[key]
    path.write_text(json.dumps(document), "utf-8")
    (tmp_path / "tokenizer_config.json").unlink()
    loaded = Tokenizer.load(tmp_path)
    assert (loaded.roles, loaded.padded_vocab_size) == ({}, 300)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("roles", [], "roles must be an object, not "),
        ("roles", {"eos": ["x"]}, r"roles.eos must be a string, not \['x'\]"),
        (
            "roles",
            {"eos": "x"},
            r"the role eos is 'x', which is no special token; there are: '<\|endoftext\|>'",
        ),
        ("roles", {"cls": EOT}, "'cls' is no role of a special token; there are: bos, eos, pad, unk"),
        ("pad_vocab_to_multiple", 0, "pad_vocab_to_multiple is 0; it must be from 1"),
        ("pad_vocab_to_multiple", True, "pad_vocab_to_multiple must be an integer, not True"),
    ],
)
def test_damaged_settings(key: str, value: Any, message: str, tmp_path: Path) -> None:
    train(vocab_size=260).save(tmp_path)
    path = tmp_path / "bpenb.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {key: value}), "utf-8")
    with pytest.raises(FormatError, match=f"bpenb.json: {message}"):
        Tokenizer.load(tmp_path)


# --- with_special_tokens --------------------------------------------------------------------------


def slow_with_special_tokens(model: BPEModel, names: list[str]) -> dict[str, int] | None:
    """The ids that the definition gives; None if a name is a token that BPE makes."""
    ordinary = model.ordinary_vocab()
    made = {bytes([b]) for b in range(256)} | {left + right for left, right in model.merge_pairs()}
    spelled = {"".join(chr(_GPT2[byte]) for byte in token) for token in ordinary.values()}
    ids, next_id = dict(model.special_tokens), model.n_vocab
    for name in dict.fromkeys(names):
        if name in ids:
            continue
        if name.encode() in made or name in spelled:
            return None
        ids[name] = next_id
        next_id += 1
    return ids


_PRINTABLE = {*range(33, 127), *range(161, 173), *range(174, 256)}
_GPT2 = {byte: byte for byte in _PRINTABLE} | {
    byte: 256 + i for i, byte in enumerate(b for b in range(256) if b not in _PRINTABLE)
}


@settings(max_examples=80, deadline=None)
@given(
    models("gpt2"),
    st.lists(st.sampled_from([*SPECIALS, "<x>", "<x><x>", "x"]), max_size=5),
    st.text("ab<x>s "),
)
def test_further_special_tokens(model: BPEModel, names: list[str], text: str) -> None:
    expected = slow_with_special_tokens(model, names)
    if expected is None:
        with pytest.raises(ModelError, match=r"is spelled as token .* choose another"):
            model.with_special_tokens(names)
        return
    extended = model.with_special_tokens(names)
    assert list(extended.special_tokens.items()) == list(expected.items())
    assert extended.vocab() == model.vocab() | {i: name.encode() for name, i in expected.items()}
    assert facts(extended, "special_tokens", "vocab") == facts(model, "special_tokens", "vocab")
    tokenizer = Tokenizer.from_model(extended, warm=False)
    assert tokenizer.encode(text) == ids_of(extended, text)
    assert tokenizer.decode(tokenizer.encode(text)) == text


@every_mode
def test_a_tokenizer_with_further_special_tokens(ties: str, tmp_path: Path) -> None:
    old = train(ties=ties, vocab_options=ALL)
    new = old.with_special_tokens(["<user>", EOT, "<|end|>"])
    assert new.special_tokens == old.special_tokens | {"<user>": 300, "<|end|>": 301}
    assert (new.roles, new.n_vocab, new.padded_vocab_size) == (old.roles, 302, 320)
    assert "<user>" not in old.special_tokens and old.n_vocab == 300
    assert new.encode("<user>low<|end|>")[:: len(new.encode("<user>low<|end|>")) - 1] == [300, 301]
    assert new.encode_ordinary("<user>low") == old.encode("<user>low")
    new.save(tmp_path)
    for name in ("", "vocab.json", "tokenizer.tiktoken", "tokenizer.json"):
        assert Tokenizer.load(tmp_path / name).special_tokens == new.special_tokens
    assert facts(old.with_special_tokens([]).model) == facts(old.model)


def test_a_token_that_nothing_makes_becomes_special_where_it_is() -> None:
    tokenizer = Tokenizer(BYTES | {256: EOT.encode(), 257: b"ab"}, [(b"a", b"b")])
    assert tokenizer.special_tokens == {}
    assert tokenizer.with_special_tokens([EOT, "<s>"]).special_tokens == {EOT: 256, "<s>": 258}


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (
            ["a"],
            ModelError,
            "the special token 'a' is spelled as token 97, and no file could tell the two apart",
        ),
        (["ab"], ModelError, "'ab' is spelled as token 256"),
        (["Ġ"], ModelError, "'Ġ' is spelled as token 32"),
        ([""], ModelError, "must not be empty"),
        (["\ud800"], ModelError, "lone surrogate"),
        ("ab", TypeError, "must be a sequence of str, not str"),
        ([7], TypeError, "must be a str, not int: 7"),
    ],
)
def test_special_tokens_that_cannot_be_added(names: Any, error: type[Exception], message: str) -> None:
    tokenizer = Tokenizer(BYTES | {256: b"ab"}, [(b"a", b"b")])
    with pytest.raises(error, match=message):
        tokenizer.with_special_tokens(names)


# --- what is refused, and who asks ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"reserve_special_tokens": -1},
            TrainingError,
            "reserve_special_tokens is -1; it must be at least 0",
        ),
        (
            {"reserve_special_tokens": 2**24 + 1},
            TrainingError,
            "16777217; a vocab has 16777216 tokens at most",
        ),
        ({"reserve_special_tokens": True}, TypeError, "must be an int, not bool"),
        ({"pad_vocab_to_multiple": 0}, TrainingError, r"is 0; it must be from 1 \(no padding\) to 16777216"),
        ({"pad_vocab_to_multiple": 64.0}, TypeError, "pad_vocab_to_multiple must be an int, not float"),
        ({"eos": ""}, TrainingError, "must not be empty"),
        ({"pad": "\udcff"}, TrainingError, "lone surrogate"),
        ({"bos": b"<s>"}, TypeError, "bos must be a str or None, not bytes"),
    ],
)
def test_options_out_of_range(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        VocabOptions(**options)


def test_something_else_for_options() -> None:
    with pytest.raises(TypeError, match="vocab_options must be VocabOptions or None, not dict"):
        train(vocab_options={"eos": EOT})
    with pytest.raises(TypeError, match="vocab_options must be VocabOptions or None, not str"):
        bpenb.train_sweep(WordCounts.from_dict({"a": 1}), [260], vocab_options=EOT)  # type: ignore[arg-type]


def test_a_special_token_that_no_mode_or_file_can_tell_apart(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is how GPT-2's files spell the byte"):
        train(ties="huggingface", vocab_options=VocabOptions(pad="Ġ"))
    tokenizer = train(vocab_options=VocabOptions(pad="."))
    with pytest.raises(OutputError, match="stands for two tokens"):
        tokenizer.save(tmp_path / "t")


def test_roles_of_a_model_are_checked() -> None:
    model = BPEModel.from_vocab(BYTES, [], [EOT], "gpt2")
    with pytest.raises(TypeError, match="roles must be a mapping"):
        model.with_roles([("eos", EOT)])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the role eos must be a str, not int"):
        model.with_roles({"eos": 256})  # type: ignore[dict-item]
    assert list(model.with_roles({"pad": EOT, "bos": EOT}).roles) == ["bos", "pad"]


def test_the_token_with_the_role_eos_ends_documents() -> None:
    tokenizer = train(vocab_options=VocabOptions(2, eos="<end>"))
    assert EncodeSettings(append_eot=True).end_of_text(tokenizer) == tokenizer.special_tokens["<end>"]
    assert EncodeSettings(eot=EOT).end_of_text(tokenizer) == tokenizer.special_tokens[EOT]
    none = train(special_tokens=(), vocab_options=VocabOptions(2))
    with pytest.raises(BpenbError, match="which special token ends a document"):
        EncodeSettings(append_eot=True).end_of_text(none)
