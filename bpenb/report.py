"""The report of a training: what was asked, what came out, how long each phase took."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from bpenb import __version__
from bpenb._memory import peak_rss_bytes
from bpenb.counting import CountResult
from bpenb.model import BPEModel
from bpenb.training import LearningOptions, MergeResult
from bpenb.verification import Verification

if TYPE_CHECKING:
    from bpenb.classic import ClassicModel

__all__ = ["longest_tokens", "training_report"]


def longest_tokens(model: BPEModel | ClassicModel, n: int = 10) -> list[str]:
    """Return the n longest tokens that are no special tokens, longest first, as text.

    Example:
        >>> from bpenb.patterns import resolve_pattern
        >>> vocab = {0: b"a", 1: b"b", 2: b"ab"}
        >>> longest_tokens(BPEModel.from_vocab(vocab, [(b"a", b"b")], None, resolve_pattern("gpt2")), 1)
        ['ab']
    """
    if not isinstance(model, BPEModel):  # strings, the special tokens in front
        ordinary = model.tokens[model.first_character :]
        return sorted(ordinary, key=len, reverse=True)[:n]
    lengths = np.diff(model.token_offsets)
    lengths[list(model.special_tokens.values())] = 0
    ids = np.argsort(-lengths, kind="stable")[:n]
    spans = [(int(model.token_offsets[i]), int(model.token_offsets[i + 1])) for i in ids if lengths[i]]
    return [model.token_bytes[a:b].tobytes().decode("utf-8", errors="backslashreplace") for a, b in spans]


def _rate(n: int, seconds: float) -> float | None:
    return n / seconds if seconds > 0 else None


def training_report(
    counted: CountResult,
    options: LearningOptions,
    vocab_size: int,
    result: MergeResult,
    model: BPEModel | ClassicModel,
    phase_seconds: Mapping[str, float],
    verification: Verification | None = None,
    base: Mapping[str, Any] | None = None,
    steps: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what report.json holds; sizes in bytes, times in seconds (docs/reports.md)."""
    counts = counted.counts
    last = int(result.merge_counts[-1]) if len(result.merge_counts) else None
    return {
        "bpenb_version": __version__,
        "python_version": platform.python_version(),
        "settings": {
            "vocab_size": int(vocab_size),
            "special_tokens": list(counts.special_tokens),
            "roles": dict(model.roles),
            "pad_vocab_to_multiple": model.pad_multiple,
            "pattern": counts.pattern.regex,
            "pattern_name": counts.pattern.name,
            "ties": options.ties,
            "min_frequency": options.min_frequency,
            "max_token_length": options.max_token_length,
            "merges_per_step": options.merges_per_step,
            "workers": options.workers,
            "engine": counts.engine,
            "unicode_version": counts.unicode_version,
        },
        "sizes": {
            "text_bytes": counted.n_bytes,
            "distinct_words": len(counts),
            "pretokens": counts.n_pretokens,
            "word_bytes": counts.n_bytes,
            "tokens": result.n_tokens_left,
            "bytes_per_token": counts.n_bytes / result.n_tokens_left if result.n_tokens_left else None,
            "n_vocab": model.n_vocab,
            "padded_vocab_size": model.padded_vocab_size,
            "merges": len(result.merges),
            "last_merge_count": last,
        },
        # Those of counting are sums over its workers, which work side by side.
        "seconds": dict(phase_seconds) | {f"counting.{k}": v for k, v in counted.stage_seconds.items()},
        "merges_per_second": _rate(result.counters["merges"], phase_seconds.get("merge", 0.0)),
        "peak_memory_bytes": peak_rss_bytes() + counted.workers_peak_rss_bytes,
        "memory_plan": None if counted.memory_plan is None else asdict(counted.memory_plan),
        "n_spills": counted.n_spills,
        "inputs": None if counted.inputs is None else dict(counted.inputs),
        "mixture": None if counted.mixture is None else dict(counted.mixture),
        "dropped_words": None if counted.dropped_words is None else counted.dropped_words._asdict(),
        "longest_tokens": longest_tokens(model),
        "base": base,
        "steps": steps,
        "verification": None if verification is None else verification._asdict(),
        "counters": result.counters,
    }
