"""The .tiktoken file: round trips, merges recovered, every kind of damage."""

from __future__ import annotations

import random
from base64 import b64encode
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from bpenb.errors import FormatError, OutputError
from bpenb.formats import load_model, load_vocab_merges
from bpenb.formats.boundaries import boundary_holds, byte_age, self_made_ids
from bpenb.formats.reencoding import find_not_reencoded
from bpenb.formats.tiktoken_file import read_tiktoken, recover_merges, tiktoken_file
from bpenb.model import BPEModel
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.models import BYTES, EOT, FROM_A_FILE, facts, models, trained
from tests.oracles.encoder import encode_pretoken

Merges = list[tuple[bytes, bytes]]


def write(path: Path, model: BPEModel) -> Path:
    path.write_bytes(tiktoken_file(model))
    return path


# --- round trips ----------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(models("cl100k"))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, model: BPEModel) -> None:
    path = write(tmp_path_factory.mktemp("tiktoken") / "x.tiktoken", model)
    read = load_model(path, pattern="cl100k")
    assert read.vocab() == model.ordinary_vocab()
    assert (read.merge_pairs(), read.merge_ids.tolist()) == (model.merge_pairs(), model.merge_ids.tolist())
    assert tiktoken_file(read) == path.read_bytes()


def test_tiktoken_gives_our_ids(tmp_path: Path) -> None:
    import tiktoken
    from bpenb.patterns import PATTERNS
    from tests.oracles.encoder import encode

    text = f"the cat ab abab's{EOT} the  cats é中 abc\r\n\r\n"
    model = trained(text * 3, 40, [EOT], pattern="gpt2")
    path = write(tmp_path / "x.tiktoken", model)
    peer = tiktoken.Encoding(
        "x", pat_str=PATTERNS["gpt2"], mergeable_ranks={t: i for i, t in read_tiktoken(path).items()},
        special_tokens=model.special_tokens,
    )  # fmt: skip
    ids = encode(text, model.vocab(), model.merge_pairs(), [EOT], PATTERNS["gpt2"])
    assert peer.encode(text, allowed_special="all") == ids


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base"])
def test_published_vocabs(test_data: Path, name: str) -> None:
    path = test_data / f"{name}.tiktoken"
    vocab = read_tiktoken(path)
    merges = recover_merges(vocab)
    assert len(merges) == len(vocab) - 256
    assert [left + right for left, right in merges] == [t for t in vocab.values() if len(t) > 1]
    model = BPEModel.from_ids(vocab, merges, {}, "gpt2")
    assert tiktoken_file(model) == path.read_bytes()
    ids = {token: token_id for token_id, token in vocab.items()}
    for token in list(vocab.values())[256::97]:
        assert encode_by_ranks(token, ids, below=ids[token]) == list(merges[ids[token] - 256])


def encode_by_ranks(token: bytes, ids: dict[bytes, int], below: int) -> list[bytes]:
    """BPE as the file means it: join the neighbours whose bytes have the lowest rank."""
    tokens = [bytes([byte]) for byte in token]
    while True:
        found = [(ids.get(tokens[i] + tokens[i + 1], below), i) for i in range(len(tokens) - 1)]
        rank, i = min(found, default=(below, 0))
        if rank >= below:
            return tokens
        tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]


def test_gpt2_has_the_merges_of_its_other_files(test_data: Path) -> None:
    theirs = load_vocab_merges(test_data / "gpt2_vocab.json", test_data / "gpt2_merges.txt", [EOT], "gpt2")
    ours = load_model(test_data / "gpt2.tiktoken", pattern="gpt2")
    assert ours.merge_pairs() == theirs.merge_pairs()
    assert ours.vocab() == theirs.ordinary_vocab()


# --- what BPE leaves ------------------------------------------------------------------------------


@st.composite
def vocabs(draw: st.DrawFn) -> Merges:
    """Merges in an order that no training would have, over two bytes so that runs and overlaps abound."""
    tokens, merges = [b"a", b"b"], []
    for _ in range(draw(st.integers(0, 9))):
        pair = draw(st.sampled_from(tokens)), draw(st.sampled_from(tokens))
        if pair[0] + pair[1] not in tokens:
            tokens.append(pair[0] + pair[1])
            merges.append(pair)
    return merges


