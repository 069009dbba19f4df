"""What the door of the training room accepts, refuses and promises."""

from __future__ import annotations

import numpy as np
import pytest
from bpenb.counting import WordCounts
from bpenb.errors import TrainingError
from bpenb.progress import Progress, Reporter
from bpenb.training import (
    LearningOptions,
    door,
    heap,
    index,
    kernels_compiled,
    learn,
    merging,
    n_merges_for,
    recount,
    warmup,
    word_replay_kernel,
    words,
)
from bpenb.training.ties import byte_order
from bpenb.training.verify import verify_merges

TINY = {b"abab": 3, b"ab": 2}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_merges": -1}, TrainingError, "n_merges is -1"),
        ({"n_merges": True}, TypeError, "n_merges must be an int, not bool"),
        ({"n_merges": 3.0}, TypeError, "n_merges must be an int, not float"),
        ({"ties": "gpt"}, TrainingError, "unknown ties 'gpt'"),
        ({"ties": None}, TypeError, "ties must be a str"),
        ({"max_token_length": 0}, TrainingError, "max_token_length is 0"),
        ({"min_frequency": -1}, TrainingError, "min_frequency is -1"),
        ({"workers": 0}, TrainingError, "workers is 0"),
    ],
)
def test_bad_settings(options: dict[str, object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        learn(WordCounts.from_dict(TINY), LearningOptions(**{"n_merges": 5, **options}))  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [-1, 0, 255, 256])
def test_vocab_size_below_bytes_and_specials(size: int) -> None:
    with pytest.raises(TrainingError, match=f"is {size}"):
        n_merges_for(size, ("<s>",), "cs336")


def test_vocab_size_above_every_id() -> None:
    with pytest.raises(TrainingError, match="1000000000; a vocab has 16777216 tokens at most"):
        n_merges_for(10**9, (), "cs336")


@pytest.mark.parametrize("size", [True, 300.0, "300", None])
def test_vocab_size_of_a_wrong_type(size: object) -> None:
    with pytest.raises(TypeError, match="vocab_size must be an int"):
        n_merges_for(size, (), "cs336")  # type: ignore[arg-type]


def test_vocab_size_of_just_bytes_and_specials() -> None:
    assert n_merges_for(257, ("<s>",), "cs336") == 0
    assert n_merges_for(np.int64(300), (), "rustbpe") == 44


def test_huggingface_shares_the_id_of_a_special_byte() -> None:
    assert n_merges_for(257, (".",), "huggingface") == 1
    assert n_merges_for(257, (".",), "cs336") == 0
    order = byte_order("huggingface", (".", "<s>"))
    assert order[0] == ord(".") and order[1] == ord("!")
    assert sorted(order.tolist()) == list(range(256))


def test_min_frequency_zero_means_one() -> None:
    counts = WordCounts.from_dict(TINY)
    zero, one = (learn(counts, LearningOptions(9, min_frequency=n)).merges for n in (0, 1))
    assert np.array_equal(zero, one)


def test_max_token_length_is_inclusive() -> None:
    counts = WordCounts.from_dict({b"abcd": 1})
    lengths = [
        len(learn(counts, LearningOptions(n_merges=9, max_token_length=n)).merges) for n in (1, 2, 3, 4)
    ]
    assert lengths == [0, 2, 2, 3]


def test_counts_are_left_alone() -> None:
    counts = WordCounts.from_dict(TINY)
    before = counts.word_bytes.copy(), counts.word_counts.copy()
    learn(counts, LearningOptions(n_merges=5))
    assert np.array_equal(before[0], counts.word_bytes) and np.array_equal(before[1], counts.word_counts)


def test_progress_tells_the_merges() -> None:
    seen: list[Progress] = []
    learn(WordCounts.from_dict(TINY), LearningOptions(n_merges=2), Reporter(seen.append))
    assert [p.phase for p in seen] == ["merge"] * len(seen)
    assert seen[-1].done == seen[-1].total == 2
    assert seen[-1].unit == "merges"


def test_tokens_left_are_counted() -> None:
    result = learn(WordCounts.from_dict({b"abab": 3, b"ab": 2, b"c": 5}), LearningOptions(n_merges=1))
    assert result.n_tokens_left == 3 * 2 + 2 * 1 + 5


def test_one_signature_per_kernel() -> None:
    warmup()
    result = learn(WordCounts.from_dict(TINY), LearningOptions(n_merges=5, workers=2))
    verify_merges(WordCounts.from_dict(TINY), LearningOptions(2), result.merges[:2], result.byte_order)
    kernels = [words.fill_rows, index.count_pairs, index.move_pairs, index.fill_index, heap.heapify,
               merging.merge_slice, recount.recount_blocks.serial, recount.recount_blocks.parallel,
               recount.close_blocks, word_replay_kernel.replay_words]  # fmt: skip
    for kernel in kernels:
        signatures = getattr(kernel, "entries", None) or getattr(kernel, "signatures", [1])
        assert len(signatures) == 1, kernel
    assert kernels_compiled()
    assert door._KERNELS
