"""Kinds of files that an option chooses from: training files, and files of tokenizers."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["ExportKind", "TokenFiles"]


class TokenFiles(StrEnum):
    """The formats of training files."""

    NPY = "npy"
    BIN = "bin"
    LLMC = "llmc"
    MEGATRON = "megatron"
    DATATROVE = "datatrove"


class ExportKind(StrEnum):
    """Whose files a tokenizer is written as."""

    BPENB = "bpenb"
    HF = "hf"
    GPT2 = "gpt2"
    TIKTOKEN = "tiktoken"
    GGUF = "gguf"
    SUBWORD_NMT = "subword-nmt"
