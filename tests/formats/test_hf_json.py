"""tokenizer.json: `tokenizers` gives our ids, round trips, published spellings, every kind of damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bpenb.errors import FormatError, OutputError
from bpenb.formats import load_model, load_vocab_merges
from bpenb.formats.byte_map import from_printable
from bpenb.formats.hf_json import parse_tokenizer_json, tokenizer_json
from bpenb.formats.hf_split import parse_pre_tokenizer, pre_tokenizer, warn_if_cut_differently
from bpenb.model import BPEModel
from bpenb.patterns import PATTERNS, resolve_pattern
from bpenb.traits import Traits
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.models import BYTES, EOT, FROM_A_FILE, facts, ids_of, models, texts, trained
from tests.oracles.pretokenizer import pretokens
from tokenizers import Tokenizer, pre_tokenizers

# Those that no Unicode version between the peers' and that of `regex` has put into another class.
OLD_CHARACTERS = st.characters(exclude_categories=["Cn", "Cs"], exclude_characters="\u0295")
HERE = Path("tokenizer.json")


def document(model: BPEModel) -> Any:
    return json.loads(tokenizer_json(model))


# --- tokenizers gives our ids ---------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(models(), texts() | st.text(OLD_CHARACTERS, max_size=30))
def test_tokenizers_gives_the_ids_of_the_oracle(model: BPEModel, text: str) -> None:
    try:
        peer = Tokenizer.from_str(tokenizer_json(model).decode())
    except OutputError:
        return
    ids = peer.encode(text, add_special_tokens=False).ids
    assert ids == ids_of(model, text)
    vocab = model.vocab()
    assert b"".join(vocab[i] for i in ids) == text.encode()
    assert peer.decode(ids, skip_special_tokens=False) == text
    assert peer.get_vocab_size() == len(json.loads(tokenizer_json(model))["model"]["vocab"])


@pytest.mark.parametrize("ties", ["cs336", "huggingface", "rustbpe"])
@pytest.mark.parametrize("name", PATTERNS)
def test_tokenizers_on_text_with_special_tokens(name: str, ties: str) -> None:
    names = [EOT, EOT + EOT, "[END OF DOC]", "<s>", "é中", " ."]
    text = f"It's the cats' 1234 tests.{EOT}\n\nIT'S  é中é{EOT}{EOT}{EOT} x[END OF DOC] the<s><s>é中 ."
    text += "\t\r\n the end  "
    model = trained(text * 2, 60, names, ties, name)
    peer = Tokenizer.from_str(tokenizer_json(model).decode())
    assert peer.encode(text, add_special_tokens=False).ids == ids_of(model, text)
    for special, token_id in model.special_tokens.items():
        assert peer.token_to_id(special) == token_id
        assert peer.encode(special, add_special_tokens=False).ids == [token_id]
    assert peer.get_added_tokens_decoder().keys() == set(model.special_tokens.values())


def test_gpt2(test_data: Path) -> None:
    model = load_vocab_merges(test_data / "gpt2_vocab.json", test_data / "gpt2_merges.txt", [EOT], "gpt2")
    peer = Tokenizer.from_str(tokenizer_json(model).decode())
    assert peer.encode(f"{EOT}\n\n", add_special_tokens=False).ids == [50256, 628]
    for name in ("address.txt", "german.txt"):
        text = (test_data / name).read_text("utf-8")
        assert peer.encode(text, add_special_tokens=False).ids == ids_of(model, text)


TELLING = "aBzÅßſıİ'slltdmve 1½²٣ \t\n\r\u00a0\u3000\u0085\x1c\u200b.,/!_ǅʰ中가न\u0301\u200d😀Ⅻ\x00"


@pytest.mark.parametrize("name", PATTERNS)
def test_tokenizers_cuts_as_our_patterns(name: str) -> None:
    cut = Tokenizer.from_str(tokenizer_json(trained("", 0, pattern=name)).decode()).pre_tokenizer
    assert cut is not None

    @settings(max_examples=250, deadline=None)
    @given(st.text(TELLING, max_size=12))
    def check(text: str) -> None:
        theirs = [from_printable(pretoken).decode() for pretoken, _ in cut.pre_tokenize_str(text)]
        assert theirs == pretokens(text, PATTERNS[name])

    check()


def test_a_special_token_that_shares_an_id_under_another_string() -> None:
    model = BPEModel.from_vocab(BYTES | {256: b" b"}, [(b" ", b"b")], [" b"], "gpt2")
    peer = Tokenizer.from_str(tokenizer_json(model).decode())
    assert peer.encode("a b", add_special_tokens=False).ids == [97, 256] == ids_of(model, "a b")
    assert peer.decode([97, 256], skip_special_tokens=False) == "a b"


def test_ids_with_holes() -> None:
    vocab = {3 * i: token for i, token in BYTES.items()} | {900: b"ab"}
    model = BPEModel.from_ids(vocab, [(b"a", b"b")], {EOT: 5000}, "gpt2")
    peer = Tokenizer.from_str(tokenizer_json(model).decode())
    assert peer.encode(f"ab{EOT}c", add_special_tokens=False).ids == [900, 5000, 297]
    assert facts(parse_tokenizer_json(document(model), HERE), *FROM_A_FILE) == facts(model, *FROM_A_FILE)


# --- round trips ----------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(models())
def test_round_trip(model: BPEModel) -> None:
    try:
        contents = tokenizer_json(model)
    except OutputError:
        return
    ours = parse_tokenizer_json(json.loads(contents), HERE)
    theirs = parse_tokenizer_json(json.loads(Tokenizer.from_str(contents.decode()).to_str()), HERE)
    expected = facts(model, *FROM_A_FILE, "special_tokens")
    for read in (ours, theirs):
        assert facts(read, *FROM_A_FILE, "special_tokens") == expected
        assert read.special_tokens == model.special_tokens


def test_a_file_that_tokenizers_trained(tmp_path: Path) -> None:
    from tokenizers import decoders, models, trainers

    peer = Tokenizer(models.BPE())
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    peer.decoder = decoders.ByteLevel()
    text = "It's the cat the cats thé ab abab the end 1234"
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=280, special_tokens=[EOT, "."], initial_alphabet=alphabet, show_progress=False
    )
    peer.train_from_iterator([text], trainer)
    peer.save(str(tmp_path / "tokenizer.json"))
    for model in (load_model(tmp_path / "tokenizer.json"), load_model(tmp_path)):
        assert model.special_tokens == {EOT: 0, ".": 1}
        assert model.n_vocab == peer.get_vocab_size()
        assert ids_of(model, text + EOT) == peer.encode(text + EOT).ids


def test_merges_as_strings() -> None:
    model = trained("ab ab cd# #", 4, [EOT])
    old = document(model)
    old["model"]["merges"] = [" ".join(pair) for pair in old["model"]["merges"]]
    del old["model"]["type"], old["normalizer"], old["post_processor"]
    assert facts(parse_tokenizer_json(old, HERE)) == facts(parse_tokenizer_json(document(model), HERE))


def test_added_tokens_outside_the_vocab() -> None:
    model = trained("ab ab", 2, [EOT])
    theirs = document(model)
    del theirs["model"]["vocab"][EOT]
    assert facts(parse_tokenizer_json(theirs, HERE), *FROM_A_FILE) == facts(model, *FROM_A_FILE)


def test_two_merges_for_one_token_as_in_llama3() -> None:
    vocab = BYTES | {256: b"bc", 257: b"abc", 258: b"ab"}
    model = BPEModel.from_ids(vocab, [(b"b", b"c"), (b"a", b"bc"), (b"a", b"b"), (b"ab", b"c")], {}, "cl100k")
    theirs = document(model)
    theirs["model"]["ignore_merges"] = True
    read = parse_tokenizer_json(theirs, HERE)
    assert read.merge_pairs() == model.merge_pairs()
    assert read.traits == Traits(ignore_merges=True)


# --- the split pattern ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*PATTERNS, r"\d+|[^\d]"])
def test_the_pattern_round_trips(name: str) -> None:
    pattern = resolve_pattern(name)
    assert parse_pre_tokenizer(pre_tokenizer(pattern), HERE).regex == pattern.regex
    assert "++" not in json.dumps(pre_tokenizer(pattern))


ISOLATED = {"behavior": "Isolated", "invert": False}
REMOVED = {"behavior": "Removed", "invert": True}
IGNORING_CASE = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|"
LETTERS = r"[^\r\n\p{L}\p{N}]?\p{L}+|"
THE_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        (IGNORING_CASE + LETTERS + r"\p{N}{1,3}" + THE_REST, "cl100k"),
        (IGNORING_CASE + LETTERS + r"\p{N}" + THE_REST, "qwen2"),
        (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", "gpt2"),
        (IGNORING_CASE + r"\S|\s", None),
    ],
)
@pytest.mark.parametrize("behavior", [ISOLATED, REMOVED])
def test_published_spellings_have_our_names(spelling: str, name: str | None, behavior: Any) -> None:
    row = pre_tokenizer(resolve_pattern("cl100k"))
    row["pretokenizers"][0] |= {"pattern": {"Regex": spelling}} | dict(behavior)
    if name is None and behavior == REMOVED:
        with pytest.raises(FormatError, match="behavior 'Removed' with invert True is not supported"):
            parse_pre_tokenizer(row, HERE)
        return
    assert parse_pre_tokenizer(row, HERE).name == name


def test_a_custom_regex_is_compared_on_saving(monkeypatch: pytest.MonkeyPatch) -> None:
    warn_if_cut_differently(resolve_pattern(r"\s+|\p{L}+|[^\s\p{L}]+"))
    warn_if_cut_differently(resolve_pattern(r"(\d)|[a-z]+"))  # with groups, and text between matches
    for regex, message in [
        (r"(?V0)\p{L}+", "fails: "),
        (r"\d|[a-z]*", "differs from ours on a sample"),  # there, an empty match cuts too
        (r"\w+|\W", "differs from ours on a sample"),  # U+00BD is no \w there
        (r"\p{L}{2,3}+", "differs from ours on a sample"),  # possessive here, greedy there
    ]:
        with pytest.warns(UserWarning, match=message):
            warn_if_cut_differently(resolve_pattern(regex))
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    with pytest.warns(UserWarning, match="was not compared with ours: tokenizers is not installed"):
        warn_if_cut_differently(resolve_pattern(r"\d+"))
    warn_if_cut_differently(resolve_pattern("cl100k"))  # a known one is compared in these tests


# --- damage ---------------------------------------------------------------------------------------


def changed(path: str, value: Any) -> Any:
    top = document(trained("ab ab abc", 3, [EOT], pattern="cl100k"))
    *keys, last = [int(key) if key.isdigit() else key for key in path.split("/")]
    row = top
    for key in keys:
        row = row[key]
    row[last] = value
    return top


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("model/type", "WordPiece", "model.type is 'WordPiece'"),
        ("model", [], "model must be an object"),
        ("model/vocab", [["a", 0]], "model.vocab must be an object"),
        ("model/vocab/a", 98, "tokens 'a' and 'b' have the same id 98"),
        ("model/vocab/a", None, "the id of token 'a' must be an integer"),
        ("model/vocab/a b", 700, "model.vocab: token 'a b': character ' '"),
        ("model/merges", None, "model.merges must be an array"),
        ("model/merges/0", "a", r"model.merges\[0\] must be two parts, not 'a'"),
        ("model/merges/1", ["a", "b", "c"], r"model.merges\[1\] must be two parts"),
        ("model/merges/1", ["a", 1], r"model.merges\[1\] must be two parts"),
        ("model/merges/1", 7, r"model.merges\[1\] must be an array, not 7"),
        ("model/merges/1", ["a", ""], r"model.merges\[1\] holds an empty token"),
        ("model/merges/1", ["a", "b"], "merge of rank 1: .*once more"),
        ("model/merges/0", ["x", "y"], "merge of rank 0: .*b'xy' is not in the vocab"),
        ("model/dropout", 0.1, "model.dropout is 0.1, which is not supported"),
        ("model/byte_fallback", True, "model.byte_fallback is True"),
        ("model/end_of_word_suffix", "</w>", "model.end_of_word_suffix"),
        ("normalizer", {"type": "Lowercase"}, "normalizer 'Lowercase' is not supported"),
        (
            "normalizer",
            {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFKC"}]},
            "'NFKC' is not",
        ),
        ("normalizer", "NFC", "normalizer must be an object"),
        ("added_tokens", {}, None),
        ("added_tokens", {"a": 1}, "added_tokens must be an array"),
        ("added_tokens/0", "x", r"added_tokens\[0\] must be an object"),
        ("added_tokens/0/content", 7, r"added_tokens\[0\].content must be a string"),
        ("added_tokens/0/content", "", "must not be empty"),
        ("added_tokens/0/content", "\ud800", "lone surrogate"),
        ("added_tokens/0/id", -5, r"added_tokens\[0\].id must not be negative"),
        ("added_tokens/0/id", 9, "added token '<|endoftext|>' has id 9, but 256 in model.vocab"),
        ("added_tokens/0/lstrip", 1, r"added_tokens\[0\].lstrip must be true or false, not 1"),
        ("model/ignore_merges", "yes", "model.ignore_merges must be true or false"),
        ("pre_tokenizer", None, "pre_tokenizer must be an object"),
        ("pre_tokenizer", {"type": "Whitespace"}, r"pre_tokenizer \['Whitespace'\] is not supported"),
        ("pre_tokenizer", {"type": "ByteLevel"}, "add_prefix_space is not supported"),
        (
            "pre_tokenizer",
            {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
            "must cut: by use_regex, or by a Split before it",
        ),
        ("pre_tokenizer/pretokenizers/1/use_regex", "no", "use_regex must be true or false"),
        (
            "pre_tokenizer/pretokenizers/1",
            {"type": "Punctuation"},
            r"\['Split', 'Punctuation'\] is not supported",
        ),
        (
            "pre_tokenizer/pretokenizers/0/type",
            "Whitespace",
            r"\['Whitespace', 'ByteLevel'\] is not supported",
        ),
        ("pre_tokenizer/pretokenizers", 7, "pretokenizers must be an array"),
        ("pre_tokenizer/pretokenizers/0/behavior", "MergedWithNext", "behavior 'MergedWithNext'"),
        ("pre_tokenizer/pretokenizers/0/pattern", {"Regex": 7}, "pattern.Regex must be a string"),
        ("pre_tokenizer/pretokenizers/0/pattern", {"Regex": "(a"}, "does not compile"),
    ],
)
def test_damage_is_named(path: str, value: Any, message: str | None) -> None:
    top = changed(path, value)
    if message is None:  # an empty list of added tokens, however it is spelled
        assert parse_tokenizer_json(top, HERE).special_tokens == {}
        return
    with pytest.raises(FormatError, match=message) as caught:
        parse_tokenizer_json(top, HERE)
    assert str(caught.value).startswith("tokenizer.json: ")


def test_an_added_token_twice() -> None:
    top = document(trained("", 0, [EOT]))
    top["added_tokens"] *= 2
    with pytest.raises(FormatError, match=r"added_tokens\[1\]: the token '<\|endoftext\|>' once more"):
        parse_tokenizer_json(top, HERE)


def test_one_string_with_two_ids_is_refused() -> None:
    for special in (".", "é", "Ġ"):
        with pytest.raises(OutputError, match="stands for two tokens, ids"):
            tokenizer_json(trained("", 0, [special]))
