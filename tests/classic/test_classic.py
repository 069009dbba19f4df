"""Characters and an end-of-word mark: against the slow oracle, and what is saved, decoded and refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from bpenb import Tokenizer, WordCounts, count_words, encode_to_files
from bpenb.classic import ClassicModel, ClassicTokenizer, train_classic
from bpenb.errors import (
    BpenbError,
    CountsError,
    EncodingError,
    FormatError,
    ModelError,
    OutputError,
    TrainingError,
    UnknownTokenError,
)
from bpenb.patterns import SPACES
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.classic.reference import TEXTS, needs_data, text_of
from tests.oracles import classic as oracle

TEXT = "low low lower lowest newest newest wider naïve </w>x x</w>y <unk>s <unk>\r\nthe\tend \u00a0q low"


def trained(tmp_path: Path, text: str, **options: object) -> ClassicTokenizer:
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    return train_classic(path, **{"special_tokens": (), **options})  # type: ignore[arg-type]


def counts_of(text: str) -> WordCounts:
    words: dict[str, int] = {}
    for word in oracle.words_of(text):
        words[word] = words.get(word, 0) + 1
    return WordCounts.from_dict(words, pattern=SPACES)


# --- learning and encoding -------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(
    st.text("abcdé\u00a0日<uw/nk> \n\r", max_size=120),
    st.text("abcdéx日<uw/nk> ", max_size=40),
    st.integers(0, 30),
    st.integers(0, 4),
    st.integers(1, 4),
)
def test_equal_to_the_slow_rule(text: str, other: str, n_merges: int, least: int, rare: int) -> None:
    tokenizer = train_classic(
        counts_of(text), n_merges=n_merges, min_frequency=least, min_character_count=rare
    )
    expected = oracle.learn(text, n_merges, min_frequency=least, min_character_count=rare)
    assert tokenizer.merges == expected
    known = set(tokenizer.model.characters)
    for some in (text, other):
        wanted = [token or "<unk>" for token in oracle.encode(some, expected, known)]
        assert tokenizer.split(some) == wanted
        assert tokenizer.unknown_characters(some).n_unknown == wanted.count("<unk>")
    n_tokens = len(tokenizer.encode(text))
    assert tokenizer.report is not None and tokenizer.report["sizes"]["tokens"] == n_tokens


@pytest.mark.parametrize("word", ["</w>", "x</w>y", "<unk>s", "a<unk>b</w>c", "<unk>", "x</w>"])
def test_no_merge_makes_a_string_that_is_another_token(word: str, tmp_path: Path) -> None:
    tokenizer = trained(tmp_path, f"{word} " * 50 + "x y s a b c", n_merges=1000)
    assert len(set(tokenizer.model.tokens)) == tokenizer.n_vocab
    assert tokenizer.decode(tokenizer.encode(word)) == word
    is_within = any(string in word[:-1] for string in ("</w>", "<unk>"))
    assert tokenizer.report is not None
    assert tokenizer.report["characters"]["words_left_out"] == int(is_within)
    assert (len(tokenizer.encode(word)) == 1) is not is_within


def test_ids_are_laid_out_as_they_are_written_down(tmp_path: Path) -> None:
    tokenizer = trained(tmp_path, "ba ba<s>c", n_merges=9, special_tokens=["<s>"])
    assert tokenizer.model.tokens == ("<unk>", "<s>", "a", "a</w>", "b", "b</w>", "c", "c</w>", "ba</w>")
    assert tokenizer.encode("ba<s>c b") == [8, 1, 7, 5]
    assert tokenizer.encode_ordinary("<s>") == [0, 0, 0]
    assert tokenizer.decode([8, 1, 7, 5]) == "ba <s>c b"


def test_rare_characters_are_unknown_and_told_of(tmp_path: Path) -> None:
    text = "naïve naïve nave nave nave é"
    tokenizer = trained(tmp_path, text, n_merges=50, min_character_count=3)
    assert tokenizer.report is not None
    assert tokenizer.report["characters"] == {
        "known": 4, "min_character_count": 3, "unknown": 2, "unknown_occurrences": 3,
        "unknown_share": 3 / 23, "most_frequent_unknown": {"ï": 2, "é": 1},
        "words_left_out": 0, "words_left_out_occurrences": 0,
    }  # fmt: skip
    assert tokenizer.split("naïve é nave") == ["na", "<unk>", "ve</w>", "<unk>", "nave</w>"]
    found = tokenizer.unknown_characters("naïve é")
    assert (found.n_unknown, found.n_characters, found.share) == (2, 6, 2 / 6)
    assert str(found) == "2 of 6 characters (33.3 %) became <unk>: 'ï' 1, 'é' 1"


def test_unicode_whitespace_by_the_pattern_of_that_name(tmp_path: Path) -> None:
    text = "ab\tab\u00a0ab\u2003ab\u0085ab"
    assert trained(tmp_path, text, n_merges=9).encode(text) != []
    wide = trained(tmp_path, text, n_merges=9, pattern="whitespace")
    assert wide.merges == [("a", "b</w>")]
    assert wide.split(text) == ["ab</w>"] * 5
    assert wide.model.characters == ("a", "b")


def test_a_long_word_and_a_vocab_size(tmp_path: Path) -> None:
    text = "abracadabra" * 30 + " " + "ab " * 7
    tokenizer = trained(tmp_path, text, vocab_size=20)
    assert tokenizer.n_vocab == 20 and tokenizer.model.n_merges == 20 - 1 - 2 * 5
    assert tokenizer.merges == oracle.learn(text, 9)
    assert tokenizer.split(text) == oracle.encode(text, tokenizer.merges, set("abrcd"))


def test_the_same_by_counts_by_cuts_and_by_workers(tmp_path: Path) -> None:
    text = "\n".join(f"word{i % 37} low\u00a0er{i % 11} \tend" for i in range(9000))
    files = trained(tmp_path, text, n_merges=200, workers=2)
    counts = count_words(tmp_path / "text.txt", pattern=SPACES, special_tokens=(), workers=1)
    assert train_classic(counts, n_merges=200).merges == files.merges


def test_steps_of_several_merges(tmp_path: Path) -> None:
    tokenizer = trained(tmp_path, TEXT * 5, n_merges=40, merges_per_step=4)
    exact = trained(tmp_path, TEXT * 5, n_merges=40)
    assert tokenizer.report is not None and exact.report is not None
    steps = tokenizer.report["steps"]
    assert steps["merges_per_step"] == 4 and 0 < steps["jaccard"] <= 1
    same = [a == b for a, b in zip(tokenizer.merges, exact.merges, strict=True)]
    assert steps["first_difference"] == same.index(False)
    assert exact.report["steps"] is None


# --- saved, and read again -------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", [None, "whitespace"])
@pytest.mark.parametrize("mark", ["</w>", "▁▁"])
def test_saved_and_loaded(tmp_path: Path, pattern: str | None, mark: str) -> None:
    tokenizer = trained(
        tmp_path, TEXT * 3, n_merges=60, special_tokens=["<s>"], pattern=pattern, end_of_word=mark
    )
    tokenizer.save(tmp_path / "saved")
    again = ClassicTokenizer.load(tmp_path / "saved")
    for one in (again, pickle.loads(pickle.dumps(tokenizer))):
        assert one.vocab == tokenizer.vocab and one.merges == tokenizer.merges
        assert one.encode(TEXT + "<s>") == tokenizer.encode(TEXT + "<s>")
        assert one.model.pattern == tokenizer.model.pattern and one.special_tokens == {"<s>": 1}
    report = json.loads((tmp_path / "saved" / "report.json").read_text("utf-8"))
    assert report["settings"]["ties"] == "subword-nmt" and report["settings"]["end_of_word"] == mark
    again.save(tmp_path / "saved")  # over itself


@pytest.mark.parametrize("pattern", [None, "whitespace"])
@pytest.mark.parametrize("text", [TEXT * 3, *(pytest.param(n, marks=needs_data) for n in TEXTS)])
def test_tokenizers_gives_the_same_ids_and_text(tmp_path: Path, pattern: str | None, text: str) -> None:
    text = text_of(text) if text in TEXTS else text
    tokenizer = trained(
        tmp_path, text, n_merges=500, special_tokens=["<s>"], min_character_count=2, pattern=pattern
    )
    tokenizer.export(tmp_path / "hf", "hf")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "hf" / "tokenizer.json"))
    for some in (text, text[:2000] + "<s>" + text[:50], "", " ", "x<s>", "日本 low"):
        ids = tokenizer.encode(some)
        assert theirs.encode(some).ids == ids
        if "</w>" not in some:  # its decoder takes the mark out of any token
            assert theirs.decode(ids, skip_special_tokens=False) == tokenizer.decode(ids)
    assert theirs.get_vocab() == {token: i for i, token in tokenizer.vocab.items()}


def test_codes_know_no_other_characters(tmp_path: Path) -> None:
    path = tmp_path / "codes"
    path.write_text("#version: 0.2\nl o\nlo w</w>\nl o\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="codes hold no alphabet"):
        tokenizer = ClassicTokenizer.load(path)
    assert tokenizer.merges == [("l", "o"), ("lo", "w</w>")]
    assert tokenizer.split("low lox") == ["low</w>", "lo", "<unk>"]
    wider = ClassicTokenizer.from_codes(path, "x", ["<s>"])
    assert wider.split("lox<s>") == ["lo", "x</w>", "<s>"]


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ("l o\n", "line 1"),
        ("#version: 0.1\nl o\n", "line 1"),
        ("#version: 0.2\nl o\nlo\n", "line 3"),
        ("#version: 0.2\nlo w\n", "merge 0: 'lo'"),
        ("#version: 0.2\n< u\n<u n\n<un k\n<unk >\n", "merge 3"),
    ],
)
def test_codes_that_are_none(tmp_path: Path, codes: str, message: str) -> None:
    (tmp_path / "codes").write_text(codes, encoding="utf-8")
    with pytest.raises(FormatError, match=message):
        ClassicTokenizer.from_codes(tmp_path / "codes")


def test_damaged_folders(tmp_path: Path) -> None:
    tokenizer = trained(tmp_path, TEXT, n_merges=5, special_tokens=["<s>"])
    settings_path = tmp_path / "saved" / "bpenb.json"
    for change, message in (
        ({"n_merges": 6}, "n_merges is 5, but 6"),
        ({"format": "x"}, "format must be"),
        ({"format_version": 9}, "version 9"),
        ({"characters": "l"}, "is no character"),
        ({"characters": 3}, "characters must be a string"),
        ({"end_of_word": "w"}, "two characters or more"),
        ({"special_tokens": [{"token": "<s>", "id": 4}]}, "must have the ids"),
    ):
        tokenizer.save(tmp_path / "saved")
        found = json.loads(settings_path.read_text("utf-8"))
        settings_path.write_text(json.dumps(found | change), encoding="utf-8")
        with pytest.raises(FormatError, match=message):
            ClassicTokenizer.load(tmp_path / "saved")
    with pytest.raises(FormatError, match="cannot be read"):
        ClassicTokenizer.load(tmp_path / "nowhere")


# --- refused, by name ------------------------------------------------------------------------------


def test_what_is_for_bytes_is_refused(tmp_path: Path) -> None:
    tokenizer = trained(tmp_path, TEXT, n_merges=5)
    tokenizer.save(tmp_path / "saved")
    for kind in ("tiktoken", "gguf", "gpt2", "nothing"):
        with pytest.raises(OutputError, match=f"{kind} holds tokens of bytes only"):
            tokenizer.export(tmp_path / "out", kind)
    with pytest.raises(FormatError, match="a tokenizer on characters"):
        Tokenizer.load(tmp_path / "saved")
    with pytest.raises(FormatError, match="made of characters"):
        Tokenizer.load(tmp_path / "saved" / "tokenizer.json")
    with pytest.raises(EncodingError, match="no offsets"):
        _ = tokenizer.encode_with_offsets
    with pytest.raises(EncodingError, match="training files"):
        encode_to_files(tokenizer, tmp_path / "text.txt", tmp_path / "data")  # type: ignore[arg-type]
    other = trained(tmp_path, TEXT, n_merges=5, end_of_word="@@")
    with pytest.raises(OutputError, match="end-of-word mark"):
        other.export(tmp_path / "codes", "subword-nmt")
    tokenizer.export(tmp_path / "codes", "subword-nmt")
    with pytest.raises(OutputError, match="exists"):
        tokenizer.export(tmp_path / "codes", "subword-nmt")
    tokenizer.export(tmp_path / "codes", "subword-nmt", force=True)
    with pytest.raises(OutputError, match="is a folder"):
        tokenizer.export(tmp_path / "saved", "subword-nmt")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"end_of_word": "_"}, ModelError, "two characters"),
        ({"end_of_word": "< >"}, ModelError, "whitespace"),
        ({"end_of_word": 3}, TypeError, "end_of_word"),
        ({"pattern": "gpt2"}, ModelError, "not for characters"),
        ({"ties": "cs336"}, TrainingError, "not for characters"),
        ({"vocab_size": 20}, TrainingError, "need 6[0-9] at least"),
        ({"special_tokens": ["<unk>"]}, ModelError, "<unk>"),
        ({"min_character_count": -1}, TrainingError, "min_character_count"),
        ({"merges_per_step": 0}, TrainingError, "merges_per_step"),
        ({"n_merges": -1}, TrainingError, "n_merges"),
    ],
)
def test_options_that_are_wrong(
    tmp_path: Path, options: dict[str, object], error: type[Exception], message: str
) -> None:
    text = TEXT + " ".join("abcdefghijklmnopqrstuvwxyz")
    with pytest.raises(error, match=message):
        trained(tmp_path, text, **options)


def test_the_tie_mode_is_for_characters(tmp_path: Path) -> None:
    from bpenb import train_from_iterator

    with pytest.raises(TrainingError, match="on characters"):
        train_from_iterator(["ab"], ties="subword-nmt")


def test_counts_of_something_else_are_refused() -> None:
    with pytest.raises(ModelError, match="not for characters"):
        train_classic(WordCounts.from_dict({"ab": 1}))
    with pytest.raises(CountsError, match="not UTF-8"):
        train_classic(WordCounts.from_dict({b"\xff": 1}, pattern=SPACES))
    with pytest.raises(CountsError, match="made with special tokens"):
        train_classic(counts_of("ab"), special_tokens=["<s>"])
    with pytest.raises(CountsError, match="made with the pattern"):
        train_classic(counts_of("ab"), pattern="whitespace")


def test_texts_and_ids_that_are_wrong() -> None:
    tokenizer = ClassicTokenizer(ClassicModel.from_merges("ab", [("a", "b")]))
    with pytest.raises(EncodingError, match="character 1 is the lone surrogate"):
        tokenizer.encode("a\ud800")
    with pytest.raises(TypeError, match="must be a str"):
        tokenizer.encode(b"a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="iterable of str"):
        tokenizer.encode_batch("ab")
    with pytest.raises(UnknownTokenError, match="no token has the id 6"):
        tokenizer.decode([1, 6])
    assert tokenizer.encode_batch(["ab", "", "b"]) == [[1, 4], [], [4]]
    assert tokenizer.encode_to_numpy("ab ab").dtype == np.int32
    assert tokenizer.token(4) == "b</w>" and tokenizer.decode([]) == ""
    with pytest.raises(BpenbError):
        tokenizer.token(99)
    for merges in ([("a", "c")], [("a", "b"), ("a", "b")]):
        with pytest.raises(ModelError, match="merge"):
            ClassicModel.from_merges("ab", merges)
    with pytest.raises(ModelError, match="'b' is spelled as another"):
        ClassicModel.from_merges("ab", [], ["b"])
    with pytest.raises(ModelError, match="spelled as the special token 'ab'"):
        ClassicModel.from_merges("ab", [("a", "b")], ["ab"])
    with pytest.raises(ModelError, match="no character"):
        ClassicModel.from_merges(["ab"], [])
