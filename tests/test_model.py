"""`BPEModel`: its layouts, and everything that it refuses."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from bpenb._byte_map import BYTE_TO_CHARACTER, GPT2_BYTE_ORDER
from bpenb.errors import ModelError, PatternError
from bpenb.model import BPEModel, MergeError
from tests.formats.models import BYTES, EOT, byte_order, facts

ABC = BYTES | {256: b"ab", 257: b"abc"}
ABC_MERGES = [(b"a", b"b"), (b"ab", b"c")]


def from_vocab(
    vocab: Any, merges: Any = (), specials: Any = None, pattern: str = "gpt2", ties: str = "cs336"
) -> BPEModel:
    return BPEModel.from_vocab(vocab, merges, specials, pattern, ties)


def from_training(merges: list[tuple[int, int]], specials: list[str], ties: str) -> BPEModel:
    rows = np.array(merges, dtype=np.int32).reshape(-1, 2)
    return BPEModel.from_training(rows, byte_order(ties, specials), specials, "gpt2", ties)


# --- arrays ---------------------------------------------------------------------------------------


def test_arrays_have_their_dtypes_and_never_change() -> None:
    model = from_vocab({5: b"a", 2: b"b", 9: b"ab"}, [(b"a", b"b")], ["<s>"])
    arrays = (model.token_bytes, model.token_offsets, model.merges, model.merge_ids, model.byte_ids)
    assert [a.dtype.name for a in arrays] == ["uint8", "int64", "int32", "int32", "int32"]
    assert not any(a.flags.writeable for a in arrays)
    assert model.token_offsets.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 4, 7]
    assert model.merges.tolist() == [[5, 2]]
    assert model.merge_ids.tolist() == [9]
    assert [model.byte_ids[b] for b in b"abc"] == [5, 2, -1]
    assert model.vocab() == {2: b"b", 5: b"a", 9: b"ab", 10: b"<s>"}
    assert (model.n_vocab, model.n_merges, model.special_tokens) == (11, 1, {"<s>": 10})
    assert from_vocab({0: b"a"}).merges.shape == (0, 2)


def test_repr_and_pickle() -> None:
    model = from_vocab(ABC, ABC_MERGES, [EOT])
    assert repr(model) == "BPEModel(n_vocab=259, n_merges=2, special_tokens=1, pattern='gpt2', ties='cs336')"
    assert facts(pickle.loads(pickle.dumps(model))) == facts(model)
    error = pickle.loads(pickle.dumps(MergeError(3, "why")))
    assert (error.rank, error.reason, str(error)) == (3, "why", "merge of rank 3: why")


def test_numpy_ids_and_pairs_as_lists_are_accepted() -> None:
    model = from_vocab({np.int64(0): b"a", np.uint8(1): b"b", 2: b"ab"}, [[b"a", b"b"]])
    assert model.vocab() == {0: b"a", 1: b"b", 2: b"ab"}
    assert all(type(i) is int for i in model.vocab())


# --- layouts --------------------------------------------------------------------------------------


def test_layout_cs336() -> None:
    model = from_training([(97, 98), (256, 99)], [EOT, "<s>"], "cs336")
    assert model.special_tokens == {EOT: 256, "<s>": 257}
    assert model.vocab() == BYTES | {256: EOT.encode(), 257: b"<s>", 258: b"ab", 259: b"abc"}
    assert model.merge_pairs() == ABC_MERGES
    assert model.merge_ids.tolist() == [258, 259]


def test_layout_rustbpe() -> None:
    model = from_training([(97, 98), (256, 99)], [EOT, "<s>"], "rustbpe")
    assert model.special_tokens == {EOT: 258, "<s>": 259}
    assert model.vocab() == ABC | {258: EOT.encode(), 259: b"<s>"}


def test_layout_huggingface() -> None:
    a, b = GPT2_BYTE_ORDER.index(97), GPT2_BYTE_ORDER.index(98)
    model = from_training([(a, b)], [EOT, "<s>"], "huggingface")
    assert model.special_tokens == {EOT: 0, "<s>": 1}
    assert [model.vocab()[2 + i][0] for i in range(256)] == list(GPT2_BYTE_ORDER)
    assert (model.vocab()[258], model.n_vocab) == (b"ab", 259)
    assert model.merges.tolist() == [[2 + a, 2 + b]]


@pytest.mark.parametrize(("ties", "n_vocab"), [("cs336", 257), ("rustbpe", 257), ("huggingface", 256)])
def test_a_special_token_of_one_byte(ties: str, n_vocab: int) -> None:
    model = from_training([], ["."], ties)
    assert model.n_vocab == n_vocab
    assert (model.special_tokens["."] == model.byte_ids[ord(".")]) == (ties == "huggingface")
    assert model.vocab()[model.special_tokens["."]] == b"."


def test_huggingface_shares_an_id_where_the_strings_are_the_same() -> None:
    model = from_training([], ["<s>", "b", " ", "a"], "huggingface")  # " " is spelled "Ġ" there
    assert model.special_tokens == {"<s>": 0, "b": 1, " ": 2, "a": 3}
    assert [int(model.byte_ids[b]) for b in b"b!a"] == [1, 4, 3]
    assert model.byte_ids[32] == 4 + GPT2_BYTE_ORDER.index(32) - 2  # "a" and "b" went ahead
    assert (model.n_vocab, sorted(model.byte_ids.tolist())) == (258, [1, *range(3, 258)])
    with pytest.raises(ModelError, match="'é' is how GPT-2's files spell the byte 233"):
        from_training([], ["é"], "huggingface")
    assert from_training([], ["é"], "cs336").special_tokens == {"é": 256}


def test_from_training_refuses_unknown_ties() -> None:
    with pytest.raises(ModelError, match="unknown ties 'hf'"):
        from_training([], [], "hf")


def test_byte_map_is_that_of_gpt2() -> None:
    assert len(set(BYTE_TO_CHARACTER)) == 256
    assert not any(c.isspace() or len(("x" + c + "x").splitlines()) > 1 for c in BYTE_TO_CHARACTER)
    assert [BYTE_TO_CHARACTER[b] for b in (0, 32, 33, 126, 127, 160, 161, 173, 255)] == list("ĀĠ!~ġł¡Ńÿ")


# --- special tokens -------------------------------------------------------------------------------


def test_special_tokens_keep_their_id_or_are_appended_once() -> None:
    model = from_vocab(ABC | {400: b"<s>"}, ABC_MERGES, ["</s>", "<s>", "</s>", "abc"])
    assert model.special_tokens == {"</s>": 401, "<s>": 400, "abc": 257}
    assert model.ordinary_vocab() == ABC  # "abc" is both


def test_one_of_two_ids_is_that_of_the_special_token() -> None:
    model = from_vocab(BYTES | {256: b"."}, [], ["."])
    assert (model.special_tokens["."], model.byte_ids[46]) == (256, 46)
    assert model.ordinary_vocab() == BYTES
    model = from_vocab({0: b" ", 1: b"a", 2: b" "}, [], [" "], ties="huggingface")
    assert (model.special_tokens[" "], model.byte_ids[32]) == (0, 2)
    assert from_vocab(BYTES, [], ["."]).special_tokens == {".": 46}


@pytest.mark.parametrize(
    ("specials", "error", "message"),
    [
        ("<s>", TypeError, "must be a sequence of str, not str"),
        (7, TypeError, "must be a sequence of str, not int"),
        ([b"<s>"], TypeError, "must be a str, not bytes"),
        ([""], ModelError, "must not be empty"),
        (["a\ud800"], ModelError, "lone surrogate"),
    ],
)
def test_wrong_special_tokens(specials: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        from_vocab(BYTES, [], specials)


def test_special_ids_that_clash() -> None:
    def build(special_ids: Any) -> BPEModel:
        return BPEModel.from_ids(BYTES, [], special_ids, "gpt2")

    with pytest.raises(ModelError, match="'<s>' and '</s>' have the same id 300"):
        build({"<s>": 300, "</s>": 300})
    with pytest.raises(ModelError, match=r"special token '<s>' has id 97, which is that of token b'a'"):
        build({"<s>": 97})
    with pytest.raises(ModelError, match="has id -1"):
        build({"<s>": -1})
    with pytest.raises(TypeError, match="must be an int"):
        build({"<s>": True})


# --- vocab and merges -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vocab", "error", "message"),
    [
        ({}, ModelError, "empty"),
        ({-1: b"a"}, ModelError, r"token b'a' has id -1; ids are 0 to 16777215"),
        ({2**31: b"a"}, ModelError, "has id 2147483648"),
        ({True: b"a"}, TypeError, "must be an int, not bool"),
        ({1.0: b"a"}, TypeError, "must be an int, not float"),
        ({"1": b"a"}, TypeError, "must be an int, not str"),
        ({0: "a"}, TypeError, "token 0 must be bytes, not str"),
        ({0: b""}, ModelError, "token 0 is empty"),
        ({0: b"a", 7: b"a"}, ModelError, "ids 0 and 7 have the same bytes b'a'"),
        ([b"a"], TypeError, "must be a mapping"),
    ],
)
def test_wrong_vocabs(vocab: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        from_vocab(vocab)


def test_three_ids_for_one_special_token() -> None:
    with pytest.raises(ModelError, match="have the same bytes"):
        from_vocab({0: b".", 1: b".", 2: b"."}, [], ["."])


@pytest.mark.parametrize(
    ("merges", "rank", "message"),
    [
        ([(b"a", b"c")], 0, r"its result b'ac' is not in the vocab"),
        ([(b"a", b"b"), (b"xy", b"c")], 1, r"its part b'xy' is not in the vocab"),
        ([(b"ab", b"c"), (b"a", b"b")], 0, r"its part b'ab' is made by no merge before it"),
        ([(b"a", b"b"), (b"ab", b"c"), (b"a", b"b")], 2, r"b'a' \+ b'b' is the merge of rank 0 once more"),
        ([(b"", b"ab")], 0, r"its part b'' is not in the vocab"),
    ],
)
def test_wrong_merges(merges: list[tuple[bytes, bytes]], rank: int, message: str) -> None:
    with pytest.raises(MergeError, match=message) as caught:
        from_vocab(ABC, merges)
    assert caught.value.rank == rank
    assert str(caught.value).startswith(f"merge of rank {rank}: ")


@pytest.mark.parametrize("pair", [b"ab", ("a", "b"), (b"a",), (b"a", b"b", b"c"), None])
def test_merges_that_are_no_pairs_of_bytes(pair: Any) -> None:
    with pytest.raises(TypeError, match="merge of rank 0 must be a pair of bytes"):
        from_vocab(ABC, [pair])


def test_a_merge_cannot_have_a_special_token_as_its_part() -> None:
    with pytest.raises(MergeError, match="is not in the vocab"):
        BPEModel.from_ids({97: b"a", 6: b"<s>a"}, [(b"<s>", b"a")], {"<s>": 5}, "gpt2")


def test_two_merges_may_make_one_token() -> None:  # published files of Llama 3 do
    model = from_vocab(ABC | {258: b"bc"}, [(b"a", b"b"), (b"b", b"c"), (b"ab", b"c"), (b"a", b"bc")])
    assert model.merge_ids.tolist() == [256, 258, 257, 257]


def test_a_partial_vocab_as_in_the_cs336_handout() -> None:
    tokens = [b" ", b"a", b"c", b"e", b"h", b"t", b"th", b" c", b" a", b"the", b" at"]
    merges = [(b"t", b"h"), (b" ", b"c"), (b" ", b"a"), (b"th", b"e"), (b" a", b"t")]
    model = from_vocab(dict(enumerate(tokens)), merges)
    assert model.merge_pairs() == merges
    assert int((model.byte_ids >= 0).sum()) == 6


def test_a_pattern_is_resolved() -> None:
    assert from_vocab(BYTES, pattern=r"\w+|\W").pattern.name is None
    with pytest.raises(PatternError):
        from_vocab(BYTES, pattern="gpt9")
