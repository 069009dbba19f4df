"""From text to token ids, and back.

tokenizer.py   the door: Tokenizer         streaming.py   iterables and files, block by block
encoder.py     the driver: bytes to ids    splitter.py    special tokens and pretokens
engine.py      who cuts pretokens          ready.py       compiling ahead of need
encode_pretokens.py, merge_short.py, merge_long.py, pair_table.py, decode_ids.py   the kernels
"""

from bpenb.encoding.ready import kernels_compiled, warmup
from bpenb.encoding.streaming import encode_file_blocks
from bpenb.encoding.tokenizer import Tokenizer

__all__ = ["Tokenizer", "encode_file_blocks", "kernels_compiled", "warmup"]
