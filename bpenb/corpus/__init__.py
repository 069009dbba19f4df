"""Corpora: the only reader of files and iterables, and the only one who cuts them."""

from bpenb.corpus.blocks import FilledRoom, TakeRoom, TextRoom, fill_from_documents, fill_from_files
from bpenb.corpus.cuts import CutFinder
from bpenb.corpus.documents import batch_documents, encode_document, encode_documents
from bpenb.corpus.files import FileRange, Files, TextBlock, plan_ranges, read_stream, resolve_files
from bpenb.corpus.reader import read_range
from bpenb.corpus.specials import SpecialScanner, normalize_special_tokens

__all__ = [
    "CutFinder",
    "FileRange",
    "Files",
    "FilledRoom",
    "SpecialScanner",
    "TakeRoom",
    "TextBlock",
    "TextRoom",
    "batch_documents",
    "encode_document",
    "encode_documents",
    "fill_from_documents",
    "fill_from_files",
    "normalize_special_tokens",
    "plan_ranges",
    "read_range",
    "read_stream",
    "resolve_files",
]