@settings(max_examples=400, deadline=None)
@given(vocabs())
def test_boundaries_hold_where_bpe_says(merges: Merges) -> None:
    model = BPEModel.from_ids(
        BYTES | {256 + rank: left + right for rank, (left, right) in enumerate(merges)}, merges, {}, "gpt2"
    )
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    own = {256 + rank for (a, b), rank in ranks.items() if encode_pretoken(a + b, ranks) == [a + b]}
    assert self_made_ids(model) == own | set(range(256))
    if len(own) < len(merges):
        with pytest.raises(OutputError, match=f"token {min(set(range(256, 256 + len(merges))) - own)} "):
            tiktoken_file(model)
        return
    assert recover_merges(model.vocab()) == merges
    age = {bytes([b]): byte_age(b) for b in range(256)} | {a + b: r for r, (a, b) in enumerate(merges)}
    parts = {age[a + b]: (age[a], age[b]) for a, b in merges}
    made = {pair: rank for rank, pair in parts.items()}
    tokens = [b"a", b"b", *(a + b for a, b in merges)]
    for left in tokens:
        for right in tokens:
            expected = encode_pretoken(left + right, ranks) == [left, right]
            assert boundary_holds(age[left], age[right], parts, made) == expected, (left, right)


def test_a_token_of_megabytes_is_quick(tmp_path: Path) -> None:
    tokens, merges = [b"ab"], [(b"a", b"b")]
    for _ in range(21):
        merges.append((tokens[-1], tokens[-1]))
        tokens.append(tokens[-1] * 2)
    model = BPEModel.from_ids(BYTES | {256 + i: t for i, t in enumerate(tokens)}, merges, {}, "gpt2")
    path = write(tmp_path / "x.tiktoken", model)
    assert path.stat().st_size > 10_000_000
    assert load_model(path, pattern="gpt2").merge_pairs() == merges


# --- models it cannot hold ------------------------------------------------------------------------


def test_ids_that_are_not_ranks() -> None:
    model = BPEModel.from_ids(BYTES | {300: b"ab", 299: b"bc"}, [(b"a", b"b"), (b"b", b"c")], {}, "gpt2")
    with pytest.raises(OutputError, match="token 299 merges after token 300"):
        tiktoken_file(model)


def test_tokens_that_nothing_makes() -> None:
    model = BPEModel.from_ids(BYTES | {300: b"<s>"}, [], {}, "gpt2")
    with pytest.raises(OutputError, match=r"token 300 \(b'<s>'\) is not what its own bytes merge to"):
        tiktoken_file(model)


def test_special_tokens_are_left_out_unless_they_are_ordinary_too() -> None:
    model = BPEModel.from_vocab(BYTES | {256: b"ab", 257: b"<s>"}, [(b"a", b"b")], ["<s>", "ab", "."], "gpt2")
    lines = tiktoken_file(model).decode().split("\n")
    assert len(lines) == 258
    assert lines[46:47] + lines[256:] == ["Lg== 46", "YWI= 256", ""]


# --- reading --------------------------------------------------------------------------------------

