"""From corpora to training files: every room in one pipeline, in bounded memory.

    inputs → blocks of ids in order → documents, end-of-text → [shuffle] → [train | val] → files
             encoding.py              documents.py             shuffle.py    splits.py     run.py

door.py        to files                         settings.py    what decides the ids, checked
to_memory.py   to an array, to a stream         journal.py     where an interrupted run stands
counting.py    tokens only counted              document_hash.py   kernels on whole documents
run.py         the phases, and going on         earlier.py     what an earlier run left
ready.py       compiling ahead of need          stamps.py      inputs stay as they are
"""

from bpenb.preparing.counting import FileTokens, TokenCounts, count_tokens
from bpenb.preparing.door import OutputSettings, encode_files, encode_to_files
from bpenb.preparing.ready import kernels_compiled, warmup
from bpenb.preparing.settings import EncodeSettings
from bpenb.preparing.to_memory import EncodedFiles, StreamedTokens, encode_to_arrays, encode_to_stream

__all__ = [
    "EncodeSettings",
    "EncodedFiles",
    "FileTokens",
    "OutputSettings",
    "StreamedTokens",
    "TokenCounts",
    "count_tokens",
    "encode_files",
    "encode_to_arrays",
    "encode_to_files",
    "encode_to_stream",
    "kernels_compiled",
    "warmup",
]
