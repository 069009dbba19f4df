"""What a dataset is made of, in a file beside it: `NAME.manifest.json`, or `manifest.json` in its folder.

It is written last: a dataset without one is not whole. Its checksums are CRC-32 (checksum.py tells
why); the tokenizer is named by a SHA-256 of all that decides its ids; inputs by a SHA-256 of their
size and of samples, since reading them once more would cost as much as encoding them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bpenb._atomic import atomic_write, sync_folder
from bpenb.dataset.checksum import crc32_text
from bpenb.dataset.part_file import PartFile
from bpenb.errors import CorpusError, FormatError
from bpenb.model import BPEModel

__all__ = ["MANIFEST_NAME", "MANIFEST_SUFFIX", "MANIFEST_VERSION", "FileRecord", "Manifest", "SplitRecord",
           "input_digest", "model_digest"]  # fmt: skip

MANIFEST_NAME, MANIFEST_SUFFIX = "manifest.json", ".manifest.json"
MANIFEST_VERSION = 1
N_SAMPLES, SAMPLE_BYTES = 64, 1 << 12


@dataclass(frozen=True)
class FileRecord:
    """A file of a dataset.

    Attributes:
        name: within the folder of the manifest.
        bytes: its size.
        crc32: of the whole file, eight hexadecimal digits.
        tokens: ids in it, padding included; None for a file beside the data.
        documents: in it, where documents are whole; else None.
    """

    name: str
    bytes: int
    crc32: str
    tokens: int | None = None
    documents: int | None = None

    @classmethod
    def of(cls, part: PartFile, n_tokens: int | None = None, n_documents: int | None = None) -> FileRecord:
        """Return the record of a file that is complete."""
        return cls(part.path.name, part.n_bytes, crc32_text(part.crc32), n_tokens, n_documents)


@dataclass(frozen=True)
class SplitRecord:
    """One split of a dataset.

    Attributes:
        files: data files, each followed by the files beside it; then the index of documents, if any.
        tokens: padding not counted.
        documents: of which it is made.
        padding: ids that fill the last row.
        document_index: name of the .npy with the offsets of documents; None without one.
    """

    files: tuple[FileRecord, ...]
    tokens: int
    documents: int
    padding: int = 0
    document_index: str | None = None

    @property
    def data_files(self) -> tuple[FileRecord, ...]:
        """The files that hold ids, in order."""
        return tuple(record for record in self.files if record.tokens is not None)


@dataclass(frozen=True)
class Manifest:
    """What a dataset is made of.

    Attributes:
        tokenizer: `model_digest` of what made the ids.
        n_vocab: every id is below.
        format, dtype: of the files; the dtype as NumPy spells it, such as `<u2`.
        splits: by name, in order.
        text_bytes: that the ids stand for; what a document's end token adds is not counted.
        seq_len: tokens in a row; None without rows.
        settings: how it was made; any JSON.
        inputs: for each `path`, `bytes` and `digest`.
    """

    tokenizer: str
    n_vocab: int
    format: str
    dtype: str
    splits: dict[str, SplitRecord]
    text_bytes: int
    seq_len: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[dict[str, Any], ...] = ()

    @property
    def n_tokens(self) -> int:
        """Tokens of all splits, padding not counted."""
        return sum(split.tokens for split in self.splits.values())

    @property
    def n_documents(self) -> int:
        """Documents of all splits."""
        return sum(split.documents for split in self.splits.values())

    @property
    def file_names(self) -> set[str]:
        """Names of all files."""
        return {record.name for split in self.splits.values() for record in split.files}

    @property
    def bytes_per_token(self) -> float | None:
        """Bytes of text to a token; None without tokens."""
        return self.text_bytes / self.n_tokens if self.n_tokens else None

    def to_json(self) -> str:
        """Return the text of the file."""
        rate = self.bytes_per_token
        totals = {
            "tokens": self.n_tokens,
            "documents": self.n_documents,
            "text_bytes": self.text_bytes,
            "bytes_per_token": None if rate is None else round(rate, 6),
        }
        own = dataclasses.asdict(self)
        del own["text_bytes"]
        order = ("format", "dtype", "n_vocab", "seq_len", "tokenizer", "settings", "inputs", "splits")
        ordered = {"bpenb": MANIFEST_VERSION, "totals": totals} | {key: own[key] for key in order}
        return json.dumps(ordered, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, name: str = MANIFEST_NAME) -> Manifest:
        """Read the text of the file.

        Args:
            text: JSON.
            name: of the file, for errors.

        Raises:
            FormatError: no manifest of ours, or one of a later version.
        """
        try:
            data = json.loads(text)
        except ValueError as error:
            raise FormatError(f"{name}: is not JSON: {error}") from None
        if not isinstance(data, dict) or not isinstance(data.get("bpenb"), int):
            raise FormatError(f'{name}: is no manifest of a dataset: it has no key "bpenb" with a version')
        if data["bpenb"] > MANIFEST_VERSION:
            raise FormatError(
                f"{name}: has version {data['bpenb']}; this release reads up to {MANIFEST_VERSION}: update it"
            )
        try:
            splits = {key: _split_of(value) for key, value in data["splits"].items()}
            own = {
                key: data[key] for key in ("tokenizer", "n_vocab", "format", "dtype", "seq_len", "settings")
            }
            return cls(
                **own,
                splits=splits,
                text_bytes=data["totals"]["text_bytes"],
                inputs=tuple(data["inputs"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"{name}: is damaged: {type(error).__name__}: {error}") from None

    def write(self, path: Path) -> None:
        """Write the file, as a whole or not at all; nothing of the dataset is written later.

        Raises:
            OutputError: it cannot be written.
        """
        with atomic_write(path) as file:
            file.write(self.to_json().encode())
        sync_folder(path.parent)

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read the file.

        Raises:
            FormatError: it cannot be read, or is no manifest of ours.
        """
        try:
            return cls.from_json(path.read_text("utf-8"), str(path))
        except OSError as error:
            raise FormatError(f"{path}: cannot be read: {error.strerror or error}") from error
        except UnicodeDecodeError:
            raise FormatError(f"{path}: is not UTF-8, so no manifest") from None


