"""Going on from a base: its ids and merges stay, and what follows is exact."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import bpenb
import pytest
from bpenb import Tokenizer, WordCounts
from bpenb.errors import BpenbError, CountsError, FormatError, TrainingError
from bpenb.model import BPEModel
from bpenb.patterns import PATTERNS
from bpenb.training import TIE_MODES
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import trainer

EOT = "<|endoftext|>"
A = "low low lower lowest<|endoftext|>newer newest wider été\n" * 9 + "aaaa bbaabb\n" * 4
B = "slowest slow über übrig üben sower sown\n" * 7 + "'t 's bb aabb bbaa\n" * 5
BYTES = {i: bytes([i]) for i in range(256)}
Merges = list[tuple[bytes, bytes]]

every_mode = pytest.mark.parametrize("ties", sorted(TIE_MODES))


def _files(tokenizer: Tokenizer, folder: Path) -> dict[str, bytes]:
    tokenizer.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "report.json"}


def _same(one: Tokenizer, other: Tokenizer) -> bool:
    return (one.vocab, one.merges, one.special_tokens) == (other.vocab, other.merges, other.special_tokens)


def slow_merges(
    base: Tokenizer, counts: dict[bytes, int], n_new: int, ties: str
) -> list[tuple[bytes, bytes]]:
    """Return the new merges of a base as the definition has them: on bytes, all counted anew each time."""
    ids = {token: i for i, token in base.model.ordinary_vocab().items()}
    next_id = base.n_vocab
    rows: dict[bytes, Any] = {word: [bytes([byte]) for byte in word] for word in counts}
    new: Merges = []
    todo = list(base.merges)
    while todo or len(new) < n_new:
        if todo:
            best = todo.pop(0)
        else:
            pairs: Counter[tuple[bytes, bytes]] = Counter()
            for word, row in rows.items():
                for pair in pairwise(row):
                    pairs[pair] += counts[word]
            if not pairs:
                break
            if ties == "cs336":
                best = max(pairs, key=lambda pair: (pairs[pair], pair))
            else:
                best = min(pairs, key=lambda pair: (-pairs[pair], ids[pair[0]], ids[pair[1]]))
            new.append(best)
            ids[best[0] + best[1]], next_id = next_id, next_id + 1
        rows = {word: trainer.merge(row, best, best[0] + best[1]) for word, row in rows.items()}  # type: ignore[arg-type]
    return new


# --- equality ---------------------------------------------------------------------------------------


@every_mode
@pytest.mark.parametrize("n", [1, 7, 24])
def test_going_on_with_the_same_text_is_one_training(ties: str, n: int, tmp_path: Path) -> None:
    base = bpenb.train_from_iterator([A], vocab_size=257 + n, ties=ties)
    went_on = bpenb.train_from_iterator([A], vocab_size=257 + 25, base=base)
    whole = bpenb.train_from_iterator([A], vocab_size=257 + 25, ties=ties)
    assert went_on.merges == whole.merges
    if ties == "rustbpe":  # there the special token stands behind the merges; here it stays where it was
        assert went_on.special_tokens == base.special_tokens == {EOT: 256 + n}
        assert [t for t in went_on.vocab.values() if t != EOT.encode()] == list(whole.vocab.values())[:-1]
    else:
        assert _files(went_on, tmp_path / "went_on") == _files(whole, tmp_path / "whole")
    assert base.vocab.items() <= went_on.vocab.items()


@settings(max_examples=80, deadline=None)
@given(
    first=st.dictionaries(st.text("abc", min_size=1, max_size=9), st.integers(1, 4), min_size=1, max_size=6),
    second=st.dictionaries(st.text("abcd", min_size=1, max_size=9), st.integers(1, 4), max_size=6),
    sizes=st.tuples(st.integers(1, 8), st.integers(1, 12)),
    ties=st.sampled_from(sorted(TIE_MODES)),
    special_tokens=st.sampled_from([(), ("<s>",), ("d", "<s>"), ("x", "a")]),
)
def test_other_words_as_the_definition_has_it(
    first: dict[str, int],
    second: dict[str, int],
    sizes: tuple[int, int],
    ties: str,
    special_tokens: tuple[str, ...],
) -> None:
    cut = {"special_tokens": special_tokens}
    base = bpenb.train_from_counts(
        WordCounts.from_dict(first, **cut), vocab_size=256 + len(special_tokens) + sizes[0], ties=ties
    )
    if not base.merges:
        return
    counts = WordCounts.from_dict(second, **cut)
    went_on = bpenb.train_from_counts(counts, vocab_size=base.n_vocab + sizes[1], base=base)
    new = slow_merges(base, counts.to_dict(), sizes[1], ties)
    assert went_on.merges == base.merges + new
    assert went_on.special_tokens == base.special_tokens
    tokens = dict(enumerate((left + right for left, right in new), start=base.n_vocab))
    assert went_on.vocab == base.vocab | tokens


@every_mode
def test_a_base_from_every_file_and_saved_in_every_format(ties: str, tmp_path: Path) -> None:
    base = bpenb.train_from_iterator([A], vocab_size=257 + 12, ties=ties)
    base.save(tmp_path / "base")
    expected = bpenb.train_from_iterator([B], vocab_size=300, base=base)
    for name in ("", "bpenb.json", "vocab.json", "tokenizer.tiktoken"):
        assert _same(bpenb.train_from_iterator([B], vocab_size=300, base=tmp_path / "base" / name), expected)
    # A tokenizer.json does not tell the ties.
    by_name = bpenb.train_from_iterator(
        [B], vocab_size=300, base=str(tmp_path / "base" / "tokenizer.json"), ties=ties
    )
    assert _same(by_name, expected)
    expected.save(tmp_path / "new")
    for name in ("", "tokenizer.json", "tokenizer.tiktoken"):
        loaded = Tokenizer.load(tmp_path / "new" / name)
        assert _same(loaded, expected), name
        assert loaded.encode(A + B) == expected.encode(A + B)
    from_files = Tokenizer.from_files(tmp_path / "new" / "vocab.json", tmp_path / "new" / "merges.txt", [EOT])
    assert _same(from_files, expected)
    alone = tmp_path / "alone.tiktoken"  # its special tokens are not in it, nor its pattern
    alone.write_bytes((tmp_path / "new" / "tokenizer.tiktoken").read_bytes())
    assert Tokenizer.load(alone, pattern="gpt2").merges == expected.merges


@every_mode
def test_going_on_twice(ties: str, tmp_path: Path) -> None:
    base = bpenb.train_from_iterator([A], vocab_size=257 + 5, ties=ties)
    once = bpenb.train_from_iterator([B], vocab_size=290, base=base)
    bpenb.train_from_iterator([B], vocab_size=275, base=base).save(tmp_path / "half")
    twice = bpenb.train_from_iterator([B], vocab_size=290, base=tmp_path / "half")
    assert _same(once, twice)


def test_other_engines_and_more_workers_give_the_same(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text(B, encoding="utf-8")
    base = bpenb.train_from_iterator([A], vocab_size=270)
    expected = bpenb.train(tmp_path / "b.txt", vocab_size=290, base=base, workers=1)
    for options in ({"workers": 3}, {"engine": "regex"}):
        assert _same(bpenb.train(tmp_path / "b.txt", vocab_size=290, base=base, **options), expected)  # type: ignore[arg-type]


def test_a_resumed_training_of_a_base(tmp_path: Path) -> None:
    base = bpenb.train_from_iterator([A], vocab_size=270, special_tokens=())
    whole = bpenb.train_from_iterator([B], vocab_size=290, base=base)
    options: dict[str, Any] = {"checkpoint": tmp_path / "kept", "base": base}
    bpenb.train_from_iterator([B], vocab_size=280, **options)
    resumed = bpenb.train_from_iterator([B], vocab_size=290, resume=True, **options)
    assert _same(resumed, whole)
    assert resumed.report is not None and whole.report is not None
    assert resumed.report["base"] == whole.report["base"]
    options["base"] = bpenb.train_from_iterator([A], vocab_size=269, special_tokens=())
    with pytest.raises(TrainingError, match=r"base \(SHA-256\) [0-9a-f]{12}… there, [0-9a-f]{12}… here"):
        bpenb.train_from_iterator([B], vocab_size=290, resume=True, **options)


@every_mode
def test_what_follows_a_base_is_verified(ties: str, tmp_path: Path) -> None:
    base = bpenb.train_from_iterator([A], vocab_size=270, ties=ties)
    checked = bpenb.train_from_iterator([B], vocab_size=290, base=base, verify=True)
    assert checked.report is not None
    assert checked.report["verification"]["n_merges"] == 33
    kept = tmp_path / "kept"
    bpenb.train_from_iterator([B], vocab_size=280, base=base, checkpoint=kept)
    again = bpenb.train_from_iterator(
        [B], vocab_size=290, base=base, checkpoint=kept, resume=True, verify=True
    )
    assert _same(again, checked)


def test_what_was_gained_is_told() -> None:
    base = bpenb.train_from_iterator([A], vocab_size=270)
    went_on = bpenb.train_from_iterator([B], vocab_size=290, base=base)
    assert went_on.report is not None
    n_bytes = len(B.encode())
    assert went_on.report["base"] == {
        "n_vocab": 270,
        "merges": 13,
        "bytes_per_token_before": n_bytes / len(base.encode(B)),
        "bytes_per_token_after": n_bytes / len(went_on.encode(B)),
    }
    assert base.report is not None and base.report["base"] is None


# --- special tokens, holes, and what others made ------------------------------------------------------


@every_mode
def test_further_special_tokens_get_the_next_ids(ties: str, tmp_path: Path) -> None:
    base = bpenb.train_from_iterator([A], vocab_size=270, ties=ties)
    went_on = bpenb.train_from_iterator(
        ["low<pad>low " * 99 + B], vocab_size=280, base=base, special_tokens=["<pad>", EOT, "<unk>"]
    )
    assert went_on.special_tokens == base.special_tokens | {"<pad>": 270, "<unk>": 271}
    assert went_on.n_vocab == 280
    assert went_on.encode("<pad>") == [270]
    assert not any(b"<" in left + right for left, right in went_on.merges)  # it cuts the new text
    went_on.save(tmp_path / "new")
    assert _same(Tokenizer.load(tmp_path / "new"), went_on)
    only = bpenb.train_from_iterator([B], vocab_size=271, base=base, special_tokens=["<pad>"])
    assert only.merges == base.merges and only.n_vocab == 271


@pytest.mark.parametrize("special", ["low", "l", "Ġlow", "é"])
def test_a_further_special_token_must_not_be_spelled_as_a_token(special: str) -> None:
    base = bpenb.train_from_iterator([A], vocab_size=300)
    assert b"low" in base.vocab.values() and b" low" in base.vocab.values()
    with pytest.raises(TrainingError, match=f"the special token '{special}' is spelled as token"):
        bpenb.train_from_iterator([B], vocab_size=310, base=base, special_tokens=[special])


def _base_with_holes() -> Tokenizer:
    """As cl100k has them: ids without a token, and special tokens behind them."""
    vocab = BYTES | {256: b"lo", 257: b"low", 300: b"er"}
    merges = [(b"l", b"o"), (b"lo", b"w"), (b"e", b"r")]
    return Tokenizer.from_model(BPEModel.from_ids(vocab, merges, {EOT: 310, "<s>": 305}, "gpt2", "unknown"))


def test_holes_stay(tmp_path: Path) -> None:
    base = _base_with_holes()
    went_on = bpenb.train_from_iterator([A], vocab_size=315, base=base)
    new = slow_merges(
        base, bpenb.count_words_from_iterator([A], special_tokens=[EOT, "<s>"]).to_dict(), 4, "cs336"
    )
    assert went_on.merges == base.merges + new
    assert went_on.vocab == base.vocab | {311 + k: left + right for k, (left, right) in enumerate(new)}
    went_on.save(tmp_path / "new")
    for name in ("", "tokenizer.json", "tokenizer.tiktoken"):
        assert _same(Tokenizer.load(tmp_path / "new" / name), went_on)
    with pytest.raises(TrainingError, match="vocab_size is 311; the base has 311 ids"):
        bpenb.train_from_iterator([A], vocab_size=311, base=base)


def test_ids_that_do_not_ascend_with_the_ranks(tmp_path: Path) -> None:
    """Such a base keeps its ids too; a .tiktoken file cannot hold it, and is left out with a warning."""
    vocab = {999 - i: bytes([i]) for i in range(256)} | {500: b"lo", 400: b"low"}
    base = Tokenizer(vocab, [(b"l", b"o"), (b"lo", b"w")], [EOT])
    assert base.special_tokens == {EOT: 1000}
    for ties in TIE_MODES:
        base = Tokenizer.from_model(
            BPEModel.from_ids(vocab, [(b"l", b"o"), (b"lo", b"w")], {EOT: 1000}, "gpt2", "unknown")
        )
        went_on = bpenb.train_from_iterator([A], vocab_size=1003, base=base, ties=ties)
        assert base.vocab.items() <= went_on.vocab.items()
        assert sorted(went_on.vocab)[-2:] == [1001, 1002]
        with pytest.warns(UserWarning, match="tokenizer.tiktoken is left out"):
            went_on.save(tmp_path / ties)
        assert _same(Tokenizer.load(tmp_path / ties), went_on)


def test_ties_follow_the_ids_of_the_bytes() -> None:
    """(b, c) and (a, d) are equally frequent; the base numbers b before a."""
    swapped, plain = BYTES | {97: b"b", 98: b"a", 256: b"xy"}, BYTES | {256: b"xy"}
    counts = WordCounts.from_dict({"bc": 2, "ad": 2})
    for vocab, ties, first in (
        (swapped, "rustbpe", (b"b", b"c")),
        (swapped, "huggingface", (b"b", b"c")),
        (swapped, "cs336", (b"b", b"c")),  # the greater bytes, whatever the ids
        (plain, "rustbpe", (b"a", b"d")),
        (plain, "cs336", (b"b", b"c")),
    ):
        base = Tokenizer.from_model(BPEModel.from_ids(vocab, [(b"x", b"y")], {}, "gpt2", "unknown"))
        went_on = bpenb.train_from_counts(counts, vocab_size=258, base=base, ties=ties)
        assert went_on.merges[1] == first


def test_merges_that_make_one_token_twice() -> None:
    """Some tokenizer.json files list every split of a token as a merge; only the first is ever made."""
    vocab = BYTES | {256: b"ab", 257: b"bc", 258: b"abc", 259: b"abcd"}
    merges = [(b"a", b"b"), (b"b", b"c"), (b"ab", b"c"), (b"a", b"bc"), (b"abc", b"d")]
    base = Tokenizer(vocab, merges)
    counts = WordCounts.from_dict({"abcdabcd": 3, "xabc": 1})
    went_on = bpenb.train_from_counts(counts, vocab_size=262, base=base)
    assert (
        went_on.merges[5:]
        == slow_merges(base, counts.to_dict(), 2, "cs336")
        == [(b"abcd", b"abcd"), (b"x", b"abc")]
    )
    assert went_on.encode("xabcabcdabcd") == [261, 260]


def test_a_token_that_no_merge_makes_may_be_named_as_special() -> None:
    base = Tokenizer(BYTES | {256: b"lo", 257: EOT.encode()}, [(b"l", b"o")])
    with pytest.raises(TrainingError, match=r"token 257 .*if it is a special token, name it as one"):
        bpenb.train_from_iterator([A], vocab_size=260, base=base, special_tokens=())
    went_on = bpenb.train_from_iterator([A], vocab_size=260, base=base, special_tokens=[EOT])
    assert went_on.special_tokens == {EOT: 257}
    assert went_on.encode("lo" + EOT) == [256, 257]


def test_gpt2_goes_on(test_data: Path, tmp_path: Path) -> None:
    gpt2 = Tokenizer.from_files(test_data / "gpt2_vocab.json", test_data / "gpt2_merges.txt", [EOT])
    text = "Die Straßenbahnhaltestelle heißt Straßenbahnhaltestelle. " * 5
    went_on = bpenb.train_from_iterator([text], vocab_size=50300, base=gpt2)
    counts = bpenb.count_words_from_iterator([text]).to_dict()
    new = slow_merges(gpt2, counts, 43, "cs336")
    assert went_on.merges[50000:] == new
    assert gpt2.vocab.items() <= went_on.vocab.items()
    assert len(went_on.encode(text)) < len(gpt2.encode(text)) / 2


# --- what is refused --------------------------------------------------------------------------------


def _never() -> Any:
    raise AssertionError("the documents were looked at")
    yield ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ties": "rustbpe"}, "the base has ties 'cs336'; it cannot go on with 'rustbpe'"),
        ({"pattern": "cl100k"}, "the base has the split pattern 'gpt2'; it cannot go on with 'cl100k'"),
        ({"vocab_size": 270}, "vocab_size is 270; the base has 270 ids"),
        ({"vocab_size": 2}, "ask for more than that"),
        ({"vocab_size": 2**25}, "has 16777216 tokens at most"),
        ({"vocab_size": 271, "special_tokens": ["<a>", "<b>"]}, "2 come with further special tokens"),
        ({"min_frequency": -1}, "min_frequency"),
        ({"ties": "none"}, "unknown ties"),
        ({"special_tokens": [""]}, "must not be empty"),
    ],
)
def test_settings_that_are_not_the_bases(options: dict[str, Any], message: str) -> None:
    base = bpenb.train_from_iterator([A], vocab_size=270)
    with pytest.raises(TrainingError, match=message):
        bpenb.train_from_iterator(_never(), **({"vocab_size": 280} | options), base=base)
    assert bpenb.train_from_iterator([B], vocab_size=280, base=base, ties="cs336", pattern=PATTERNS["gpt2"])


def test_tokenizers_that_cannot_go_on(tmp_path: Path) -> None:
    cases: list[tuple[Any, type[BpenbError], str]] = [
        (bpenb.train_from_iterator(["a"], vocab_size=257), TrainingError, "has no merges"),
        (
            Tokenizer({0: b"a", 1: b"b", 2: b"ab"}, [(b"a", b"b")]),
            TrainingError,
            "lacks 254 of the 256 bytes",
        ),
        (tmp_path / "none", FormatError, "there is no such file"),
    ]
    for base, error, message in cases:
        with pytest.raises(error, match=message):
            bpenb.train_from_iterator(_never(), vocab_size=300, base=base)
    bpenb.train_from_iterator([A], vocab_size=260).save(tmp_path / "base")
    alone = tmp_path / "alone.tiktoken"
    alone.write_bytes((tmp_path / "base" / "tokenizer.tiktoken").read_bytes())
    with pytest.raises(FormatError, match=r"give it \(pattern="):
        bpenb.train_from_iterator(_never(), vocab_size=300, base=alone)
    assert bpenb.train_from_iterator([A], vocab_size=262, base=alone, pattern="gpt2", special_tokens=())
    (tmp_path / "base" / "merges.txt").write_text("#version: 0.2\nlow er\n")
    with pytest.raises(FormatError, match="its part b'low' is not in the vocab"):
        bpenb.train_from_iterator(_never(), vocab_size=300, base=tmp_path / "base")


def test_counts_that_were_cut_in_another_way() -> None:
    base = bpenb.train_from_iterator([A], vocab_size=270)
    with pytest.raises(CountsError, match="count again with those"):
        bpenb.train_from_counts(WordCounts.from_dict({"ab": 2}), vocab_size=280, base=base)
    by_other = WordCounts.from_dict({"ab": 2}, pattern="cl100k", special_tokens=[EOT])
    with pytest.raises(TrainingError, match="split pattern 'gpt2'"):
        bpenb.train_from_counts(by_other, vocab_size=280, base=base)
    counts = WordCounts.from_dict({"ab": 2}, special_tokens=["<pad>", EOT])
    assert bpenb.train_from_counts(counts, vocab_size=280, base=base).special_tokens == {
        EOT: 256,
        "<pad>": 270,
    }
