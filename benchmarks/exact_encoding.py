"""Hold token ids against tiktoken's on whole text files, document by document, in parallel.

    python -m benchmarks.exact_encoding prose.txt code.txt --vocabs FOLDER

From the root of the project; it needs tiktoken (`pip install -e '.[dev]'`) and the .tiktoken files of
benchmarks/vocabs.py. Documents are what stands between <|endoftext|>. For each file and vocab:

batch    `encode_batch_ragged` of the documents, and tiktoken's ids of each
file     `encode_to_files` of the whole file, and tiktoken's ids with the special token's between
decoded  the bytes that `decode_bytes` makes of tiktoken's ids, and those of the file

A line for each says what was compared; the exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bpenb
import numpy as np
from bpenb._workers import available_workers

from benchmarks.corpora import SPECIAL, CorpusMissingError, head
from benchmarks.documents import read_documents
from benchmarks.vocabs import VOCABS, our_tokenizer, tiktoken_encoding, vocabs_folder

BATCH_BYTES = 16_000_000


@dataclass
class Compared:
    """What was compared of one file with one vocab; `differs` tells where, of each way, the first time."""

    file: str
    vocab: str
    n_bytes: int = 0
    n_documents: int = 0
    n_ids: int = 0
    seconds: float = 0.0
    ids: Any = field(default_factory=hashlib.sha256)
    differs: dict[str, str] = field(default_factory=dict)

    def check(self, way: str, equal: bool, where: str) -> None:
        """Note a difference."""
        if not equal:
            self.differs.setdefault(way, where)

    def __str__(self) -> str:
        ways = "; ".join(f"{way} differs in {where}" for way, where in self.differs.items())
        return (
            f"{'DIFFERS' if ways else 'equal  '}  {self.file:12} {self.vocab:7} {self.n_bytes:>13,} bytes "
            f"{self.n_documents:>9,} documents {self.n_ids:>12,} ids  sha256 {self.ids.hexdigest()[:16]}  "
            f"{self.seconds:.0f} s{'  ' + ways if ways else ''}"
        )


def batches(path: Path, batch_bytes: int = BATCH_BYTES) -> Iterator[list[str]]:
    """Yield the documents of a file, some megabytes at a time."""
    batch, size = [], 0
    for document in read_documents(str(path), SPECIAL):
        batch.append(document)
        size += len(document)
        if size >= batch_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def compare(path: Path, vocab: str, vocabs: Path, workers: int, batch_bytes: int = BATCH_BYTES) -> Compared:
    """Compare a file's ids."""
    ours, theirs = our_tokenizer(vocab, vocabs), tiktoken_encoding(vocab, vocabs)
    found, started = Compared(path.name, vocab), time.perf_counter()
    special_id = VOCABS[vocab].special_tokens[SPECIAL]
    with (
        tempfile.TemporaryDirectory(prefix="bpenb-exact-") as folder,
        ThreadPoolExecutor(workers) as pool,
        path.open("rb") as text,
    ):
        out = Path(folder) / "ids.npy"
        n_ids = bpenb.encode_to_files(ours, path, out, workers=workers).n_tokens
        written = np.load(out, mmap_mode="r")
        found.check("file", len(written) == n_ids, "its length")
        for documents in batches(path, batch_bytes):
            ids, offsets = ours.encode_batch_ragged(documents, workers=workers)
            expected = list(
                pool.map(lambda text: theirs.encode_to_numpy(text, disallowed_special=()), documents)
            )
            joined = np.concatenate(expected)
            lengths = np.array([len(part) for part in expected])
            where = f"documents {found.n_documents:,} to {found.n_documents + len(documents) - 1:,}"
            found.check("batch", np.array_equal(np.diff(offsets), lengths), where)
            found.check("batch", np.array_equal(ids, joined), where)
            if found.n_documents:  # of the batch before
                _take_special(found, written, special_id, text)
            ends = np.cumsum(lengths)[:-1]
            whole = np.insert(joined, ends, special_id)
            there = written[found.n_ids : found.n_ids + len(whole)]
            found.check("file", np.array_equal(there, whole), where)
            data = ours.decode_bytes(whole)
            found.check("decoded", text.read(len(data)) == data, where)
            found.n_bytes += len(data)
            found.n_ids += len(whole)
            found.n_documents += len(documents)
            found.ids.update(whole.astype("<u4").tobytes())
        found.check("file", found.n_ids == n_ids, "its length")
        found.check("decoded", not text.read(1), "its length")
        del written, there  # an open file cannot be removed everywhere
    found.seconds = time.perf_counter() - started
    return found


def _take_special(found: Compared, written: Any, special_id: int, text: Any) -> None:
    """Compare the special token between two batches."""
    found.check("file", written[found.n_ids : found.n_ids + 1].tolist() == [special_id], "a special token")
    found.check("decoded", text.read(len(SPECIAL)) == SPECIAL.encode(), "a special token")
    found.ids.update(np.array([special_id], dtype="<u4").tobytes())
    found.n_ids += 1
    found.n_bytes += len(SPECIAL)


def main(arguments: list[str] | None = None) -> int:
    """Run it; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.exact_encoding", description=__doc__.split("\n")[0]
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--vocabs", type=Path, metavar="FOLDER", help="of the .tiktoken files")
    parser.add_argument("--vocab", action="append", choices=VOCABS, help="default: all")
    parser.add_argument("--mb", type=float, help="only whole documents of so much from the start of a file")
    parser.add_argument("--workers", type=int, default=available_workers())
    asked = parser.parse_args(arguments)
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="bpenb-exact-") as folder:
        for file in asked.files:
            if not file.is_file():
                parser.error(f"{file}: there is no such file")
            path = file if asked.mb is None else head(file, int(asked.mb * 1e6), Path(folder) / file.name)
            for vocab in asked.vocab or VOCABS:
                try:
                    found = compare(path, vocab, vocabs_folder(asked.vocabs), asked.workers)
                except CorpusMissingError as error:
                    parser.error(str(error))
                print(found, flush=True)
                wrong += bool(found.differs)
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
