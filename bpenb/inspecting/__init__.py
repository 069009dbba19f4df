"""Looking at tokenizers: what is in a vocab, what it makes of texts, and how several compare.

    tokenizer  → facts.py, scripts.py → inspection.py     what each token is
    and texts  → texts.py (words.py)                      what the texts cost, token by token
    tokenizers → comparison.py                            side by side on the same texts

door.py asks for it; rereading.py keeps what can be read only once, since texts are read twice here.
"""

from bpenb.inspecting.comparison import Comparison, DifferingWord, compare_tokenizers
from bpenb.inspecting.door import inspect_tokenizer
from bpenb.inspecting.facts import TokenFacts
from bpenb.inspecting.inspection import Inspection
from bpenb.inspecting.scripts import script_of
from bpenb.inspecting.texts import CostlyWord, TextFigures

__all__ = [
    "Comparison",
    "CostlyWord",
    "DifferingWord",
    "Inspection",
    "TextFigures",
    "TokenFacts",
    "compare_tokenizers",
    "inspect_tokenizer",
    "script_of",
]
