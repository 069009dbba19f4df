"""The formats of training files: a table of layouts, and how the ids of a dataset lie in them.

    npy        .npy    header of 128 bytes, ids; in rows: an array of two dimensions
    bin        .bin    ids, nothing else (nanoGPT)
    llmc       .bin    header of 256 int32, ids (llm.c)
    megatron   .bin    ids; .idx has length and place of each document (Megatron-LM)
    datatrove  .ds     ids; .ds.index has the end of each document, .ds.metadata the total

Everything is little-endian. In the last two a document is a sequence of its own, and stays whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bpenb.dataset.npy import HEADER_BYTES, id_dtype, npy_header
from bpenb.errors import OutputError

__all__ = ["LLMC_HEADER_BYTES", "LLMC_MAGICS", "MAX_LLMC_TOKENS", "TOKEN_FORMATS", "TokenFormat",
           "TokenLayout", "find_format"]  # fmt: skip

LLMC_HEADER_BYTES = 256 * 4
LLMC_MAGICS: dict[tuple[int, int], np.dtype[Any]] = {
    (20240520, 1): np.dtype("<u2"),
    (20240801, 7): np.dtype("<u4"),
}
MAX_LLMC_TOKENS = (1 << 31) - 1  # its header counts them in an int32
MEGATRON_UINT16_BELOW = 65_500  # Megatron's own rule, which leaves room for padding the vocab
MAX_INT32 = 1 << 31  # so many ids fit


@dataclass(frozen=True)
class TokenFormat:
    """One format of training files.

    Attributes:
        name: of the format.
        suffix: of the data file.
        side_suffixes: of the files that stand beside each data file, in place of `suffix`.
        header_bytes: before the ids.
        whole_documents: each document is a sequence, which no shard divides.
    """

    name: str
    suffix: str
    side_suffixes: tuple[str, ...] = ()
    header_bytes: int = 0
    whole_documents: bool = False

    def dtype(self, n_vocab: int) -> np.dtype[Any]:
        """Return the dtype of the ids in the file.

        Args:
            n_vocab: every id is below.

        Raises:
            OutputError: ids that the format cannot hold.

        Example:
            >>> [find_format(f).dtype(65_500).str for f in ("bin", "llmc", "megatron")]
            ['<u2', '<u2', '<i4']
        """
        if self.name != "megatron":
            return id_dtype(n_vocab)
        if n_vocab > MAX_INT32:
            raise OutputError(f"ids up to {n_vocab - 1} do not fit the int32 of megatron; take npy or bin")
        return np.dtype("<u2" if n_vocab < MEGATRON_UINT16_BELOW else "<i4")

    def header(self, dtype: np.dtype[Any], n_tokens: int, seq_len: int | None = None) -> bytes:
        """Return the bytes that stand before `n_tokens` ids.

        Args:
            dtype: of the ids.
            n_tokens: how many follow, padding included.
            seq_len: tokens in a row, if they stand in rows.

        Raises:
            OutputError: more tokens than the header can tell.
        """
        if self.name == "npy":
            shape = (n_tokens,) if seq_len is None else (n_tokens // seq_len, seq_len)
            return npy_header(dtype, shape)
        if self.name != "llmc":
            return b""
        if n_tokens > MAX_LLMC_TOKENS:
            raise OutputError(
                f"an llmc file holds at most {MAX_LLMC_TOKENS:,} tokens, not {n_tokens:,}; "
                "write several with shard_tokens (--shard-tokens 100000000 is usual)"
            )
        magic = next(key for key, value in LLMC_MAGICS.items() if value == dtype)
        return np.array([*magic, n_tokens], dtype="<i4").tobytes().ljust(LLMC_HEADER_BYTES, b"\0")


TOKEN_FORMATS: dict[str, TokenFormat] = {
    f.name: f
    for f in (
        TokenFormat("npy", ".npy", header_bytes=HEADER_BYTES),
        TokenFormat("bin", ".bin"),
        TokenFormat("llmc", ".bin", header_bytes=LLMC_HEADER_BYTES),
        TokenFormat("megatron", ".bin", (".idx",), whole_documents=True),
        TokenFormat("datatrove", ".ds", (".ds.index", ".ds.metadata"), whole_documents=True),
    )
}


def find_format(name: str) -> TokenFormat:
    """Return a format by its name.

    Raises:
        OutputError: an unknown one.

    Example:
        >>> find_format("megatron").side_suffixes
        ('.idx',)
    """
    if name not in TOKEN_FORMATS:
        raise OutputError(f"unknown token format {name!r}; there are: {', '.join(TOKEN_FORMATS)}")
    return TOKEN_FORMATS[name]


@dataclass(frozen=True)
class TokenLayout:
    """How the ids of a dataset lie in its files; checked when it is made.

    Args:
        format: a name of `TOKEN_FORMATS`.
        n_vocab: every id is below.
        shard_tokens: tokens in a file; None for one file. In rows, rounded down to whole rows.
        seq_len: tokens in a row; None for no rows.
        pad_id: what fills the last row; needed with `seq_len`.
        document_index: write `NAME.documents.npy`; megatron and datatrove have an index anyway.
        tokenizer_name: for the metadata of datatrove.

    Raises:
        OutputError: an unknown format, or settings that do not go together.

    Example:
        >>> TokenLayout("llmc", n_vocab=50257, shard_tokens=1000, seq_len=256, pad_id=0).shard_tokens
        768
    """

    format: str
    n_vocab: int
    shard_tokens: int | None = None
    seq_len: int | None = None
    pad_id: int | None = None
    document_index: bool = False
    tokenizer_name: str = "bpenb"

    def __post_init__(self) -> None:
        found = find_format(self.format)
        if self.n_vocab < 1:
            raise OutputError(f"n_vocab is {self.n_vocab}; a vocab has one token at least")
        if len(self.tokenizer_name.splitlines()) > 1:
            raise OutputError(f"tokenizer_name {self.tokenizer_name!r} must be one line")
        found.dtype(self.n_vocab)  # raises where no id would fit
        for name in ("shard_tokens", "seq_len"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise OutputError(f"{name} is {value}; it must be 1 at least")
        if self.seq_len is not None:
            self._check_rows(self.seq_len)
        if self.format == "llmc" and (self.shard_tokens or 0) > MAX_LLMC_TOKENS:
            raise OutputError(f"an llmc file holds at most {MAX_LLMC_TOKENS:,} tokens; lower shard_tokens")

    def _check_rows(self, seq_len: int) -> None:
        if find_format(self.format).whole_documents:
            raise OutputError(
                f"in {self.format} files each document is a sequence of its own, so there are no rows; "
                "leave out seq_len (--seq-len), or write npy, bin or llmc"
            )
        if self.pad_id is None:
            raise OutputError("seq_len needs a pad_id, which fills the last row")
        if not 0 <= self.pad_id < self.n_vocab:
            raise OutputError(f"pad_id {self.pad_id} is not in 0..{self.n_vocab - 1}")
        if self.shard_tokens is not None:
            whole_rows = self.shard_tokens // seq_len * seq_len
            if whole_rows == 0:
                raise OutputError(
                    f"shard_tokens {self.shard_tokens} is less than one row of seq_len {seq_len}; "
                    "raise it, or shorten the rows"
                )
            object.__setattr__(self, "shard_tokens", whole_rows)

    @property
    def token_format(self) -> TokenFormat:
        """The format, from the table."""
        return TOKEN_FORMATS[self.format]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the ids in the files."""
        return self.token_format.dtype(self.n_vocab)
