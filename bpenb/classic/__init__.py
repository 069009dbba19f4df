"""The classic form of BPE: characters and an end-of-word mark (Sennrich, Haddow and Birch, 2016).

    text ── words between spaces ── characters, the last one with "</w>" ── merges ── token ids

model.py      ClassicModel: characters, merges, tokens by id     training.py   train_classic
words.py      from word counts to words of characters            tokenizer.py  ClassicTokenizer
encoding.py   the driver of encoding, with its word cache        files.py      files to ids, ids to text
folder.py     the folder it is saved as
codes.py      the codes of subword-nmt                           hf_json.py    tokenizer.json

It learns and merges with the kernels of `bpenb.training` and `bpenb.encoding`. The byte-level path knows
nothing of it.
"""

from bpenb.classic.files import StreamedText, decode_classic, encode_classic
from bpenb.classic.folder import check_classic_folder
from bpenb.classic.model import END_OF_WORD, UNKNOWN_TOKEN, ClassicModel, classic_pattern
from bpenb.classic.tokenizer import CLASSIC_KINDS, ClassicTokenizer, UnknownCharacters
from bpenb.classic.training import train_classic
from bpenb.classic.words import ClassicWords, classic_words

__all__ = [
    "CLASSIC_KINDS",
    "END_OF_WORD",
    "UNKNOWN_TOKEN",
    "ClassicModel",
    "ClassicTokenizer",
    "ClassicWords",
    "StreamedText",
    "UnknownCharacters",
    "check_classic_folder",
    "classic_pattern",
    "classic_words",
    "decode_classic",
    "encode_classic",
    "train_classic",
]
