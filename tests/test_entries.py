"""How Python calls compiled kernels: what goes in, what comes out, and what is noticed."""

from __future__ import annotations

import pickle
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from bpenb._jit import CompiledKernel, kernel
from bpenb._jit.arguments import plain

# mypy: disable-error-code="no-untyped-def"


class Sizes(NamedTuple):
    """Numbers, and an array among them."""

    first: int
    values: Any
    is_on: bool


class Nest(NamedTuple):
    """Arrays in a tuple in a tuple."""

    table: Any
    sizes: Sizes


@kernel
def add_all(values, n):
    """Sum n numbers."""
    total = 0
    for i in range(n):
        total += values[i]
    return total


@kernel
def cell(table, row, column):
    """Read one number of a table."""
    return table[row, column]


@kernel
def unfold(nest, more):
    """Return what lies in a nest."""
    return nest.sizes.first, nest.sizes.values[1] + nest.table[1, 0], nest.sizes.is_on, more[0]


@kernel
def write_first(values, number):
    """Write and return nothing."""
    values[0] = number


@kernel
def as_they_are(a, b, c, d):
    """Return numbers of all kinds."""
    return a, b, c, d


@kernel
def half(number):
    """Return a float."""
    return number * 0.5


@kernel
def is_odd(number):
    """Return a truth."""
    return number % 2 == 1


@kernel
def fail(number):
    """Raise an error if asked."""
    if number < 0:
        raise ValueError("negative")
    return number


native = pytest.mark.skipif(
    not isinstance(add_all, CompiledKernel),
    reason="without JIT, or with bounds checks, kernels have no entries",
)


def signatures(function: Any) -> int:
    return len(function.entries)


@pytest.mark.parametrize("number", [0, 1, -1, 2**63 - 1, -(2**63), 2**40])
def test_ints_arrive_as_they_are(number: int) -> None:
    values = np.zeros(1, dtype=np.int64)
    assert write_first(values, number) is None
    assert values[0] == number
    assert write_first(values, np.int64(number)) is None
    assert values[0] == number


@native
@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**200])
def test_an_int_that_does_not_fit_is_refused(number: int) -> None:
    values = np.ones(1, dtype=np.int64)
    with pytest.raises(OverflowError, match=r"write_first takes numbers within int64"):
        write_first(values, number)
    assert values[0] == 1


def test_numbers_of_all_kinds() -> None:
    given = (5, np.uint64(2**64 - 1), True, 0.25)
    found = as_they_are(*given)
    assert found == (5, 2**64 - 1, True, 0.25)
    assert as_they_are(np.int64(-5), np.uint64(1), np.bool_(False), np.float64(-0.5)) == (-5, 1, False, -0.5)
    assert half(3) == 1.5
    assert is_odd(3) is True or bool(is_odd(3)) is True
    assert not is_odd(4)


@native
def test_numbers_come_out_as_pythons_own() -> None:
    assert [type(x) for x in as_they_are(5, np.uint64(3), False, 0.5)] == [int, int, bool, float]
    assert type(is_odd(3)) is bool and type(half(3)) is float


def test_tuples_within_tuples() -> None:
    table = np.arange(6, dtype=np.int64).reshape(3, 2)
    nest = Nest(table, Sizes(7, np.array([1, 20]), True))
    assert unfold(nest, (np.int32(-9),)) == (7, 22, True, -9)
    assert unfold(nest, (np.int32(-8), np.int32(2))) == (
        7,
        22,
        True,
        -8,
    )  # known by its length too
    assert unfold(nest._replace(sizes=Sizes(-7, np.array([1, 3]), False)), (np.int32(8),)) == (
        -7,
        5,
        False,
        8,
    )


