"""Counting files and documents: the same words whatever the workers, the tasks and the start method."""

from __future__ import annotations

import multiprocessing
import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from bpenb.corpus import CutFinder, SpecialScanner, batch_documents
from bpenb.counting import CountSettings, Workforce, count_documents, count_files, in_processes, two_ways
from bpenb.errors import BpenbError, CorpusError, InvalidUtf8Error, PatternError, WorkerError
from bpenb.patterns import resolve_pattern
from bpenb.pretokenize import DocumentBatch, RangeBatch, regex_unicode_version
from bpenb.progress import Progress, Reporter
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.word_counter import count_words

METHODS = [m for m in ("forkserver", "spawn") if m in multiprocessing.get_all_start_methods()]
SPECIALS = ("<s>", "aba")


class Way:
    """One of the ways to count: which engine, and where it runs."""

    def __init__(self, engine: str, pool: str) -> None:
        self.engine, self.pool = engine, pool

    def settings(
        self, pattern: str = "gpt2", specials: tuple[str, ...] = SPECIALS, errors: str = "strict"
    ) -> CountSettings:
        resolved = resolve_pattern(pattern)
        engine = self.engine if resolved.name else "auto"
        return CountSettings(resolved, specials, errors, engine)  # type: ignore[arg-type]

    def crew(self, workers: int | None = None, **options: object) -> Workforce:
        """Workers of this way; processes start however small the input."""
        return Workforce(workers, self.pool, **{"small_input": 0, **options})  # type: ignore[arg-type]


REGEX = Way("regex", "auto")
THREADS = Way("compiled", "auto")
PROCESSES = Way("compiled", "processes")
WAYS = [REGEX, THREADS, PROCESSES]


@pytest.fixture(params=WAYS, ids=["regex", "threads", "processes"])
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


def random_text(n_characters: int, seed: int = 0) -> bytes:
    """Text of all kinds: words, marks, Chinese, whitespace of every sort, special tokens."""
    choose = random.Random(seed)
    parts = ["the", "cat", "'s", "x", "1234", "!", "/", "中文", "é", "e\u0301", "<s>", "aba", "ba", "\ufeff"]
    parts += ["\0", " ", " ", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000"]
    return "".join(choose.choices(parts, k=n_characters)).encode()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("corpus")
    contents = [random_text(20_000), b"", random_text(300, 1), b"ab" * 3_000, " 我喜欢猫".encode() * 500]
    paths = []
    for number, content in enumerate(contents):
        paths.append(folder / f"{number}.txt")
        paths[-1].write_bytes(content)
    return paths


def expected(paths: list[Path], pattern: str) -> dict[bytes, int]:
    return count_words([path.read_bytes() for path in paths], resolve_pattern(pattern).regex, SPECIALS)


# --- always the same words ------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k", "whitespace", r"\w+|[^\w\s]"])
def test_words_equal_the_oracle(way: Way, pattern: str, corpus: list[Path]) -> None:
    result = count_files(corpus, way.settings(pattern))
    assert result.counts.to_dict() == expected(corpus, pattern)
    assert result.n_bytes == sum(path.stat().st_size for path in corpus)
    assert result.counts.pattern == resolve_pattern(pattern)
    assert result.counts.special_tokens == SPECIALS
    compiled = way.settings(pattern).is_compiled
    assert result.counts.engine == ("compiled" if compiled else "regex")
    assert result.counts.unicode_version == ("16.0.0" if compiled else regex_unicode_version())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("way", "workers", "task_bytes"),
    [
        *(
            (way, *work)
            for way in (REGEX, THREADS)
            for work in ((1, 1), (1, 777), (2, 100), (3, 5_000), (4, 1 << 20))
        ),
        (PROCESSES, 2, 3_000),  # each process loads the kernels: slow to start
        (PROCESSES, 3, 1 << 20),
    ],
)
def test_workers_tasks_and_start_method_change_nothing(
    way: Way, method: str, workers: int, task_bytes: int, corpus: list[Path]
) -> None:
    whole = count_files(corpus, way.settings(), way.crew(1))
    crew = way.crew(workers, task_bytes=task_bytes, start_method=method)
    result = count_files(corpus, way.settings(), crew)
    assert result.counts.equals(whole.counts)
    assert (result.workers_peak_rss_bytes > 0) == (workers > 1 and way is not THREADS)
    documents = [path.read_bytes() for path in corpus]
    counted = count_documents(documents, way.settings(), crew)
    assert counted.counts.equals(whole.counts)


