"""The command line of the benchmarks.

python -m benchmarks                  measure, keep the results, show the tables
python -m benchmarks --shell --readme the same with whole processes, and the tables go into README.md
python -m benchmarks encoding         the same for encoding, and its floors
python -m benchmarks scaling          1…N workers
python -m benchmarks table            results that were kept → README.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bpenb._workers import available_workers

from benchmarks import encoding_runner, encoding_tables, readme_table, results
from benchmarks.corpora import Corpus, CorpusMissingError, corpora_folder, find_corpora
from benchmarks.encoding_runner import EncodingRunner, EncodingSettings
from benchmarks.floors import floors
from benchmarks.gates import Gate
from benchmarks.peers import ENCODERS, OURS, PEERS, peer_python, versions
from benchmarks.runner import TASKS, Runner, Settings, scratch_folder
from benchmarks.scaling import measure_scaling
from benchmarks.vocabs import find_vocab, vocabs_folder

COMMANDS = ("run", "encoding", "scaling", "table")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure (what is done if no command is named)")
    encoding = commands.add_parser("encoding", help="measure encoding")
    scaling = commands.add_parser("scaling", help="1…N workers")
    for command in (run, encoding, scaling):
        command.add_argument("--corpora", type=Path, metavar="FOLDER", help="of the corpora's files")
        command.add_argument("--corpus", action="append", default=[], help="a name or a path; again for more")
        command.add_argument("--repeat", type=int, default=3)
        command.add_argument("--out", type=Path, help="the file for the results")
    run.add_argument("--task", action="append", choices=TASKS, help="default: all but shell")
    run.add_argument("--shell", action="store_true", help="whole processes of `bpenb train` and others, too")
    run.add_argument("--library", action="append", choices=OURS + PEERS, help="default: those of the task")
    encoding.add_argument("--task", action="append", choices=encoding_runner.TASKS, help="default: all")
    encoding.add_argument("--library", action="append", choices=ENCODERS, help="default: those of the task")
    encoding.add_argument("--vocabs", type=Path, metavar="FOLDER", help="of gpt2.tiktoken and others")
    encoding.add_argument("--scale", type=float, default=1, help="of the large files; to try things out")
    for command in (run, encoding):
        command.add_argument(
            "--peer-python", type=Path, metavar="PATH", help="of an environment with the peers"
        )
        command.add_argument("--workers", type=int, help="for all libraries; default: all processors")
        command.add_argument("--gate-mb", type=float, default=4, help="of each corpus, checked before timing")
        command.add_argument("--readme", action="store_true", help="write the tables into README.md")
    encoding.add_argument("--minutes", type=float, default=EncodingSettings.minutes, help="0: no limit")
    run.add_argument("--once-above", type=float, default=Settings.once_above, metavar="SECONDS")
    run.add_argument(
        "--skip-above", type=float, default=Settings.skip_above, metavar="SECONDS", help="0: never"
    )
    run.add_argument("--minutes", type=float, default=Settings.minutes, help="for everything; 0: no limit")
    scaling.add_argument("--workers", help="default: 1,2,…, all processors")
    table = commands.add_parser("table", help="write README.md from kept results")
    table.add_argument("files", nargs="*", type=Path, help="default: the newest of each kind")
    return parser


def run(options: argparse.Namespace) -> int:
    folder = corpora_folder(options.corpora)
    corpora = find_corpora(options.corpus, folder)
    pythons, found = _environments(options, folder)
    settings = Settings(
        pythons=pythons,
        repeat=options.repeat,
        workers=options.workers,
        once_above=options.once_above,
        skip_above=options.skip_above,
        minutes=options.minutes,
        gate_bytes=int(options.gate_mb * 1e6),
    )
    tasks = options.task or [name for name in TASKS if name != "shell" or options.shell]
    with scratch_folder() as scratch:
        runner = Runner(settings, Path(scratch))
        try:
            runner.run(_groups(tasks, corpora, everywhere=bool(options.corpus)), options.library)
        finally:  # Ctrl-C keeps what is there
            runner.check_whole_corpora()
            kept = results.results_of(runner, corpora, found)
            path = results.save(kept, options.out)
    print(readme_table.tables(kept))
    return _finish(runner.gates, path, options.readme)


def _finish(gates: Sequence[Gate], path: Path, readme: bool) -> int:
    """Say where results are kept and what was not equal; write README.md if all was; return the exit code."""
    print(f"\nkept in {path}", file=sys.stderr)
    wrong = [gate for gate in gates if not gate.equal]
    if readme and not wrong:
        readme_table.write_readme(_newest(path))
    for gate in wrong:
        print(f"NOT EQUAL: {gate.corpus}, {gate.library}, {gate.result}: {gate.why}", file=sys.stderr)
    return 1 if wrong else 0


def _newest(*first: Path) -> list[Path]:
    """Return these results, and the newest of each other kind that a README shows."""
    newest = [path for kind in readme_table.KINDS if (path := results.newest(kind))]
    return [*newest, *first]  # of two of a kind the later one counts


def encoding(options: argparse.Namespace) -> int:
    folder = corpora_folder(options.corpora)
    corpora = find_corpora(options.corpus, folder)
    vocabs = vocabs_folder(options.vocabs, options.corpora)
    asked = options.library or ENCODERS
    tasks = options.task or list(encoding_runner.TASKS)
    for vocab in {encoding_runner.TASKS[name].vocab for name in tasks} | {"gpt2"}:
        find_vocab(vocab, vocabs)
    pythons = {"bpenb": Path(sys.executable)}  # gates need it, whatever is asked for
    if set(asked) - {"bpenb"}:
        python = peer_python(options.peer_python, folder / "peers-venv")
        pythons |= {library: python for library in ENCODERS[1:] if library in asked}
    found = _that_start(pythons, encoding_runner.CHILD)
    settings = EncodingSettings(
        pythons={library: pythons[library] for library in found},
        vocabs=vocabs,
        repeat=options.repeat,
        workers=options.workers,
        minutes=options.minutes,
        gate_bytes=int(options.gate_mb * 1e6),
        scale=options.scale,
    )
    with scratch_folder() as scratch:
        runner = EncodingRunner(settings, Path(scratch))
        try:
            runner.run(tasks, corpora, options.library, everywhere=bool(options.corpus))
        finally:  # Ctrl-C keeps what is there
            runner.check_whole_corpora()
            kept = results.results_of(runner, corpora, found, "encoding")
            path = results.save(kept, options.out)
    print(encoding_tables.encoding_tables(kept), end="\n\n")
    print(*floors(kept), sep="\n")
    return _finish(runner.gates, path, options.readme)


def _environments(options: argparse.Namespace, folder: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """Return the interpreter and the version of each library that was asked for and starts."""
    asked = OURS + PEERS if options.library is None else ("bpenb", *options.library)  # gates need bpenb
    pythons = {library: Path(sys.executable) for library in OURS if library in asked}
    if set(asked) & set(PEERS):
        python = peer_python(options.peer_python, folder / "peers-venv")
        pythons |= {library: python for library in PEERS if library in asked}
    found = _that_start(pythons, "benchmarks.child")
    return {library: pythons[library] for library in found}, found


def _that_start(pythons: dict[str, Path], module: str) -> dict[str, str]:
    """Return the versions of the libraries that start, and say which do not."""
    found, missing = versions(pythons, module)
    for library, why in missing.items():
        print(f"{library} does not start and is left out: {why}", file=sys.stderr)
    if "bpenb" in missing:
        raise SystemExit(2)
    return found


def _groups(tasks: Sequence[str], corpora: Sequence[Corpus], everywhere: bool) -> list[tuple[str, Corpus]]:
    """Return each task with each corpus that it is for; a corpus that was asked for is for all."""
    return [
        (name, corpus)
        for name in tasks
        for corpus in corpora
        if everywhere or not TASKS[name].corpora or corpus.name in TASKS[name].corpora
    ]


def scaling(options: argparse.Namespace) -> int:
    corpora = find_corpora(options.corpus, corpora_folder(options.corpora))
    workers = [int(n) for n in options.workers.split(",")] if options.workers else _up_to(available_workers())
    pythons = {"bpenb": Path(sys.executable)}
    found, _ = versions(pythons)
    with scratch_folder() as scratch:
        runner = Runner(Settings(pythons, options.repeat), Path(scratch))
        rows = measure_scaling(runner, corpora, workers)
    kept = results.header("scaling", corpora, found) | {"rows": rows}
    print(readme_table.scaling_table(kept))
    print(f"\nkept in {results.save(kept, options.out)}", file=sys.stderr)
    return 0


def table(options: argparse.Namespace) -> int:
    files = options.files or _newest()
    changed = readme_table.write_readme(files)
    print("README.md " + ("is written" if changed else "has these figures already"), file=sys.stderr)
    return 0


def _up_to(n: int) -> list[int]:
    return list(range(1, n + 1))


def main(arguments: Sequence[str]) -> int:
    if not arguments or (arguments[0] not in COMMANDS and arguments[0] not in ("-h", "--help")):
        arguments = ["run", *arguments]
    options = _parser().parse_args(arguments)
    try:
        commands = {"run": run, "encoding": encoding, "scaling": scaling, "table": table}
        return commands[options.command](options)
    except CorpusMissingError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
