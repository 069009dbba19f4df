"""Whether learning fits into a memory budget; counting keeps to it by itself."""

from __future__ import annotations

from bpenb._memory import format_memory, rss_bytes
from bpenb.counting import WordCounts
from bpenb.errors import TrainingError

__all__ = ["check_memory"]

# Tokens, offsets and postings, while they grow: 24 to 30 bytes were measured at 32,000 merges for
# each byte of the distinct words, 12 to 17 at 1,000 (docs/decisions/0008-memory-budget.md).
_PER_WORD_BYTE = 30
_KERNELS = 50_000_000  # loading them, and what does not depend on the words


def check_memory(counts: WordCounts, budget: int) -> None:
    """Refuse to learn from words if it would take more memory than there may be.

    Args:
        counts: there already.
        budget: bytes, of the whole process.

    Raises:
        TrainingError: it says how much is needed.

    Example:
        >>> check_memory(WordCounts.from_dict({"low": 5}), 10**11)
    """
    needed = rss_bytes() + _PER_WORD_BYTE * counts.word_bytes.shape[0] + _KERNELS
    if needed > budget:
        raise TrainingError(
            f"max_memory is {format_memory(budget)}; the words are counted within it, but learning from "
            f"{len(counts):,} of them takes about {format_memory(needed)}; raise max_memory, or count and "
            "save the words with it, and train from these counts without it"
        )