@given(
    st.sampled_from([REGEX, THREADS]),
    st.sampled_from(["gpt2", "cl100k", "o200k", r"\w+"]),
    st.lists(st.sampled_from(["a", "b", " ", "\n", "<s>", "!", "/", "中", "'s", "\u3000"]), max_size=60),
    st.integers(1, 30),
)
def test_documents_equal_the_oracle_for_any_task_size(
    way: Way, pattern: str, characters: list[str], task_bytes: int
) -> None:
    document = "".join(characters)
    documents = [document, "", document[::2], document[:7]]
    result = count_documents(documents, way.settings(pattern), way.crew(1, task_bytes=task_bytes))
    encoded = [text.encode() for text in documents]
    assert result.counts.to_dict() == count_words(encoded, resolve_pattern(pattern).regex, SPECIALS)
    assert result.n_bytes == sum(map(len, encoded))


def test_the_order_of_files_changes_nothing(way: Way, corpus: list[Path]) -> None:
    assert count_files(corpus[::-1], way.settings()).counts.equals(count_files(corpus, way.settings()).counts)


def test_files_are_separate_documents(way: Way, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "b").write_bytes(b"two")
    assert count_files([tmp_path / "a", tmp_path / "b"], way.settings()).counts.to_dict() == {
        b"one": 1,
        b"two": 1,
    }