A, B, AB = (f"{b64encode(t).decode()} " for t in (b"a", b"b", b"ab"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{A}0\n{B}x\n", r"line 2: must be base64, a space and a rank"),
        (f"{A}0\n{B}-1\n", r"line 2: must be base64"),
        (f"{A}0\n{B}1.0\n", r"line 2: must be base64"),
        (f"{A}0\n{B}²\n", r"line 2: must be base64"),
        (f"{A}0\n\n{B}1\n", r"line 2: must be base64"),
        (f"{A}0\r\n{B}1\r\n", r"line 1: must be base64"),
        (f"{A}0\n 1\n", r"line 2: must be base64"),
        (f"{A}0\n?? 1\n", r"line 2: must be base64"),
        (f"{A}0\nYQ 1\n", r"line 2: not base64"),
        (f"{A}0\n{B}\n", r"line 2: must be base64"),
        (f"{A}0\n{B}1 2\n", r"line 2: must be base64"),
        (f"{A}0\n{B}0\n", r"line 2: rank 0 is that of line 1"),
        (f"{A}0\n{A}1\n", r"line 2: the token b'a' of line 1 once more"),
        (f"{A}0\n{B}{10**17}\n", r"has id 100000000000000000"),
        ("", r"holds no token"),
        (f"{A}0\n{AB}2\n", r"token 2 \(b'ab'\) is not what its own bytes merge to"),
        (f"{A}0\n{B}1\n{b64encode(b'aab').decode()} 2\n", r"token 2 \(b'aab'\) is not what"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*lacks")
def test_damage_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_text(text, "utf-8", newline="")
    with pytest.raises(FormatError, match=message) as caught:
        load_model(path, pattern="gpt2")
    assert str(caught.value).startswith(f"{path}: ")


def test_order_bom_and_the_last_newline_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(f"\ufeff{AB}9\n{B}7\n{A}8".encode())
    with pytest.warns(UserWarning, match="lacks 254 of the 256"):
        model = load_model(path, pattern="gpt2")
    assert (model.vocab(), model.merge_pairs()) == ({7: b"b", 8: b"a", 9: b"ab"}, [(b"a", b"b")])


def test_a_pattern_is_needed(tmp_path: Path) -> None:
    model = trained("ab ab", 2, [EOT], "rustbpe", "o200k")
    path = write(tmp_path / "x.tiktoken", model)
    with pytest.raises(FormatError, match=r"does not tell its split pattern; give it \(pattern="):
        load_model(path)
    assert load_model(path, pattern="o200k").pattern.name == "o200k"
    assert facts(load_model(path, pattern="o200k"), *FROM_A_FILE)["special_tokens"] == []


# --- encoding every token again ---------------------------------------------------------------------


def oracle_of_tokens(model: BPEModel) -> list[int]:
    """The ids of merges that plain BPE does not make of their own bytes."""
    rank = {pair: number for number, pair in enumerate(model.merge_pairs())}
    vocab, wrong = model.vocab(), []
    for token_id in sorted(set(model.merge_ids.tolist())):
        parts = [bytes([byte]) for byte in vocab[token_id]]
        while pairs := [(rank[pair], i) for i, pair in enumerate(pairwise(parts)) if pair in rank]:
            _, i = min(pairs)
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        if len(parts) > 1:
            wrong.append(token_id)
    return wrong


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=25), st.integers(0, 2**32))
def test_every_token_encoded_again(choices: list[tuple[int, int]], seed: int) -> None:
    tokens = [b"a", b"b", b"c"]
    merges: list[tuple[bytes, bytes]] = []
    for left, right in choices:
        pair = tokens[left % len(tokens)], tokens[right % len(tokens)]
        if pair not in merges and len(b"".join(pair)) < 40:
            merges.append(pair)
            tokens.append(b"".join(pair))
    ids = random.Random(seed).sample(range(1000), len(dict.fromkeys(tokens)))
    vocab = dict(zip(ids, dict.fromkeys(tokens), strict=True))
    model = BPEModel.from_ids(vocab, merges, {}, "gpt2")
    assert find_not_reencoded(model) == min(oracle_of_tokens(model), default=None)


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base"])
def test_published_files_are_encoded_again(test_data: Path, name: str) -> None:
    model = load_model(test_data / f"{name}.tiktoken", pattern="gpt2")
    assert find_not_reencoded(model) is None
    merges = model.merges.copy()
    merge_ids = model.merge_ids.copy()
    merges[[9, 5000]], merge_ids[[9, 5000]] = merges[[5000, 9]], merge_ids[[5000, 9]]
    assert find_not_reencoded(replace(model, merges=merges, merge_ids=merge_ids)) is not None


def test_a_file_whose_tokens_do_not_encode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "x.tiktoken", trained("ab ab", 2, [EOT], "rustbpe"))
    monkeypatch.setattr("bpenb.formats.loading.find_not_reencoded", lambda model: 256)
    with pytest.raises(FormatError, match=r"x\.tiktoken: token 256 .* is not what its own bytes merge to"):
        load_model(path, pattern="gpt2")
