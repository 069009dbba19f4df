"""tools/check_readers.py without its large readers: what it writes it reads, and a difference is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tools import check_readers


@pytest.mark.parametrize("form", ["npy", "bin"])
def test_what_is_written_is_read(tmp_path: Path, form: str) -> None:
    told = check_readers.check_format(form, check_readers.case_of_two_bytes(), tmp_path)
    assert told.startswith("300 documents, ") and "equal in 1 file and in " in told


@pytest.mark.parametrize("wrong", ["an id", "a document", "the end"])
def test_a_difference_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    read = check_readers.read_bin

    def read_wrongly(path: Path, id_bytes: int) -> list[int]:
        ids = read(path, id_bytes)
        if wrong == "an id":
            ids[5] += 1
        elif wrong == "the end":
            ids.pop()
        else:
            index = path.with_suffix(".documents.npy")
            offsets = np.load(index)
            offsets[1] += 1
            np.save(index, offsets)
        return ids

    monkeypatch.setitem(check_readers.FLAT, "bin", read_wrongly)
    with pytest.raises(ValueError, match=r"number [01] is"):
        check_readers.check_format("bin", check_readers.case_of_two_bytes(), tmp_path)


def test_a_reader_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(check_readers.READERS, "npy", ("no-such-reader", "nobody"))
    assert check_readers.main() == 2
    assert "no-such-reader" in capsys.readouterr().out


def test_sequences_that_differ() -> None:
    check_readers.same("ids", [1, 2], (1, 2))
    with pytest.raises(ValueError, match="ids: number 1 is 2, not 3"):
        check_readers.same("ids", [1, 2], [1, 3])
    with pytest.raises(ValueError, match="ids: 2 of them, not 3"):
        check_readers.same("ids", [1, 2], [1, 2, 3])
