"""A folder that we saved, as `tokenizers` and tiktoken load it: their ids are ours."""

from __future__ import annotations

import base64
import sysconfig
from pathlib import Path

import bpenb
import pytest
import tiktoken
import tokenizers
from bpenb.encoding import Tokenizer
from bpenb.patterns import PATTERNS
from hypothesis import given, settings
from hypothesis import strategies as st

EOT = "<|endoftext|>"
SPECIALS = [EOT, "<s>", "[END OF DOC]", "<|é中|>"]
VOCAB_SIZE = 3000


@pytest.fixture(scope="module")
def library() -> list[str]:
    """Modules of the standard library, and a text of many scripts."""
    folder = Path(sysconfig.get_path("stdlib"))
    modules = [path.read_bytes().decode() for path in sorted(folder.glob("*.py"))[::8]]
    scripts = "中文，字。日本語\u3000テスト 한국어 नमस्ते مرحبا שלום ٣٤٥ Ångström IT'S x'ſa ǅ e\u0301 "
    return [*modules, (scripts + "😀👨\u200d👩\r\n") * 50]


@pytest.fixture(scope="module", params=PATTERNS)
def exported(
    request: pytest.FixtureRequest, library: list[str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Tokenizer, Path]:
    """A tokenizer of each pattern and the folder it was saved to."""
    ties = {"gpt2": "cs336", "cl100k": "huggingface", "o200k": "rustbpe"}.get(request.param, "cs336")
    ours = bpenb.train_from_iterator(
        library,
        vocab_size=VOCAB_SIZE,
        special_tokens=SPECIALS,
        pattern=request.param,
        ties=ties,  # type: ignore[arg-type]
    )
    folder = tmp_path_factory.mktemp("exported") / request.param
    ours.save(folder)
    return ours, folder


@pytest.fixture(scope="module")
def hugging_face(exported: tuple[Tokenizer, Path]) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(exported[1] / "tokenizer.json"))


@pytest.fixture(scope="module")
def of_tiktoken(exported: tuple[Tokenizer, Path]) -> tiktoken.Encoding:
    ours, folder = exported
    rows = (line.split() for line in (folder / "tokenizer.tiktoken").read_bytes().splitlines())
    return tiktoken.Encoding(
        "exported",
        pat_str=ours.pattern.regex,
        mergeable_ranks={base64.b64decode(token): int(rank) for token, rank in rows},
        special_tokens=ours.special_tokens,
    )


def test_real_text(
    exported: tuple[Tokenizer, Path], hugging_face: tokenizers.Tokenizer, library: list[str]
) -> None:
    ours, folder = exported
    assert ours.n_vocab == VOCAB_SIZE == hugging_face.get_vocab_size()
    with_specials = [library[0] + EOT + EOT + library[1], f"<s> {library[2]}[END OF DOC]{EOT}", EOT, ""]
    texts = library + with_specials
    theirs = [found.ids for found in hugging_face.encode_batch(texts, add_special_tokens=False)]
    assert ours.encode_batch(texts, workers=2) == theirs
    assert Tokenizer.load(folder).encode_batch(texts, workers=1) == theirs
    assert [ours.decode(ids) for ids in theirs] == texts


TELLING = [
    *"aBsStT'’ſKßẞİıǅΣςσÅ",
    *"e\u0301\u0903\u093f\u200d12\u0663Ⅻ½ \t\n\r\u00a0\u0085\u3000\x1c",
    *"/.,_-😀中가न\x00\ufeff",
    *["'s", "'LL", " don't", "\r\n", "  ", " def", "self", "return", *SPECIALS, EOT[:-1]],
]
texts = st.lists(st.sampled_from(TELLING) | st.characters(exclude_categories=["Cs"]), max_size=40).map(
    "".join
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@settings(max_examples=200, deadline=None)
@given(texts)
def test_random_unicode(
    exported: tuple[Tokenizer, Path],
    hugging_face: tokenizers.Tokenizer,
    of_tiktoken: tiktoken.Encoding,
    text: str,
) -> None:
    ours, _ = exported
    ids = ours.encode(text)
    assert ids == hugging_face.encode(text, add_special_tokens=False).ids
    assert ids == of_tiktoken.encode(text, allowed_special="all")
    assert list(ours.encode_iterable(text)) == ids
    assert ours.decode(ids) == text == hugging_face.decode(ids, skip_special_tokens=False)