@pytest.mark.parametrize("content", [b"", b" \n ", b"<s>", b"<s><s>"])
def test_hardly_any_text(way: Way, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(content)
    words = count_words([content], resolve_pattern("gpt2").regex, SPECIALS)
    assert count_files(path, way.settings()).counts.to_dict() == words
    assert count_files(path, way.settings(), way.crew(2)).counts.to_dict() == words
    assert len(count_documents([], way.settings()).counts) == 0


def test_very_long_pretokens_and_lines(way: Way, tmp_path: Path) -> None:
    path = tmp_path / "genome"
    path.write_bytes(b"ACGT" * 500_000 + b" " + b"x y " * 500_000)
    counts = count_files(path, way.settings(), way.crew(2, task_bytes=100_000)).counts
    assert counts.to_dict() == {b"ACGT" * 500_000: 1, b" x": 500_000, b" y": 500_000, b" ": 1}


def test_a_pretoken_of_50_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "genome"
    long = b"ACGT" * 12_500_000
    path.write_bytes(long + b" and " + long[:-1])
    counts = count_files(path, THREADS.settings()).counts
    assert counts.word_counts.tolist() == [1, 1, 1]
    assert counts.word_bytes.tobytes() == b" " + long[:-1] + b" and" + long


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe(way: Way, tmp_path: Path) -> None:
    path, data = tmp_path / "pipe", random_text(3_000)
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    result = count_files(path, way.settings(), way.crew(2, task_bytes=1_000))
    writer.join()
    assert result.counts.to_dict() == count_words([data], resolve_pattern("gpt2").regex, SPECIALS)


def test_reference_corpus(way: Way, test_data: Path) -> None:
    path = test_data / "corpus.en"
    words = count_words([path.read_bytes()], resolve_pattern("gpt2").regex, ("<|endoftext|>",))
    settings = way.settings("gpt2", ("<|endoftext|>",))
    assert count_files(path, settings).counts.to_dict() == words
    assert count_files(path, settings, way.crew(2, task_bytes=9_999)).counts.to_dict() == words


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_invalid_utf8_has_its_place_in_the_file(way: Way, workers: int, tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    head = random_text(4_000)
    path.write_bytes(head + b" x\xe4\xb8 y \xff")
    with pytest.raises(InvalidUtf8Error) as caught:
        count_files(path, way.settings(), way.crew(workers, task_bytes=500))
    assert (caught.value.source, caught.value.offset) == (str(path), len(head) + 2)


@pytest.mark.parametrize("workers", [1, 2])
def test_invalid_utf8_is_replaced_alike_for_every_task_size(way: Way, workers: int, tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    choose = random.Random(5)
    bits = [b"a", b" ", b"\xe4", b"\xe4\xb8", b"\x80", b"\xff", b"\n", b"<s>", b"\xf0\x9f", b"\xe2\x80\x80"]
    data = b"".join(choose.choices(bits, k=2_000))
    path.write_bytes(data)
    words = count_words([data], resolve_pattern("gpt2").regex, SPECIALS, errors="replace")
    for task_bytes in (3, 50, 10_000):
        settings = way.settings(errors="replace")
        result = count_files(path, settings, way.crew(workers, task_bytes=task_bytes))
        assert result.counts.to_dict() == words


@pytest.mark.parametrize("workers", [1, 2])
def test_the_document_that_is_wrong_is_named(way: Way, workers: int) -> None:
    documents = [b"fine"] * 7 + [b"x" * 3_000 + b" " + b"y" * 3_000 + b"\xff"] + [b"fine"] * 5
    with pytest.raises(InvalidUtf8Error, match=r"document 7: byte 6001 "):
        count_documents(documents, way.settings(), way.crew(workers, task_bytes=1_000))
    with pytest.raises(CorpusError, match=r"document 1: lone surrogate U\+DC80 at character 0"):
        count_documents(["a", "\udc80"], way.settings(), way.crew(workers))


@pytest.mark.parametrize("workers", [1, 2])
def test_errors_of_the_users_iterator_reach_the_user(way: Way, workers: int) -> None:
    def documents() -> Iterator[str]:
        yield from ["some text"] * 50
        raise LookupError("the user's own")

    with pytest.raises(LookupError, match="the user's own"):
        count_documents(documents(), way.settings(), way.crew(workers, task_bytes=20))
    with pytest.raises(TypeError, match="document 1"):
        count_documents(["a", 3], way.settings(), way.crew(workers))  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("way", "most"),
    [
        pytest.param(REGEX, 4 + 2, id="regex"),  # two tasks per worker, one in hand, one to begin with
        pytest.param(THREADS, 3 + 2, id="threads"),  # three buffers of one document, two in hand
    ],
)
def test_documents_are_read_lazily(way: Way, most: int) -> None:
    n_given, n_done = 0, 0

    def documents() -> Iterator[bytes]:
        nonlocal n_given
        for _ in range(200):
            assert n_given - n_done <= most
            n_given += 1
            yield b"x" * 1_000

    def told(progress: Progress) -> None:
        nonlocal n_done
        n_done = progress.done // 1_000

    reporter = Reporter(told)
    reporter.INTERVAL = 0.0
    count_documents(documents(), way.settings(), way.crew(2, task_bytes=1_000), reporter)
    assert n_done == 200


def test_a_worker_that_dies_names_its_files(corpus: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    way = REGEX
    from tests.pretokenize import pool_jobs

    monkeypatch.setattr(two_ways, "WordCountJob", lambda *_: pool_jobs.die)
    # Both workers die; which death is seen first is a race, and each names the task it had.
    with pytest.raises(WorkerError, match=r"0\.txt \(bytes \d+ to \d+\): .*exit code 9"):
        count_files(corpus, way.settings(), way.crew(2, task_bytes=1_000))


# --- how it goes about it -------------------------------------------------------------------------


def test_small_inputs_start_no_process(corpus: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_processes, "WorkerPool", None)
    count_files(corpus, REGEX.settings(), Workforce(4))
    count_documents(["a"] * 100, REGEX.settings(), Workforce(4))
    count_files(corpus, REGEX.settings(), REGEX.crew(1))
    with pytest.raises(TypeError):
        count_files(corpus, REGEX.settings(), REGEX.crew(2))


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_is_reported_in_bytes(way: Way, corpus: list[Path], workers: int) -> None:
    reports: list[Progress] = []
    reporter = Reporter(reports.append)
    reporter.INTERVAL = 0.0
    result = count_files(corpus, way.settings(), way.crew(workers, task_bytes=500), reporter)
    assert [report.phase for report in reports] == ["count"] * len(reports)
    assert reports[0].total == result.n_bytes
    assert [report.done for report in reports] == sorted(report.done for report in reports)
    assert reports[-1].done == result.n_bytes
    assert reports[-1].details == {"words": len(result.counts), "pretokens": result.counts.n_pretokens}
    if workers == 1:  # of two, the one that does not report may have taken all buffers
        assert len(reports) > 10


def test_a_daemonic_process_counts_alone(corpus: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    class Daemon:
        daemon = True

    monkeypatch.setattr(in_processes.multiprocessing, "current_process", Daemon)
    monkeypatch.setattr(in_processes, "WorkerPool", None)
    count_files(corpus, REGEX.settings(), REGEX.crew(4))


def test_small_files_share_a_task_and_large_documents_are_cut() -> None:
    finder = CutFinder(resolve_pattern("gpt2"), SpecialScanner(()))
    documents = [b"a", b"bc", b"one two three four", b"d"]
    tasks = list(in_processes.document_tasks(batch_documents(documents, 5), finder, 5))
    assert [type(task) for task in tasks] == [
        DocumentBatch,
        RangeBatch,
        RangeBatch,
        RangeBatch,
        DocumentBatch,
    ]
    assert [str(task) for task in tasks] == [
        "documents 0 to 1",
        "document 2 (bytes 0 to 7)",
        "document 2 (bytes 7 to 13)",
        "document 2 (bytes 13 to 18)",
        "document 3",
    ]
    assert [data for task in tasks for data, _, _ in task.texts()] == [
        b"a", b"bc", b"one two", b" three", b" four", b"d",
    ]  # fmt: skip
    ranges = [task.ranges[0] for task in tasks if isinstance(task, RangeBatch)]
    assert [str(task) for task in in_processes.range_tasks(ranges, 10)] == [
        "document 2 (bytes 0 to 7) and 1 more",
        "document 2 (bytes 13 to 18)",
    ]


# --- settings -------------------------------------------------------------------------------------


def test_bad_settings() -> None:
    gpt2, custom = resolve_pattern("gpt2"), resolve_pattern(r"\w+|\W")
    with pytest.raises(PatternError, match="no compiled engine for the pattern"):
        CountSettings(custom, (), engine="compiled")
    with pytest.raises(BpenbError, match="engine is 'fast'; it must be one of auto, compiled, regex"):
        CountSettings(gpt2, (), engine="fast")  # type: ignore[arg-type]
    with pytest.raises(BpenbError, match="errors is 'ignore'"):
        CountSettings(gpt2, (), errors="ignore")  # type: ignore[arg-type]
    with pytest.raises(BpenbError, match="pool is 'fork'"):
        Workforce(pool="fork")  # type: ignore[arg-type]
    with pytest.raises(BpenbError, match="unit of work is 0 bytes"):
        Workforce(task_bytes=0)
    with pytest.raises(BpenbError, match="one thread at a time"):
        count_documents(["a"], CountSettings(custom, ()), Workforce(pool="threads"))
