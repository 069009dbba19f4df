"""Hold a training against merges that others published, for whoever has the texts.

    python -m benchmarks.published tinystories TinyStoriesV2-GPT4-train.txt
    python -m benchmarks.published openwebtext owt_train.txt --max-memory 8GB
    python -m benchmarks.published corpus.en corpus.en --verify

From the root of the project. The digests are those of the first n merges (GPT-2's pattern, the
special token <|endoftext|>, ties of CS336), from two public lists made independently, which agree
byte for byte. Prints a line for each; the exit code is 1 if a digest differs. If the file is not
the one that was published, that is said first.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import bpenb

from benchmarks.digests import merges_digest

SPECIAL = "<|endoftext|>"


@dataclass(frozen=True)
class Published:
    """What is known of a text.

    Attributes:
        digests: `merges_digest` of the first n merges, by n.
        n_bytes, n_words, n_pretokens: of the text, its distinct words and its pretokens, where told.
        longest_token: bytes of the longest token that is learned at the greatest n, where told.
    """

    digests: dict[int, str]
    n_bytes: int | None = None
    n_words: int | None = None
    n_pretokens: int | None = None
    longest_token: int | None = None


@dataclass(frozen=True)
class Check:
    """One comparison; `decides` tells whether a difference is a wrong result."""

    what: str
    published: str
    found: str
    decides: bool = True

    @property
    def equal(self) -> bool:
        return self.published == self.found

    def __str__(self) -> str:
        if self.equal:
            return f"equal    {self.what}: {self.found}"
        return f"DIFFERS  {self.what}: {self.found}, published {self.published}"


PUBLISHED = {
    "tinystories": Published(
        {
            64: "48e449da06e7b51fe777a843b6bfb6e8402814638ba02f43114379fac4109a95",
            743: "8459e96a41a9dabc80ea37de78a37829fa274f7e900b7c2eae79312014ec63eb",
            9743: "604bf5d310c3e56db7b565ffabb68f77b34cfe816668165ab5837af9f62bd221",
        },
        2_227_753_162,
        59_933,
        536_592_168,
        15,
    ),
    "openwebtext": Published(
        {
            64: "30e40d2976f5c609a492106884d46c8061a447c0170afb03b42cd755d510d486",
            743: "24cf5d140ce8ae8f4ed201ddb59d30727180da411cce04a59d9097a2f005501b",
            9743: "ff29e020f5423d1e471487f35c957f557ba691ece7025538ddc9c0a8ced06b15",
            31743: "b31bc7019d88099839ce8fc632ce7939fbae9b0a22f3ea9845aede4c3f28cf41",
        },
        11_920_511_059,
        6_601_892,
        2_471_753_092,
        64,
    ),
    "corpus.en": Published({243: "3c6c087bcc018a2a4b7cb99f5b68ec7331353704967d07ade329a474acc0ee0c"}),
}


def check_published(
    published: Published, path: Path, *, max_memory: str | None = None, verify: bool = False
) -> Iterator[Check]:
    """Yield the comparisons of one training with what was published, the file's size first."""
    if published.n_bytes is not None:
        yield Check("bytes", f"{published.n_bytes:,}", f"{path.stat().st_size:,}", decides=False)
    tokenizer = bpenb.train(
        path,
        vocab_size=256 + 1 + max(published.digests),
        special_tokens=[SPECIAL],
        max_memory=max_memory,
        progress=True,
        verify=verify,
    )
    assert tokenizer.report is not None
    sizes = tokenizer.report["sizes"]
    longest = max((len(left) + len(right) for left, right in tokenizer.merges), default=1)
    for what, told, found in (
        ("distinct words", published.n_words, sizes["distinct_words"]),
        ("pretokens", published.n_pretokens, sizes["pretokens"]),
        ("bytes of the longest token", published.longest_token, longest),
    ):
        if told is not None:
            yield Check(what, f"{told:,}", f"{found:,}", decides=False)
    merges = tokenizer.merges
    for n, digest in sorted(published.digests.items()):
        found = merges_digest(merges[:n]) if len(merges) >= n else f"there are {len(merges):,} merges"
        yield Check(f"the first {n:,} merges", digest, found)


def main(arguments: list[str] | None = None) -> int:
    """Run it; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.published", description=__doc__.split("\n")[0]
    )
    parser.add_argument("name", choices=sorted(PUBLISHED), help="which text it is")
    parser.add_argument("file", type=Path)
    parser.add_argument("--max-memory", help="such as 8GB")
    parser.add_argument("--verify", action="store_true", help="also hold the result against the slow rule")
    asked = parser.parse_args(arguments)
    if not asked.file.is_file():
        parser.error(f"{asked.file}: there is no such file")
    wrong = 0
    for check in check_published(
        PUBLISHED[asked.name], asked.file, max_memory=asked.max_memory, verify=asked.verify
    ):
        print(check, flush=True)
        wrong += check.decides and not check.equal
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
