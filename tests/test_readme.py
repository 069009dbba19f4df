"""What the README shows runs as it stands."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import bpenb
import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
TEXT = "low lower lowest<|endoftext|>newer wider été\n" * 50


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("corpus.txt", "file.txt", "large.txt", "part-1.txt", "part-2.txt"):
        Path(name).write_text(TEXT, encoding="utf-8")
    Path("corpus.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXT.split()))
    return tmp_path


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_python_examples_run(texts: Path) -> None:
    names: dict[str, object] = {"documents": ["low low", b"lower"], "long_text": TEXT, "texts": ["low", ""]}
    for block in _blocks("python"):
        exec(compile(block, "README.md", "exec"), names)
    vocab, merges = names["run_train_bpe"]("corpus.txt", 260, ["<|endoftext|>"])  # type: ignore[operator]
    assert names["get_tokenizer"](vocab, merges, ["<|endoftext|>"]).n_vocab == 260  # type: ignore[operator]


def test_the_shell_examples_are_commands_that_exist(texts: Path) -> None:
    """Each is run, but for the demo and the set-up lines (.ci/run runs those)."""
    from bpenb_cli.main import run

    lines = [line for block in _blocks("sh") for line in block.splitlines() if line.startswith("bpenb ")]
    assert len(lines) >= 6
    bpenb.train("corpus.txt", vocab_size=300).save("my-tokenizer")
    for line in lines:
        words = shlex.split(line.split("#")[0])[1:]
        if ">" in words:  # the redirection is the shell's; tests/cli has it
            name = words[-1]
            words = words[: words.index(">")]
            if words[0] == "encode":
                Path(name).touch()
                assert Path(words[1]).exists()
            continue
        files = [str(f) for w in words for f in (sorted(Path().glob(w)) if "*" in w else [w])]
        quiet = [] if files[:2] == ["dataset", "show"] or files[0] == "tokens" else ["--progress", "none"]
        assert run([*files, *quiet]) == 0, line
    shutil.rmtree("tokenizer")


def test_the_set_up_commands_are_found_by_ci() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    for command in ("bpenb demo", "pytest"):
        assert len(re.findall(rf"^pip install .* && {command}$", README, re.MULTILINE)) == 1
        assert f'readme "{command}"' in script


def test_generated_figures_have_their_place() -> None:
    assert README.index("<!-- bench:start -->") < README.index("<!-- bench:end -->")
