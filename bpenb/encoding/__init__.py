"""From text to token ids, and back.

tokenizer.py   the door: Tokenizer         streaming.py        iterables, block by block
encoder.py     the driver: bytes to ids    splitter.py         special tokens and pretokens
crew.py        threads, in order           worker.py           what each of them encodes with
engine.py      who marks pretokens         special_choice.py   which special tokens a call recognises
decoder.py     the driver: ids to bytes    stream_decoder.py   ids as they come, whole characters
id_arrays.py   ids of any kind             offsets.py          where each token stands
                                           token_html.py       the same for notebooks
one_word.py    words, for others           ready.py            compiling ahead of need
encode_words.py, word_cache.py, merge_short.py, merge_long.py, pair_table.py, token_rows.py   the kernels
decode_ids.py   kernels of decoding, for others
"""

from bpenb.encoding.crew import EncodedText
from bpenb.encoding.decode_ids import gather_token_bytes, measure_tokens
from bpenb.encoding.decoder import Decoder, decode_blocks
from bpenb.encoding.encode_words import DROPPED
from bpenb.encoding.encoder import Encoder
from bpenb.encoding.merge_scratch import EncodeScratch, make_scratch
from bpenb.encoding.offsets import Encoding
from bpenb.encoding.one_word import encode_word, merge_words
from bpenb.encoding.pair_table import PairTable, find_pair, make_pair_table
from bpenb.encoding.ready import kernels_compiled, warmup
from bpenb.encoding.splitter import Splitter
from bpenb.encoding.stream_decoder import StreamDecoder
from bpenb.encoding.tokenizer import Tokenizer

__all__ = [
    "DROPPED",
    "Decoder",
    "EncodeScratch",
    "EncodedText",
    "Encoder",
    "Encoding",
    "PairTable",
    "Splitter",
    "StreamDecoder",
    "Tokenizer",
    "decode_blocks",
    "encode_word",
    "find_pair",
    "gather_token_bytes",
    "kernels_compiled",
    "make_pair_table",
    "make_scratch",
    "measure_tokens",
    "merge_words",
    "warmup",
]
