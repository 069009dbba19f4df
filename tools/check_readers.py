"""Read what `bpenb encode` writes with the trainers' own readers, and compare every id and every document.

    python -m venv readers && . readers/bin/activate
    pip install '.[io]' torch==2.13.0 datatrove==0.10.1 tokenizers==0.23.3
    pip install --no-deps megatron-core==0.16.1
    python tools/check_readers.py

torch without a GPU will do. Prints a line for each reader and each size of ids (two vocabs, so that ids of
two and of four bytes are read); stops with exit code 1 at a difference, and with 2 if a reader is missing.
Documents are empty, short and long, in one file and in shards.

datatrove and Megatron-LM have readers to install. nanoGPT and modded-nanogpt have a few lines in their
training scripts: np.memmap, and a header of 256 int32 before ids that go into a torch tensor. Those
calls are made here.
"""

from __future__ import annotations

import importlib.metadata
import json
import random
import string
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import bpenb
import numpy as np

SCRIPTS = (
    "low lower lowest ",
    "Straße été naïve ",
    "съешь ещё булок ",
    "山路を登りながら",
    "def f(x):\n\t",
    "👩‍🚀 ",
)
SHARD_TOKENS = 3_000
WINDOW = 64


@dataclass(frozen=True)
class Case:
    """A tokenizer, texts, and the size of the ids that they are written with."""

    tokenizer: bpenb.Tokenizer
    texts: list[str]
    id_bytes: int

    def documents(self) -> list[list[int]]:
        """Return the ids of each text, with the end-of-text token: what every reader must find."""
        end = self.tokenizer.special_tokens["<|endoftext|>"]
        return [[*self.tokenizer.encode(text), end] for text in self.texts]


def case_of_two_bytes() -> Case:
    """Return documents of many scripts and lengths with a small vocab; every tenth is empty."""
    chance = random.Random(0)
    lengths = [0 if k % 10 == 0 else chance.choice((1, 5, 40)) for k in range(300)]
    texts = ["".join(chance.choices(SCRIPTS, k=length)) for length in lengths]
    return Case(bpenb.train_from_iterator(texts, vocab_size=320), texts, 2)


def case_of_four_bytes() -> Case:
    """Return documents with a vocab of 80,000, and ids above 65,535 among theirs."""
    chance = random.Random(1)
    words = ["".join(chance.choices(string.ascii_lowercase, k=9)) for _ in range(60_000)]
    tokenizer = bpenb.train_from_iterator([" ".join(words)], vocab_size=80_000)
    texts = [" ".join(words[k : k + k % 97]) for k in range(0, 60_000, 97 * 5 + 1)]
    case = Case(tokenizer, texts, 4)
    if max(map(max, case.documents())) <= 0xFFFF:
        raise AssertionError("the vocab is too small for ids of four bytes")
    return case


def same(what: str, found: Iterable[Any], wanted: Iterable[Any]) -> None:
    """Compare two sequences.

    Raises:
        ValueError: they differ; says what, and where first.
    """
    found, wanted = list(found), list(wanted)
    for k, (one, other) in enumerate(zip(found, wanted, strict=False)):
        if one != other:
            raise ValueError(f"{what}: number {k} is {one}, not {other}")
    if len(found) != len(wanted):
        raise ValueError(f"{what}: {len(found)} of them, not {len(wanted)}")


def dtype_of(id_bytes: int) -> type[np.unsignedinteger[Any]]:
    """Return the type of ids that trainers read as unsigned ones."""
    return np.uint16 if id_bytes == 2 else np.uint32


# --- readers of one file of ids; its documents are those of an index of the whole split ---------------


def read_npy(path: Path, id_bytes: int) -> list[int]:
    """Read ids with numpy.load, mapped."""
    ids = np.load(path, mmap_mode="r")
    same(f"{path.name}, bytes of an id", [ids.itemsize], [id_bytes])
    return ids.tolist()


def read_bin(path: Path, id_bytes: int) -> list[int]:
    """Read ids as nanoGPT does."""
    return np.memmap(path, dtype=dtype_of(id_bytes), mode="r").tolist()


def read_llmc(path: Path, id_bytes: int) -> list[int]:
    """Read ids as modded-nanogpt does: the header mapped by torch, the ids read into a tensor."""
    import torch

    magic, version, n_tokens = torch.from_file(str(path), False, 256, dtype=torch.int32)[:3].tolist()
    same(f"{path.name}, header", [magic, version], [20240520, 1] if id_bytes == 2 else [20240801, 7])
    tokens = torch.empty(n_tokens, dtype=torch.uint16 if id_bytes == 2 else torch.uint32)
    with path.open("rb", buffering=0) as file:
        file.seek(256 * 4)
        same(f"{path.name}, bytes of ids", [file.readinto(tokens.numpy())], [id_bytes * n_tokens])
    return tokens.tolist()


# --- readers of one file of documents -------------------------------------------------------------------


def read_megatron(path: Path, id_bytes: int) -> list[list[int]]:
    """Read documents with Megatron-LM's IndexedDataset, mapped and not."""
    from megatron.core.datasets.indexed_dataset import IndexedDataset

    prefix = str(path.with_suffix(""))
    mapped, plain = IndexedDataset(prefix, mmap=True), IndexedDataset(prefix, mmap=False)
    same(f"{path.name}, bytes of an id", [mapped.index.dtype_size], [id_bytes])
    documents = [mapped[k].tolist() for k in range(len(mapped))]
    same(f"{path.name}, not mapped", (plain[k].tolist() for k in range(len(plain))), documents)
    same(f"{path.name}, lengths", mapped.sequence_lengths.tolist(), map(len, documents))
    same(f"{path.name}, documents", mapped.document_indices.tolist(), range(len(documents) + 1))
    return documents


