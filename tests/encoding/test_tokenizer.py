"""`Tokenizer`: what it gives, what it refuses, and that it is the definition at work."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bpenb.encoding import Tokenizer
from bpenb.encoding.decode_ids import gather_token_bytes, measure_tokens
from bpenb.encoding.encode_words import encode_words
from bpenb.encoding.merge_long import merge_long
from bpenb.encoding.pair_table import build_pair_table
from bpenb.errors import BpenbError, EncodingError, ModelError, OutputError, PatternError, UnknownTokenError
from bpenb.patterns import PATTERNS
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.encoding.slow import train
from tests.oracles.encoder import encode

EOT = "<|endoftext|>"
BYTES = {i: bytes([i]) for i in range(256)}
LOW = BYTES | {256: b"lo", 257: b"low", 258: b"er"}
LOW_MERGES = [(b"l", b"o"), (b"lo", b"w"), (b"e", b"r")]
SPECIALS = [EOT, EOT + EOT]


@pytest.fixture(scope="module")
def low() -> Tokenizer:
    return Tokenizer(LOW, LOW_MERGES, SPECIALS)


# --- equal to the definition ----------------------------------------------------------------------

texts = st.text(st.sampled_from("abc '\n\r\t1é中😀\u00a0\u3000<s>|"), max_size=40)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(texts, max_size=6),
    texts,
    st.integers(0, 30),
    st.lists(st.sampled_from(["<s>", "<s><s>", "s>", " ", "é", "\n", "a", "aba"]), unique=True, max_size=4),
    st.sampled_from([*PATTERNS, r"[ab]+|\s", r"(a)(b)?"]),
    st.integers(0, 2**32),
)
def test_ids_are_those_of_the_oracle(
    seen: list[str], text: str, n_merges: int, specials: list[str], pattern: str, seed: int
) -> None:
    words = [word.encode() for line in seen for word in line.split(" ") if word]
    model = train(words, n_merges, seed)
    tokenizer = Tokenizer(model.vocab, model.merges, specials, pattern)
    whole = text + "".join(seen)
    ids = tokenizer.encode(whole)
    regex = PATTERNS.get(pattern, pattern)
    assert ids == encode(whole, tokenizer.vocab, model.merges, specials, regex)
    assert tokenizer.encode_ordinary(whole) == encode(whole, tokenizer.vocab, model.merges, [], regex)
    assert tokenizer.decode(ids) == whole
    assert tokenizer.decode_bytes(np.array(ids, dtype=np.uint32)) == whole.encode()


def test_one_signature_for_each_kernel(low: Tokenizer) -> None:
    low.encode("lower " * 50 + "x" * 500)
    low.decode(low.encode_to_numpy("lower"))
    read_only = np.array([257, 258])
    read_only.flags.writeable = False
    for ids in (read_only, read_only[::-1], read_only.astype(np.uint64), [257, 258], iter([257])):
        low.decode(ids)
    list(low.encode_iterable(["lower"]))
    pickle.loads(pickle.dumps(low)).encode("lower")
    for kernel in (encode_words, merge_long, gather_token_bytes, measure_tokens, build_pair_table):
        assert len(getattr(kernel, "signatures", [])) <= 1, kernel  # 0: it came from disk with its caller


# --- encoding -------------------------------------------------------------------------------------


def test_the_longest_of_the_leftmost_special_tokens(low: Tokenizer) -> None:
    assert low.encode(EOT + EOT) == [260]
    assert low.encode(EOT * 3) == [260, 259]
    assert low.encode(f"low{EOT}er") == [257, 259, 258]
    assert low.encode_ordinary(EOT) == [*EOT.encode()]


def test_what_is_before_a_special_token_is_an_end_of_text() -> None:
    tokenizer = Tokenizer(BYTES | {256: b"  "}, [(b" ", b" ")], ["<s>"])
    assert tokenizer.encode("a  <s>") == [97, 256, 257]
    assert tokenizer.encode("a  b") == [97, 32, 32, 98]


def test_special_tokens_in_the_vocab_keep_their_ids() -> None:
    tokenizer = Tokenizer(LOW | {700: b"<s>"}, LOW_MERGES, ["<s>", "<t>", "<s>"])
    assert tokenizer.special_tokens == {"<s>": 700, "<t>": 701}
    assert tokenizer.n_vocab == 702
    assert tokenizer.encode("<t>low<s>") == [701, 257, 700]


def test_special_tokens_with_regex_characters() -> None:
    tokenizer = Tokenizer(BYTES, [], ["[END OF DOC]", ".*", "||"])
    assert tokenizer.encode("a[END OF DOC].*||b.") == [97, 256, 257, 258, 98, 46]


def test_no_special_tokens() -> None:
    assert (
        Tokenizer(LOW, LOW_MERGES).encode(EOT)
        == Tokenizer(LOW, LOW_MERGES, []).encode(EOT)
        == [*EOT.encode()]
    )


def test_the_small_vocab_of_the_cs336_handout() -> None:
    tokens = [b" ", b"a", b"c", b"e", b"h", b"t", b"th", b" c", b" a", b"the", b" at"]
    merges = [(b"t", b"h"), (b" ", b"c"), (b" ", b"a"), (b"th", b"e"), (b" a", b"t")]
    tokenizer = Tokenizer(dict(enumerate(tokens)), merges)
    assert tokenizer.encode("the cat ate") == [9, 7, 1, 5, 10, 3]
    with pytest.raises(EncodingError, match=r"b'b' at offset 4"):
        tokenizer.encode("the bat")


def test_the_place_of_a_missing_byte_in_a_large_text() -> None:
    tokenizer = Tokenizer({0: b"a", 1: b" "}, [])
    with pytest.raises(EncodingError, match="at offset 3000000"):
        tokenizer.encode("a " * 1_500_000 + "b")


@pytest.mark.parametrize("text", ["", " ", "\n", "a", "\x00", "\ufeffhi", "é" * 70, "a\x00b" * 100])
def test_back_to_the_text(low: Tokenizer, text: str) -> None:
    assert low.decode(low.encode(text)) == text


def test_a_large_text_is_cut_safely() -> None:
    tokenizer = Tokenizer(BYTES | {256: b" a", 257: b"\n\n"}, [(b" ", b"a"), (b"\n", b"\n")], ["<s>"])
    text = "a a\n\nb <s> aa é" * 150_000
    once = tokenizer.encode("a a\n\nb <s> aa é")
    joint = tokenizer.encode("a a\n\nb <s> aa éa a\n\nb <s> aa é")
    assert joint == once * 2
    assert tokenizer.encode(text) == once * 150_000


def test_kinds_of_results(low: Tokenizer) -> None:
    ids = low.encode("lower")
    assert type(ids) is list
    assert [type(i) for i in ids] == [int, int]
    array = low.encode_to_numpy("lower")
    assert (array.dtype, array.tolist()) == (np.int32, ids)
    assert array.base is None  # no view of something larger
    assert low.encode_to_numpy("").shape == (0,)


def test_batches(low: Tokenizer) -> None:
    assert low.encode_batch(["low", "", f"er{EOT}"]) == [[257], [], [258, 259]]
    assert low.encode_batch(iter([])) == []
    with pytest.raises(TypeError, match="one str"):
        low.encode_batch("low")
    with pytest.raises(TypeError, match="text 1"):
        low.encode_batch(["low", b"low"])  # type: ignore[list-item]
    with pytest.raises(EncodingError, match="text 1: character 1 is the lone surrogate"):
        low.encode_batch(["low", "x\udc80"])


@pytest.mark.parametrize("bad", [b"low", None, 5, ["low"]])
def test_only_str(low: Tokenizer, bad: Any) -> None:
    for call in (low.encode, low.encode_ordinary, low.encode_to_numpy):
        with pytest.raises(TypeError, match="must be a str"):
            call(bad)


def test_lone_surrogates(low: Tokenizer) -> None:
    for call in (low.encode, low.encode_ordinary, low.encode_to_numpy):
        with pytest.raises(EncodingError, match=r"character 2 is the lone surrogate U\+D83D"):
            call("ab\ud83dcd")


# --- decoding -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [list, tuple, iter, lambda ids: (i for i in ids), np.array, lambda ids: np.array(ids, np.uint16),
     lambda ids: np.array(ids, np.uint64), lambda ids: np.array(ids, ">i4"), lambda ids: list(np.array(ids)),
     lambda ids: np.repeat(ids, 2)[::2]],
)  # fmt: skip
def test_forms_of_ids(low: Tokenizer, form: Callable[[list[int]], Any]) -> None:
    assert low.decode(form([257, 258, 259])) == f"lower{EOT}"


def test_small_dtypes(low: Tokenizer) -> None:
    assert low.decode(np.array([104, 105], np.int8)) == "hi"
    assert low.decode(np.array([200], np.uint8)) == "\ufffd"


def test_no_ids(low: Tokenizer) -> None:
    for empty in ([], (), iter(()), np.array([]), np.array([], np.int64)):
        assert low.decode(empty) == ""


@pytest.mark.parametrize("wrong", [-1, 261, 2**31, 2**32, 2**63, 2**64, -(2**70)])
def test_ids_without_a_token(low: Tokenizer, wrong: int) -> None:
    for call in (low.decode, low.decode_bytes):
        for ids in ([104, wrong], iter([wrong, 104])):
            with pytest.raises(UnknownTokenError, match=f"no token has the id {wrong}:"):
                call(ids)
    with pytest.raises(KeyError):
        low.token_bytes(wrong)


def test_ids_without_a_token_in_arrays(low: Tokenizer) -> None:
    for array in (
        np.array([1, -1]),
        np.array([1, -1], np.int8),
        np.array([2**63], np.uint64),
        np.array([261], "<u2"),
    ):
        with pytest.raises(UnknownTokenError, match=str(array[-1])):
            low.decode(array)


def test_holes() -> None:
    tokenizer = Tokenizer(BYTES | {300: b"ab"}, [(b"a", b"b")])
    assert tokenizer.n_vocab == 301
    assert tokenizer.decode([300]) == "ab"
    message = "no token has the id 299: the vocab has a hole there"
    for wrong in ([299], np.array([0, 299]), iter([300, 299])):
        with pytest.raises(UnknownTokenError, match=message):
            tokenizer.decode(wrong)
    with pytest.raises(UnknownTokenError, match=message):
        tokenizer.token_bytes(299)


@pytest.mark.parametrize(
    "wrong",
    [[True], [1, True], [1.0], [None], ["1"], np.array([True]), np.array([1.5]), np.array([[1]]), np.array(5),
     5, "abc", b"abc", [np.True_], [np.float64(1)]],
)  # fmt: skip
def test_what_is_no_id(low: Tokenizer, wrong: Any) -> None:
    with pytest.raises(TypeError):
        low.decode(wrong)


def test_token_bytes(low: Tokenizer) -> None:
    assert low.token_bytes(257) == b"low"
    assert low.token_bytes(np.uint16(255)) == b"\xff"  # type: ignore[arg-type]
    for wrong in (True, 1.0, "1", np.True_):
        with pytest.raises(TypeError):
            low.token_bytes(wrong)  # type: ignore[arg-type]


def test_invalid_utf8(low: Tokenizer) -> None:
    assert low.decode([0xC3]) == "\ufffd"
    assert low.decode_bytes([0xC3]) == b"\xc3"
    assert low.decode([0xF0, 0x9F, 0x98, 0x80]) == "😀"  # a character over several ids


# --- files ----------------------------------------------------------------------------------------


def test_saved_and_loaded(low: Tokenizer, tmp_path: Path) -> None:
    low.save(tmp_path / "t")
    text = f"lower{EOT}{EOT} low"
    for path in ("t", "t/tokenizer.json", "t/vocab.json", "t/tokenizer.tiktoken"):
        loaded = Tokenizer.load(tmp_path / path)
        assert (loaded.vocab, loaded.merges, loaded.special_tokens) == (
            low.vocab,
            low.merges,
            low.special_tokens,
        )
        assert loaded.encode(text) == low.encode(text)
        assert "tables" in vars(loaded.encoder)  # compiled by the constructor
    files = Tokenizer.from_files(tmp_path / "t/vocab.json", tmp_path / "t/merges.txt", SPECIALS)
    assert files.encode(text) == low.encode(text)
    low.save(tmp_path / "t")
    (tmp_path / "t" / "mine").write_text("keep")
    with pytest.raises(OutputError):
        low.save(tmp_path / "t")
    low.save(tmp_path / "t", force=True)
    assert (tmp_path / "t" / "mine").read_text() == "keep"


def test_the_report_is_saved(low: Tokenizer, tmp_path: Path) -> None:
    Tokenizer.from_model(low.model, report={"seconds": 1}).save(tmp_path / "t")
    assert json.loads((tmp_path / "t" / "report.json").read_text("utf-8")) == {"seconds": 1}


# --- the rest of the door -------------------------------------------------------------------------


def test_properties(low: Tokenizer) -> None:
    assert low.n_vocab == 261
    assert low.vocab == LOW | {259: EOT.encode(), 260: (EOT * 2).encode()}
    assert low.merges == LOW_MERGES
    assert low.special_tokens == {EOT: 259, EOT * 2: 260}
    assert low.pattern.name == "gpt2"
    assert low.model.n_vocab == 261
    assert repr(low) == "Tokenizer(n_vocab=261, special_tokens=2, pattern='gpt2')"
    low.special_tokens.clear()
    low.vocab.clear()
    assert low.encode(EOT) == [259]


def test_errors_are_those_of_the_tree() -> None:
    with pytest.raises(ModelError):
        Tokenizer(BYTES, [(b"a", b"b")])
    with pytest.raises(PatternError):
        Tokenizer(BYTES, [], pattern="gpt9")
    assert issubclass(EncodingError, BpenbError)


def test_pickle(low: Tokenizer) -> None:
    copy = pickle.loads(pickle.dumps(low))
    assert copy.encode(f"lower{EOT}") == low.encode(f"lower{EOT}")
    assert (copy.vocab, copy.merges, copy.special_tokens) == (low.vocab, low.merges, low.special_tokens)
    assert copy.decode([257]) == "low"


def test_from_model_compiles_at_first_use(low: Tokenizer) -> None:
    lazy = Tokenizer.from_model(low.model, warm=False, report={"seconds": 1})
    assert "tables" not in vars(lazy.encoder)
    assert lazy.report == {"seconds": 1}
    assert lazy.encode("lower") == [257, 258]
    assert "tables" in vars(Tokenizer.from_model(low.model).encoder)


def test_several_threads_at_once(low: Tokenizer) -> None:
    lazy = Tokenizer.from_model(low.model, warm=False)  # so that they also meet in the first use
    inputs = [f"lower {n} low{EOT}" * (50 * n) + "lower" * 200 for n in range(8)]
    wanted = [low.encode(text) for text in inputs]
    results: list[Any] = [None] * len(inputs)

    def work(n: int) -> None:
        ids = [lazy.encode(inputs[n]) for _ in range(5)]
        results[n] = ids[0] if all(i == ids[0] and lazy.decode(i) == inputs[n] for i in ids) else "differs"

    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == wanted


def test_an_iterator_error_reaches_the_user(low: Tokenizer) -> None:
    def ids() -> Iterator[int]:
        yield 104
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        low.decode(ids())