def _split_of(data: Mapping[str, Any]) -> SplitRecord:
    files = tuple(FileRecord(**record) for record in data["files"])
    if any(Path(record.name).name != record.name for record in files):  # nothing outside the folder
        raise KeyError("a file's name with a folder in it")
    return SplitRecord(**{**data, "files": files})


def model_digest(model: BPEModel) -> str:
    """Return a SHA-256 of all that decides the ids of a text.

    That is: the bytes of each token, the merges and what they make, the special tokens with their
    ids, the regex of the split pattern, and traits that change ids, if there are any. Each has its
    length before it.

    Example:
        >>> model = BPEModel.from_vocab({0: b"a"}, [], [], "gpt2")
        >>> model_digest(model)[:10]
        'sha256:...'
    """
    specials = sorted(model.special_tokens.items(), key=lambda item: item[1])
    traits = [json.dumps(model.traits.to_json()).encode()] if model.traits.change_ids else []
    digest = hashlib.sha256()
    for part in (
        np.ascontiguousarray(model.token_bytes, dtype="u1").tobytes(),
        np.ascontiguousarray(model.token_offsets, dtype="<i8").tobytes(),
        np.ascontiguousarray(model.merges, dtype="<i4").tobytes(),
        np.ascontiguousarray(model.merge_ids, dtype="<i4").tobytes(),
        json.dumps(specials).encode(),
        model.pattern.regex.encode(),
        *traits,
    ):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return f"sha256:{digest.hexdigest()}"


def input_digest(path: str | os.PathLike[str]) -> str:
    """Return a SHA-256 of a file's size and of 64 samples of 4,096 bytes, evenly spaced.

    It tells most changes of an input for the price of 64 reads; a changed byte between two samples
    stays unseen. A file of no more than all samples together is read whole.

    Raises:
        CorpusError: a file that cannot be read.

    Example:
        >>> _ = Path("corpus.txt").write_text("low lower")
        >>> input_digest("corpus.txt")[:25]
        'sampled-sha256:...'
    """
    try:
        with Path(path).open("rb") as file:
            n_bytes = os.fstat(file.fileno()).st_size
            digest = hashlib.sha256(n_bytes.to_bytes(8, "little"))
            if n_bytes <= N_SAMPLES * SAMPLE_BYTES:
                digest.update(file.read())
            else:
                for i in range(N_SAMPLES):  # the first at the start, the last at the end
                    file.seek((n_bytes - SAMPLE_BYTES) * i // (N_SAMPLES - 1))
                    digest.update(file.read(SAMPLE_BYTES))
    except OSError as error:
        raise CorpusError(f"{os.fspath(path)}: cannot be read: {error.strerror or error}") from error
    return f"sampled-sha256:{digest.hexdigest()}"
