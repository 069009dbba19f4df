"""The tokenizer folder: what is in it, what it replaces, what a crash leaves, and how it is read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import bpenb
import numpy as np
import pytest
from bpenb.errors import FormatError, OutputError, PatternError
from bpenb.formats import check_folder, load_model, replacing, save_folder
from bpenb.model import BPEModel
from hypothesis import given, settings
from tests.formats.models import BYTES, EOT, FROM_A_FILE, facts, models, trained

FILES = ["bpenb.json", "merges.txt", "token_bytes.npy", "tokenizer.json", "tokenizer.tiktoken",
         "tokenizer_config.json", "vocab.json"]  # fmt: skip


@pytest.fixture(scope="module")
def old() -> BPEModel:
    return trained("ab ab abc", 2, [EOT])


@pytest.fixture(scope="module")
def new() -> BPEModel:
    return trained("the cat the cats", 5, [EOT, "<s>"], "rustbpe", "cl100k")


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


# --- round trips ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:tokenizer.json")
@settings(max_examples=50, deadline=None)
@given(models())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, model: BPEModel) -> None:
    folder = tmp_path_factory.mktemp("folder") / "tokenizer"
    try:
        save_folder(model, folder)
    except OutputError:
        assert not folder.exists()
        return
    assert facts(load_model(folder)) == facts(model)
    assert facts(load_model(folder / "bpenb.json")) == facts(model)
    assert facts(load_model(folder / "vocab.json")) == facts(model)
    assert facts(load_model(folder / "tokenizer.tiktoken")) == facts(model)
    from_json = facts(load_model(folder / "tokenizer.json"), *FROM_A_FILE, "special_tokens")
    assert from_json == facts(model, *FROM_A_FILE, "special_tokens")
    before = {name: (folder / name).read_bytes() for name in names(folder)}
    save_folder(load_model(folder), folder)
    assert before == {name: (folder / name).read_bytes() for name in names(folder)}
    assert not any(b"\r\n" in contents for contents in before.values())


def test_settings(tmp_path: Path, new: BPEModel) -> None:
    save_folder(new, tmp_path)
    assert json.loads((tmp_path / "bpenb.json").read_text("utf-8")) == {
        "format": "bpenb tokenizer",
        "format_version": 1,
        "bpenb_version": bpenb.__version__,
        "pattern": {"name": "cl100k", "regex": new.pattern.regex},
        "ties": "rustbpe",
        "engine": "regex",
        "unicode_version": "16.0.0",
        "n_vocab": new.n_vocab,
        "n_merges": new.n_merges,
        "pad_vocab_to_multiple": 1,
        "padded_vocab_size": new.n_vocab,
        "special_tokens": [{"token": EOT, "id": 261}, {"token": "<s>", "id": 262}],
        "roles": {},
    }


def test_two_names_of_one_regex(tmp_path: Path) -> None:
    save_folder(trained("", 0, pattern="llama3"), tmp_path)
    assert load_model(tmp_path).pattern.name == "llama3"


def test_the_report(tmp_path: Path, old: BPEModel) -> None:
    report = {"n": np.int64(3), "list": np.arange(2), "path": Path("é"), "seconds": {"count": 0.5}}
    save_folder(old, tmp_path / "t", report, False)
    text = (tmp_path / "t" / "report.json").read_text("utf-8")
    assert json.loads(text) == {"n": 3, "list": [0, 1], "path": "é", "seconds": {"count": 0.5}}
    save_folder(old, tmp_path / "t")  # the folder is replaced as a whole: the old report is gone
    assert names(tmp_path / "t") == FILES


def test_a_model_that_a_tiktoken_file_cannot_hold(tmp_path: Path) -> None:
    model = BPEModel.from_ids(BYTES | {300: b"ab", 299: b"bc"}, [(b"a", b"b"), (b"b", b"c")], {}, "gpt2")
    with pytest.warns(UserWarning, match="tokenizer.tiktoken is left out: .* 299 merges after token 300"):
        save_folder(model, tmp_path / "t")
    assert names(tmp_path / "t") == [name for name in FILES if name != "tokenizer.tiktoken"]
    assert facts(load_model(tmp_path / "t")) == facts(model)


def test_a_model_that_no_file_can_hold(tmp_path: Path, old: BPEModel) -> None:
    save_folder(old, tmp_path / "t")
    with pytest.raises(OutputError, match=r"the string '\.' stands for two tokens, ids 46 and 256"):
        save_folder(trained("", 0, ["."]), tmp_path / "t")
    assert facts(load_model(tmp_path / "t")) == facts(old)


def test_a_custom_regex_warns_once(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"^tokenizer.json: .* differs from ours") as caught:
        save_folder(trained("ab ab", 1, pattern=r"\w+|\W"), tmp_path / "t")
    assert len(caught) == 1


# --- what it replaces -----------------------------------------------------------------------------


def test_missing_empty_and_ours_are_replaced(tmp_path: Path, old: BPEModel, new: BPEModel) -> None:
    folder = tmp_path / "a" / "b"
    check_folder(folder)
    save_folder(old, str(folder))
    (folder / ".vocab.json.0123abcd.part").write_bytes(b"of a run that was killed")
    check_folder(folder)
    save_folder(new, folder, {"x": 1})
    assert names(folder) == sorted([*FILES, "report.json"])
    assert facts(load_model(folder)) == facts(new)
    assert names(folder.parent) == ["b"]
    (tmp_path / "empty").mkdir()
    save_folder(new, tmp_path / "empty")
    assert names(tmp_path) == ["a", "empty"]


@pytest.mark.parametrize("entry", ["notes.txt", "sub/", ".git/", "special_tokens_map.json", "merges.txt/"])
@pytest.mark.parametrize("is_ours", [True, False])
def test_foreign_files_are_never_lost(
    tmp_path: Path, old: BPEModel, new: BPEModel, entry: str, is_ours: bool
) -> None:
    folder = tmp_path / "t"
    if is_ours:
        save_folder(old, folder, {"x": 1})
        if entry == "merges.txt/":
            (folder / "merges.txt").unlink()
    foreign = folder / entry
    if entry.endswith("/"):
        foreign.mkdir(parents=True)
    else:
        folder.mkdir(exist_ok=True)
        foreign.write_bytes(b"mine")
    before = names(folder)
    for refused in (lambda: check_folder(folder), lambda: save_folder(new, folder)):
        with pytest.raises(OutputError, match=r"holds other files \(.*--force") as caught:
            refused()
        assert entry.rstrip("/") in str(caught.value)
    assert names(folder) == before
    check_folder(folder, force=True)
    if entry == "merges.txt/":  # a folder in the way of a file
        with pytest.raises(OutputError, match="cannot be written"):
            save_folder(new, folder, force=True)
        assert foreign.is_dir()
        return
    save_folder(new, folder, force=True)
    assert names(folder) == sorted([*FILES, entry.rstrip("/")])  # the old report is gone
    assert foreign.is_dir() or foreign.read_bytes() == b"mine"
    assert facts(load_model(folder)) == facts(new)


def test_files_of_our_names_without_settings_are_somebody_elses(tmp_path: Path, new: BPEModel) -> None:
    (tmp_path / "report.json").write_text("mine", "utf-8")
    (tmp_path / "vocab.json").write_text("theirs", "utf-8")
    with pytest.raises(OutputError, match=r"is not empty and holds no bpenb.json"):
        save_folder(new, tmp_path)
    save_folder(new, tmp_path, force=True)
    assert (tmp_path / "report.json").read_text("utf-8") == "mine"
    assert facts(load_model(tmp_path)) == facts(new)


def test_a_file_and_a_parent_that_is_one(tmp_path: Path, new: BPEModel) -> None:
    (tmp_path / "f").write_bytes(b"mine")
    for force in (True, False):
        with pytest.raises(OutputError, match="is a file; a tokenizer is saved as a folder"):
            save_folder(new, tmp_path / "f", force=force)
        with pytest.raises(OutputError):
            save_folder(new, tmp_path / "f" / "t", force=force)
    assert (tmp_path / "f").read_bytes() == b"mine"


def test_a_link_stays_a_link(tmp_path: Path, old: BPEModel, new: BPEModel) -> None:
    save_folder(old, tmp_path / "real")
    try:
        (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    except OSError:
        return  # Windows, without the right to make one
    save_folder(new, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert facts(load_model(tmp_path / "real")) == facts(new)


def test_the_current_folder(
    tmp_path: Path, old: BPEModel, new: BPEModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_folder(old, tmp_path / "t")
    monkeypatch.chdir(tmp_path / "t")
    save_folder(new, ".")
    assert names(Path()) == FILES  # still the folder that we are in
    assert facts(load_model(".")) == facts(new)
    assert names(tmp_path) == ["t"]


# --- crashes --------------------------------------------------------------------------------------


class Crash(BaseException):
    """What ends the process: nothing after it runs in the tests below."""


def test_a_crash_at_any_step_leaves_the_old_or_the_new(
    tmp_path: Path, old: BPEModel, new: BPEModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every call that changes the disk is made to crash, before it or after it; then a new run goes on."""
    for how in ("before", "after"):
        for step in range(40):
            folder = tmp_path / f"{how}{step}" / "t"
            save_folder(old, folder)
            crashed = crash_at(step, how, monkeypatch, lambda folder=folder: save_folder(new, folder))
            found = facts(load_model(folder))
            assert found in (facts(old), facts(new)), (how, step)
            save_folder(new, folder)
            assert facts(load_model(folder)) == facts(new)
            assert not (folder.parent / ".t.old").exists()
            if not crashed:
                break
        assert step > 10


