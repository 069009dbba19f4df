"""bpenb: byte-level BPE tokenizers, trained and applied at speed, in pure Python and Numba.

    train, train_from_iterator, train_from_counts     text or counts → Tokenizer
    train_bpe                                         the same with the signature of CS336
    count_words, count_words_from_iterator            text → WordCounts
    count_to_file, merge_counts, merge_to_file        shards of a corpus → files → WordCounts
    Cluster                                           whose workers count, in place of this process
    train_sweep                                       text or counts → a tokenizer for each vocab size
    verify                                            a tokenizer and its counts, held against the slow rule
    Tokenizer, WordCounts                             encode, decode, save, load; count, merge
    encode_to_files, count_tokens                     corpora → training files; tokens only counted
    InputOptions, EncodeSettings, OutputSettings      how files are read, encoded, written
    VocabOptions                                      special tokens in reserve, their roles, padding
    open_dataset, verify_dataset                      training files read back, and checked
    inspect_tokenizer, compare_tokenizers             what a tokenizer is and makes of texts; several of them
    write_report                                      a page that shows a tokenizer and what it makes of texts
    Checkpoint                                        where a training keeps its merges
    train_classic, ClassicTokenizer                   the textbook form: characters, an end-of-word mark
    learn_merges, apply_merges                        the same on sequences of any whole numbers

Importing the package imports neither NumPy nor Numba: each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bpenb.api import train, train_bpe, train_from_counts, train_from_iterator
    from bpenb.api_counts import (
        count_to_file,
        count_words,
        count_words_from_iterator,
        merge_counts,
        merge_to_file,
    )
    from bpenb.classic import ClassicTokenizer, train_classic
    from bpenb.cluster import Cluster
    from bpenb.corpus import InputOptions
    from bpenb.counting import WordCounts, Workforce
    from bpenb.dataset import open_dataset, verify_dataset
    from bpenb.encoding import StreamDecoder, Tokenizer
    from bpenb.errors import BpenbError
    from bpenb.inspecting import compare_tokenizers, inspect_tokenizer
    from bpenb.preparing import EncodeSettings, OutputSettings, count_tokens, encode_to_files
    from bpenb.progress import Progress
    from bpenb.report_page import write_report
    from bpenb.sweep import train_sweep
    from bpenb.sweep_table import Sweep
    from bpenb.training import Checkpoint, apply_merges, learn_merges
    from bpenb.verification import Verification, verify
    from bpenb.vocab_options import VocabOptions

__version__ = "0.1.0"

__all__ = [
    "BpenbError",
    "Checkpoint",
    "ClassicTokenizer",
    "Cluster",
    "EncodeSettings",
    "InputOptions",
    "OutputSettings",
    "Progress",
    "StreamDecoder",
    "Sweep",
    "Tokenizer",
    "Verification",
    "VocabOptions",
    "WordCounts",
    "Workforce",
    "__version__",
    "apply_merges",
    "compare_tokenizers",
    "count_to_file",
    "count_tokens",
    "count_words",
    "count_words_from_iterator",
    "encode_to_files",
    "inspect_tokenizer",
    "learn_merges",
    "merge_counts",
    "merge_to_file",
    "open_dataset",
    "train",
    "train_bpe",
    "train_classic",
    "train_from_counts",
    "train_from_iterator",
    "train_sweep",
    "verify",
    "verify_dataset",
    "write_report",
]

_HOMES = {
    "BpenbError": "bpenb.errors",
    "Checkpoint": "bpenb.training",
    "Cluster": "bpenb.cluster",
    "ClassicTokenizer": "bpenb.classic",
    "EncodeSettings": "bpenb.preparing",
    "InputOptions": "bpenb.corpus",
    "OutputSettings": "bpenb.preparing",
    "Progress": "bpenb.progress",
    "StreamDecoder": "bpenb.encoding",
    "Sweep": "bpenb.sweep_table",
    "Tokenizer": "bpenb.encoding",
    "Verification": "bpenb.verification",
    "VocabOptions": "bpenb.vocab_options",
    "WordCounts": "bpenb.counting",
    "Workforce": "bpenb.counting",
    "apply_merges": "bpenb.training",
    "compare_tokenizers": "bpenb.inspecting",
    "count_to_file": "bpenb.api_counts",
    "count_tokens": "bpenb.preparing",
    "count_words": "bpenb.api_counts",
    "count_words_from_iterator": "bpenb.api_counts",
    "encode_to_files": "bpenb.preparing",
    "inspect_tokenizer": "bpenb.inspecting",
    "learn_merges": "bpenb.training",
    "merge_counts": "bpenb.api_counts",
    "merge_to_file": "bpenb.api_counts",
    "open_dataset": "bpenb.dataset",
    "train_classic": "bpenb.classic",
    "train_sweep": "bpenb.sweep",
    "verify": "bpenb.verification",
    "verify_dataset": "bpenb.dataset",
    "write_report": "bpenb.report_page",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'bpenb' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES.get(name, "bpenb.api")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
