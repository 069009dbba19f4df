"""From corpora to training files: every room in one pipeline, in bounded memory.

    inputs → blocks of ids in order → documents, end-of-text → [shuffle] → [train | val] → files
             encoding.py              documents.py             shuffle.py    splits.py     run.py

door.py      to files, arrays, a stream       settings.py    what decides the ids, checked
counting.py  tokens only counted              journal.py     where an interrupted run stands
run.py       the phases, and going on         earlier.py       what an earlier run left
stamps.py    inputs stay as they are          document_hash.py   kernels on whole documents
"""

from bpenb.preparing.counting import FileTokens, TokenCounts, count_tokens
from bpenb.preparing.door import (
    EncodedFiles,
    OutputSettings,
    encode_files,
    encode_to_arrays,
    encode_to_files,
    encode_to_stream,
)
from bpenb.preparing.settings import EncodeSettings

__all__ = [
    "EncodeSettings",
    "EncodedFiles",
    "FileTokens",
    "OutputSettings",
    "TokenCounts",
    "count_tokens",
    "encode_files",
    "encode_to_arrays",
    "encode_to_files",
    "encode_to_stream",
]
