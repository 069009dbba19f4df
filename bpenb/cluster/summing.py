"""What there is to tell of counting many shards: the reports of all, as one run would have told them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bpenb.corpus import InputOptions, Mixture, Source
from bpenb.counting import CountResult, WordCounts

__all__ = ["sum_up"]


def sum_up(
    counts: WordCounts,
    reports: Sequence[Mapping[str, Any]],
    sources: Sequence[Source],
    mixture: Mixture,
    options: InputOptions,
) -> CountResult:
    """Return the result of counting shards.

    Args:
        counts: of all of them.
        reports: of each, as `perform` gave them.
        sources: that were counted.
        mixture, options: how.
    """
    n_bytes = sum(report["n_bytes"] for report in reports)
    bad = [report["inputs"] for report in reports if report["inputs"]["n_bad_rows"]]
    n_bad, first = sum(one["n_bad_rows"] for one in bad), bad[0]["first_bad_row"] if bad else None
    inputs = asdict(options) | {"n_bad_rows": n_bad, "first_bad_row": first}
    n_files = Counter(source.weight for source in sources)
    told: dict[str, Any] | None = None
    if mixture.settings != Mixture().settings:
        told = dict(mixture.settings)
    if set(n_files) - {1}:
        text: Counter[int] = Counter()
        for report in reports:
            text.update({int(weight): size for weight, size in report["weights"]})
        told = mixture.settings | {
            "weights": [
                {"weight": weight, "n_files": n, "text_bytes": text[weight]} for weight, n in n_files.items()
            ]
        }
    return CountResult(counts, n_bytes, 0, mixture=told, inputs=inputs)
