"""bpenb: byte-level BPE tokenizers, trained and applied at speed, in pure Python and Numba."""

__version__ = "0.1.0"