@native
def test_another_dtype_rank_or_layout_is_noticed() -> None:
    for dtype in (np.int64, np.int32, np.uint8, np.int64, np.int32):
        assert add_all(np.arange(5, dtype=dtype), 5) == 10
    assert signatures(add_all) == 3
    table = np.arange(12, dtype=np.int64).reshape(3, 4)
    for some in (table, np.asfortranarray(table), table[:, ::2].repeat(2, 1)[:, :4], table):
        assert cell(some, 2, 0) == 8
    assert cell(table[:, ::2], 1, 1) == 6
    assert cell(table.T, 1, 2) == 9
    frozen = table.copy()
    frozen.flags.writeable = False
    assert cell(frozen, 2, 3) == 11


def test_an_array_that_is_not_aligned_is_read_as_numba_reads_it() -> None:
    odd = np.zeros(41, dtype=np.uint8)[1:].view(np.int64)
    odd[:] = range(5)
    assert not odd.flags.aligned
    assert add_all(odd, 5) == 10


@native
def test_an_array_that_changed_its_form_is_noticed() -> None:
    values = np.arange(8, dtype=np.int64)
    assert add_all(values, 8) == 28
    narrow = values.view(np.int32)
    assert add_all(narrow, 16) == 28
    values.flags.writeable = False
    assert add_all(values, 8) == 28


@native
def test_other_classes_of_arrays_are_read_where_they_lie(tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "ids", dtype=np.int64, mode="w+", shape=(4,))
    write_first(mapped, 77)
    assert mapped[0] == 77
    long_long = np.zeros(3, dtype=np.longlong)
    write_first(long_long, 5)
    assert long_long.tolist() == [5, 0, 0]
    before = signatures(write_first)
    write_first(np.zeros(1, dtype=np.int64), 5)
    assert signatures(write_first) == before


@native
def test_a_wrong_number_or_kind_of_arguments_is_refused() -> None:
    values = np.arange(3)
    assert add_all(values, 3) == 3
    for wrong in ((values,), (values, 3, 4), (values, "3"), (None, 3), ([1, 2], 2)):
        with pytest.raises(Exception, match=r"argument|type|Failed"):
            add_all(*wrong)
    assert add_all(values, 3) == 3


@native
def test_what_a_kernel_raises_is_told() -> None:
    assert fail(3) == 3
    with pytest.raises(SystemError, match="NUMBA_BOUNDSCHECK=1"):
        fail(-3)
    assert fail(4) == 4


@native
def test_references_are_kept_even() -> None:
    values, nest = (
        np.arange(2000),
        Nest(np.zeros((2, 1), dtype=np.int64), Sizes(1, np.zeros(2, np.int64), True)),
    )
    more = (np.int32(1),)
    for call in (lambda: add_all(values, 2000), lambda: unfold(nest, more), lambda: write_first(values, 0)):
        call()
        held = [values, nest, nest.table, nest.sizes, more, None, NotImplemented, np.ndarray, Nest]
        before = [sys.getrefcount(some) for some in held]
        for _ in range(1000):
            call()
        after = [sys.getrefcount(some) for some in held]
        assert max(abs(a - b) for a, b in zip(after, before, strict=True)) < 50
    result = add_all(np.full(3, 10**9), 3)
    assert sys.getrefcount(result) <= 3


@native
def test_several_threads_at_once() -> None:
    arrays = [np.full(100_000, k, dtype=np.int64) for k in range(4)]
    found: list[list[int]] = [[] for _ in arrays]

    def work(k: int) -> None:
        for _ in range(50):
            found[k].append(add_all(arrays[k], 100_000))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[100_000 * k] * 50 for k in range(4)]


def test_kernels_are_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(add_all)) is add_all


def test_plain_arguments_are_views() -> None:
    values = np.zeros(3, dtype=np.longlong)
    nest = plain(Nest(values, Sizes(1, values, True)))
    assert type(nest) is Nest and type(nest.sizes) is Sizes
    assert nest.table.dtype is np.dtype("int64")
    nest.table[1] = 5
    assert values.tolist() == [0, 5, 0]