def read_datatrove(path: Path, id_bytes: int) -> list[list[int]]:
    """Read documents with datatrove's dataset: as one window, as many, and as its merger reads them."""
    from datatrove.pipeline.tokens.merger import get_data_reader, load_doc_ends
    from datatrove.utils.dataset import DatatroveFileDataset

    name, n_tokens, _ = Path(f"{path}.metadata").read_text("utf-8").split("\n")
    same(f"{path.name}.metadata, bytes of an id", [name.rpartition("|")[2]], [str(id_bytes)])
    options = {"token_size": id_bytes, "return_positions": True}
    whole = DatatroveFileDataset(str(path), seq_len=int(n_tokens) - 1, **options)[0]
    ids, positions = whole["input_ids"].numpy(), whole["positions"].numpy()
    documents = [part.tolist() for part in np.split(ids, np.flatnonzero(positions == 0)[1:])]

    windows = DatatroveFileDataset(str(path), seq_len=WINDOW - 1, **options)
    same(f"{path.name}, windows", [len(windows)], [len(ids) // WINDOW])
    for k in range(len(windows)):
        here = slice(WINDOW * k, WINDOW * (k + 1))
        same(f"{path.name}, window {k}", windows[k]["input_ids"].tolist(), ids[here].tolist())
        seen = np.minimum(positions[here], np.arange(WINDOW))  # a document may begin before the window
        same(f"{path.name}, positions of window {k}", windows[k]["positions"].tolist(), seen.tolist())

    with Path(f"{path}.index").open("rb") as index, path.open("rb") as file:
        read = get_data_reader(file, load_doc_ends(index), id_bytes)
        merged = [np.frombuffer(data, dtype_of(id_bytes)).tolist() for data in read]
    same(f"{path.name}, as it is merged", merged, documents)
    return documents


FLAT: dict[str, Callable[[Path, int], list[int]]] = {"npy": read_npy, "bin": read_bin, "llmc": read_llmc}
BY_DOCUMENT = {"megatron": read_megatron, "datatrove": read_datatrove}
READERS = {
    "npy": ("numpy", "numpy.load"),
    "bin": ("numpy", "numpy.memmap, as nanoGPT"),
    "llmc": ("torch", "torch.from_file, as modded-nanogpt"),
    "megatron": ("megatron-core", "IndexedDataset"),
    "datatrove": ("datatrove", "DatatroveFileDataset"),
}
SUFFIXES = {"npy": ".npy", "datatrove": ".ds"}


def read_documents(form: str, files: list[Path], id_bytes: int) -> list[list[int]]:
    """Read all documents of the files of a split."""
    if form in BY_DOCUMENT:
        return [ids for path in files for ids in BY_DOCUMENT[form](path, id_bytes)]
    ids = [token_id for path in files for token_id in FLAT[form](path, id_bytes)]
    (index,) = files[0].parent.glob("*.documents.npy")
    offsets = np.load(index).tolist()
    same(f"{index.name}, first and last", [offsets[0], offsets[-1]], [0, len(ids)])
    return [ids[start:end] for start, end in pairwise(offsets)]


def check_format(form: str, case: Case, folder: Path) -> str:
    """Write the documents of a case in a format, whole and in shards, and read them back.

    Returns:
        What was compared.
    Raises:
        ValueError: something differs.
    """
    documents, settings = case.documents(), bpenb.EncodeSettings(append_eot=True)
    corpus, suffix = folder / "corpus.jsonl", SUFFIXES.get(form, ".bin")
    corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in case.texts), encoding="utf-8")
    (folder / "whole").mkdir()
    for place, shard_tokens in ((folder / "whole" / f"ids{suffix}", None), (folder / "shards", SHARD_TOKENS)):
        output = bpenb.OutputSettings(format=form, shard_tokens=shard_tokens)
        manifest = bpenb.encode_to_files(case.tokenizer, corpus, place, settings, output)
        written = place if shard_tokens else place.parent
        files = [written / file.name for file in manifest.splits["train"].files if file.tokens is not None]
        same(f"{form}, {written.name}", read_documents(form, files, case.id_bytes), documents)
    n_ids = sum(map(len, documents))
    return f"{len(documents)} documents, {n_ids:,} ids: equal in 1 file and in {len(files)} shards"


def missing_readers() -> list[str]:
    """Return the distributions that are not installed."""
    return [name for name in dict.fromkeys(name for name, _ in READERS.values()) if version_of(name) is None]


def version_of(distribution: str) -> str | None:
    """Return the version of what is installed, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def main() -> int:
    """Check every format; return the exit code."""
    warnings.simplefilter("ignore")  # of optional parts of Megatron-LM
    if missing := missing_readers():
        print(f"not installed: {', '.join(missing)}; the first lines of {__file__} say how")
        return 2
    for case in (case_of_two_bytes(), case_of_four_bytes()):
        for form, (distribution, reader) in READERS.items():
            with tempfile.TemporaryDirectory() as folder:
                try:
                    told = check_format(form, case, Path(folder))
                except ValueError as error:
                    print(f"{form}, ids of {case.id_bytes} bytes: {error}")
                    return 1
            who = f"{distribution} {version_of(distribution)}, {reader}"
            print(f"{form:10} {case.id_bytes} bytes  {who}: {told}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
