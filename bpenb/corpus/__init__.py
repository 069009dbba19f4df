"""Corpora: the only reader of files and iterables, and the only one who cuts them.

paths, URLs, globs, folders, - → [cap, share, weight] → sources → ranges for processes, or buffers for threads
text, JSON lines, Parquet; gzip, zstd               rows are documents; bad ones are an error, or told of
iterables of documents, or of batches of them → batches → tasks, or buffers
                                    a sample of documents is taken where text is read
"""

from bpenb.corpus.blocks import fill_from_files
from bpenb.corpus.cuts import CutFinder
from bpenb.corpus.document_blocks import fill_from_documents
from bpenb.corpus.documents import Documents, batch_documents, encode_batches, encode_document
from bpenb.corpus.files import FileRange, TextBlock, read_stream
from bpenb.corpus.finding import Files, resolve_files
from bpenb.corpus.inputs import BadRows, InputOptions
from bpenb.corpus.kinds import Kind
from bpenb.corpus.mixture import Mixture
from bpenb.corpus.ranges import plan_ranges
from bpenb.corpus.reader import read_range
from bpenb.corpus.remote import InputPath, RemoteFile
from bpenb.corpus.rooms import FilledRoom, Place, TakeRoom, TextRoom
from bpenb.corpus.sampling import DocumentSampler
from bpenb.corpus.shares import Part, plan_shares, settle_parts, share_of
from bpenb.corpus.sources import (
    Source,
    WeightedFiles,
    check_weight,
    corpus_identity,
    resolve_sources,
    total_bytes,
)
from bpenb.corpus.specials import SpecialScanner, normalize_special_tokens

__all__ = [
    "BadRows",
    "CutFinder",
    "DocumentSampler",
    "Documents",
    "FileRange",
    "Files",
    "FilledRoom",
    "InputOptions",
    "InputPath",
    "Kind",
    "Mixture",
    "Part",
    "Place",
    "RemoteFile",
    "Source",
    "SpecialScanner",
    "TakeRoom",
    "TextBlock",
    "TextRoom",
    "WeightedFiles",
    "batch_documents",
    "check_weight",
    "corpus_identity",
    "encode_batches",
    "encode_document",
    "fill_from_documents",
    "fill_from_files",
    "normalize_special_tokens",
    "plan_ranges",
    "plan_shares",
    "read_range",
    "read_stream",
    "resolve_files",
    "resolve_sources",
    "settle_parts",
    "share_of",
    "total_bytes",
]