def crash_at(step: int, how: str, monkeypatch: pytest.MonkeyPatch, action: Any) -> bool:
    """Run an action whose nth change to the disk crashes, and all later ones too; tell whether it did."""
    count = 0

    def crashing(original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count > step + 1 or (count == step + 1 and how == "before"):
                raise Crash
            result = original(*args, **kwargs)
            if count == step + 1:
                if hasattr(result, "close"):
                    result.close()
                raise Crash
            return result

        return call

    with monkeypatch.context() as patch:
        for name in ("mkdir", "rename", "replace", "open", "unlink"):
            patch.setattr(Path, name, crashing(getattr(Path, name)))
        patch.setattr(replacing.os, "fsync", crashing(os.fsync))
        patch.setattr(replacing.shutil, "rmtree", crashing(replacing.shutil.rmtree))
        try:
            action()
        except Crash:
            return True
    return False


def test_an_error_puts_the_old_one_back(
    tmp_path: Path, old: BPEModel, new: BPEModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_folder(old, tmp_path / "t")
    replace = Path.replace

    def failing(self: Path, target: Path) -> Path:
        if self.name.endswith(".part"):
            raise OSError(28, "No space left on device")
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", failing)
        with pytest.raises(OutputError, match="cannot be written: No space left on device"):
            save_folder(new, tmp_path / "t")
    assert names(tmp_path) == ["t"]
    assert facts(load_model(tmp_path / "t")) == facts(old)


def test_a_folder_that_cannot_move_is_written_file_by_file(
    tmp_path: Path, old: BPEModel, new: BPEModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(self: Path, target: Path) -> Path:
        raise OSError(16, "Device or resource busy")

    save_folder(old, tmp_path / "t", {"x": 1})
    monkeypatch.setattr(Path, "rename", busy)
    save_folder(new, tmp_path / "t")
    assert names(tmp_path / "t") == FILES
    assert names(tmp_path) == ["t"]
    assert facts(load_model(tmp_path / "t")) == facts(new)


def test_a_parent_that_must_not_be_written(
    tmp_path: Path, old: BPEModel, new: BPEModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_folder(old, tmp_path / "t")
    mkdir = Path.mkdir

    def refusing(self: Path, *args: Any, **kwargs: Any) -> None:
        if self.name.endswith(".part"):
            raise PermissionError(13, "Permission denied")
        mkdir(self, *args, **kwargs)

    monkeypatch.setattr(Path, "mkdir", refusing)
    save_folder(new, tmp_path / "t")
    assert facts(load_model(tmp_path / "t")) == facts(new)


def test_somebody_elses_folder_of_the_backups_name(tmp_path: Path, old: BPEModel, new: BPEModel) -> None:
    (tmp_path / ".t.old").mkdir()
    (tmp_path / ".t.old" / "mine").write_bytes(b"mine")
    with pytest.raises(FormatError, match="there is no such file or folder"):
        load_model(tmp_path / "t")
    for model in (old, new):
        save_folder(model, tmp_path / "t")
        assert facts(load_model(tmp_path / "t")) == facts(model)
    assert names(tmp_path / ".t.old") == ["mine"]


# --- reading --------------------------------------------------------------------------------------


def test_paths_that_hold_no_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"")
    (tmp_path / "a.json").write_bytes(b"{}")
    for name, message in [
        ("missing", "there is no such file or folder"),
        ("", "holds no tokenizer: there is no bpenb.json, tokenizer.json, or vocab.json with merges.txt"),
        ("a.txt", "not a tokenizer: must be a folder, a .json or a .tiktoken file"),
        ("a.json", "not a tokenizer.json: it has no object `model`"),
    ]:
        with pytest.raises(FormatError, match=message):
            load_model(tmp_path / name)
    with pytest.raises(TypeError):
        load_model(7)  # type: ignore[arg-type]


def test_folders_of_others(tmp_path: Path, new: BPEModel) -> None:
    save_folder(new, tmp_path / "t")
    (tmp_path / "t" / "bpenb.json").unlink()
    assert facts(load_model(tmp_path / "t"), *FROM_A_FILE) == facts(new, *FROM_A_FILE)
    (tmp_path / "t" / "tokenizer.json").unlink()
    model = load_model(tmp_path / "t", pattern="cl100k")
    assert model.merge_pairs() == new.merge_pairs()
    assert (model.pattern.name, model.special_tokens) == ("cl100k", {})
    assert load_model(tmp_path / "t").pattern.name == "gpt2"


def test_vocab_json_under_a_longer_name(test_data: Path) -> None:
    assert load_model(test_data / "gpt2_vocab.json").n_merges == 50000


def test_a_pattern_that_contradicts_the_file(tmp_path: Path, new: BPEModel) -> None:
    save_folder(new, tmp_path)
    for name in ("", "tokenizer.json", "tokenizer.tiktoken", "vocab.json"):
        assert load_model(tmp_path / name, pattern="llama3").pattern.name == "cl100k"  # the same regex
        with pytest.raises(FormatError, match="its split pattern is 'cl100k', not 'gpt2'"):
            load_model(tmp_path / name, pattern="gpt2")
    with pytest.raises(PatternError):
        load_model(tmp_path, pattern="gpt9")


def changed(folder: Path, key: str, value: Any) -> None:
    top = json.loads((folder / "bpenb.json").read_text("utf-8"))
    *keys, last = [int(part) if part.isdigit() else part for part in key.split("/")]
    row = top
    for part in keys:
        row = row[part]
    row[last] = value
    (folder / "bpenb.json").write_text(json.dumps(top), "utf-8")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", "else", "bpenb.json: format must be 'bpenb tokenizer', not 'else'"),
        (
            "format_version",
            3,
            r"bpenb.json: format version 3 is not known to .*, which reads versions 1 to 2",
        ),
        ("format_version", "1", "bpenb.json: format_version must be an integer, not '1'"),
        ("format_version", True, "format_version must be an integer"),
        ("pattern", "gpt2", "pattern must be an object"),
        ("pattern/regex", None, "pattern.regex must be a string"),
        ("pattern/name", 7, "pattern.name must be a string"),
        ("pattern/regex", "(a", "bpenb.json: pattern .* does not compile"),
        ("ties", None, "ties must be a string"),
        ("engine", 1, "engine must be a string"),
        ("unicode_version", 16.0, "unicode_version must be a string"),
        ("n_vocab", -1, "n_vocab must not be negative"),
        ("n_vocab", 260, "vocab.json: n_vocab is 263, but 260 in bpenb.json: cut short, or of another"),
        ("n_merges", 7, "merges.txt: n_merges is 5, but 7 in bpenb.json"),
        ("special_tokens", {}, "special_tokens must be an array"),
        ("special_tokens/0", EOT, r"special_tokens\[0\] must be an object"),
        ("special_tokens/0/token", 5, r"special_tokens\[0\].token must be a string"),
        ("special_tokens/0/id", "5", r"special_tokens\[0\].id must be an integer"),
        ("special_tokens/0/id", 5, r"vocab.json: special token .* has id 261, but 5 in bpenb.json"),
        ("special_tokens/0/token", "</s>", r"vocab.json: special token '</s>' has id none, but 261"),
        ("special_tokens/0/token", "<s>", r"special_tokens\[1\]: the token '<s>' once more"),
    ],
)
def test_damaged_settings(tmp_path: Path, new: BPEModel, key: str, value: Any, message: str) -> None:
    save_folder(new, tmp_path)
    changed(tmp_path, key, value)
    with pytest.raises(FormatError, match=message) as caught:
        load_model(tmp_path)
    assert str(caught.value).startswith(str(tmp_path))


def test_files_cut_short_or_missing(tmp_path: Path, new: BPEModel) -> None:
    save_folder(new, tmp_path / "t")
    merges = tmp_path / "t" / "merges.txt"
    merges.write_bytes(b"\n".join(merges.read_bytes().split(b"\n")[:-2]) + b"\n")
    with pytest.raises(FormatError, match=r"merges.txt: n_merges is 4, but 5 in bpenb.json"):
        load_model(tmp_path / "t")
    merges.unlink()
    with pytest.raises(FormatError, match=r"merges.txt: cannot be read"):
        load_model(tmp_path / "t")


def test_a_regex_that_another_version_names(tmp_path: Path, new: BPEModel) -> None:
    save_folder(new, tmp_path)
    changed(tmp_path, "pattern/name", "of_tomorrow")
    assert load_model(tmp_path).pattern.name == "cl100k"
    changed(tmp_path, "pattern", {"name": "gpt2", "regex": r"\d+|\D"})
    assert (load_model(tmp_path).pattern.name, load_model(tmp_path).pattern.regex) == (None, r"\d+|\D")


def test_pickle_is_never_read(tmp_path: Path) -> None:
    import ast

    sources = Path(bpenb.__file__).parent.joinpath("formats").glob("*.py")
    imported = [
        alias.name for source in sources for node in ast.walk(ast.parse(source.read_text("utf-8")))
        if isinstance(node, ast.Import) for alias in node.names
    ]  # fmt: skip
    assert "json" in imported
    assert not {"pickle", "marshal", "shelve"} & set(imported)
