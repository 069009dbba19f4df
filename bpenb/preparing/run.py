"""Making a dataset, phase by phase, and going on where a run was interrupted.

encode → documents → [buckets → shuffled] → splits → files complete → published, manifest last
         └─ every JOURNAL_SECONDS all is brought to the disk, and the journal says where we stand
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Any, NamedTuple

from bpenb.corpus import BadRows, Place, Source
from bpenb.dataset import Manifest, OutputPlan, SplitWriter, TokenLayout, model_digest, publish_dataset
from bpenb.encoding import EncodedText, Tokenizer
from bpenb.preparing.documents import DocumentFinder
from bpenb.preparing.earlier import layout_settings, remove_strays, shuffle_folder
from bpenb.preparing.encoding import encode_sources, with_progress
from bpenb.preparing.journal import Journal
from bpenb.preparing.settings import EncodeSettings
from bpenb.preparing.shuffle import Shuffler, n_buckets_for
from bpenb.preparing.splits import OneSplit, TwoSplits
from bpenb.preparing.stamps import check_stamps, take_stamps
from bpenb.progress import Reporter

__all__ = ["DatasetRun", "Job"]

JOURNAL_SECONDS = 10.0
_UNPACKED = 4  # times the bytes of a compressed file


class Job(NamedTuple):
    """What is to be made.

    Attributes:
        tokenizer: whose ids.
        sources: the inputs.
        inputs: of each what the manifest tells.
        settings, layout, plan: what decides the ids, how they lie in files, what those are called.
        workers: threads; None: all processors.
    """

    tokenizer: Tokenizer
    sources: Sequence[Source]
    inputs: Sequence[dict[str, Any]]
    settings: EncodeSettings
    layout: TokenLayout
    plan: OutputPlan
    workers: int | None


class DatasetRun:
    """One run: its parts, and the state of all of them."""

    def __init__(self, job: Job, journal: Journal | None, reporter: Reporter) -> None:
        self._job, self._journal, self._reporter = job, journal, reporter
        settings = job.settings
        self._bad_rows = BadRows(settings.inputs.skip_bad_rows)
        self._finder = DocumentFinder(
            settings.end_of_text(job.tokenizer), append=settings.append_eot, prepend=settings.prepend_eot
        )
        self._writers: dict[str, SplitWriter] = {}
        self._router: OneSplit | TwoSplits
        self._shuffler: Shuffler | None = None
        self._start: Place | None = None
        self._n_text_bytes = self._first_bucket = 0
        self._phase = "encode"
        self._stamps = take_stamps(job.sources)
        self._last_saved = time.monotonic()
        self._is_resumed = self._has_progress = False  # the journal tells of more than a beginning
        self._made_folder = False

    # --- what there is ------------------------------------------------------------------------------

    def open(self, state: dict[str, Any] | None) -> None:
        """Begin, or go on from a state of the journal."""
        job, settings = self._job, self._job.settings
        self._made_folder = job.plan.is_folder and not job.plan.path.exists()
        if state is not None:
            self._is_resumed = self._has_progress = True  # whatever happens now, that is kept
            self._stamps = [tuple(stamp) if stamp else None for stamp in state["stamps"]]
            check_stamps(
                job.sources,
                self._stamps,
                "since the interrupted run read it; start anew (force=True, --force)",
            )
        for split, plan in job.plan.splits.items():
            known = state["writers"][split] if state else None
            self._writers[split] = SplitWriter.reopen(known) if known else SplitWriter(plan, job.layout)
        if settings.val_fraction:
            train, val = self._writers["train"], self._writers["val"]
            self._router = TwoSplits(train, val, settings.val_fraction, settings.seed)
        else:
            self._router = OneSplit(self._writers["train"])
        if settings.shuffle and (state is None or state["phase"] != "publish"):
            n_buckets = state["n_buckets"] if state else self._n_buckets()
            dtype, known = job.tokenizer.encoder.tables.dtype, state["shuffler"] if state else None
            self._shuffler = Shuffler(shuffle_folder(job.plan), n_buckets, dtype, settings.seed, known)
        if state is None:
            self.save(None)  # it names the files that a kill would leave
            return
        self._phase, self._first_bucket = state["phase"], state["bucket"]
        self._start = Place(*state["place"]) if state["place"] else None
        self._n_text_bytes = state["n_text_bytes"]
        self._bad_rows.n_skipped, self._bad_rows.first = state["bad_rows"]
        self._finder.state = state["finder"]
        if isinstance(self._router, TwoSplits) and state["router"] is not None:
            self._router.state = state["router"]

    def _n_buckets(self) -> int:
        unpacked = sum(
            (source.n_bytes or 0) * (1 if source.kind.has_byte_ranges else _UNPACKED)
            for source in self._job.sources
        )
        id_bytes = unpacked // 2  # two bytes for each four of text, and as much again
        return n_buckets_for(id_bytes, self._job.settings.memory)

    def save(self, text: EncodedText | None, bucket: int = 0) -> None:
        """Bring all to the disk, and say in the journal where we stand: before a text, or bucket."""
        if self._journal is None:
            return
        shuffler = self._shuffler if self._phase != "publish" else None
        place = text.filled.place(0) if text is not None else None
        n_bad = text.filled.n_bad_rows if text is not None else self._bad_rows.n_skipped
        published = self._final_paths() if self._phase == "publish" else []
        self._journal.save(
            {
                "phase": self._phase,
                "bucket": bucket,
                "place": list(place) if place is not None else None,
                "n_text_bytes": self._n_text_bytes,
                # Those that were read ahead are met once more.
                "bad_rows": [n_bad, self._bad_rows.first if n_bad else ""],
                "finder": self._finder.state,
                "router": self._router.state,
                "n_buckets": shuffler.n_buckets if shuffler else 0,
                "shuffler": shuffler.sync() if shuffler else None,
                "writers": {split: writer.sync() for split, writer in self._writers.items()},
                "replaced": [str(path) for path in self._job.plan.replaced],
                "published": published,
                "stamps": self._stamps,
            }
        )
        self._last_saved = time.monotonic()
        self._has_progress = self._has_progress or place is not None or self._phase != "encode"

    def _final_paths(self) -> list[str]:
        """Return what the files will be called, once all of them are complete."""
        folder = self._job.plan.manifest.parent
        return [str(folder / file.name) for w in self._writers.values() for file in w.record().files]

    @property
    def _is_due(self) -> bool:
        return self._journal is not None and time.monotonic() - self._last_saved >= JOURNAL_SECONDS

    # --- phases -------------------------------------------------------------------------------------

    def run(self) -> Manifest:
        """Go through all phases."""
        if self._phase == "encode":
            self._encode()
        if self._shuffler is not None and self._phase == "shuffle":
            self._write_shuffled()
        return self._publish()

    def _encode(self) -> None:
        job = self._job
        encoded = encode_sources(
            job.tokenizer, job.sources, job.settings, job.workers, self._bad_rows, self._start, self._stamps
        )
        with closing(with_progress(encoded, job.sources, self._bad_rows, self._reporter)) as texts:
            for text in texts:
                if self._is_due and text.filled.n_ranges:
                    self.save(text)
                self._take(text)
        self._phase = "shuffle" if self._shuffler else "publish"
        if self._shuffler is not None:
            self._shuffler.finish()
        else:
            self._router.finish()

    def _take(self, text: EncodedText) -> None:
        (self._shuffler or self._router).write(self._finder.find(text))
        self._n_text_bytes += text.filled.n_bytes

    def _write_shuffled(self) -> None:
        assert self._shuffler is not None
        if self._first_bucket == 0:
            self.save(None)
        self._reporter.start("shuffle", self._shuffler.n_buckets, "buckets")
        for bucket, block in self._shuffler.blocks(self._first_bucket):
            self._router.write(block)
            if self._is_due:
                self.save(None, bucket + 1)
            self._reporter.update(bucket + 1)
        self._router.finish()
        self._phase = "publish"
        self._reporter.finish(self._shuffler.n_buckets)

    def _publish(self) -> Manifest:
        job = self._job
        for writer in self._writers.values():
            writer.complete()
        self.save(None)
        manifest = self._manifest()
        publish_dataset(job.plan, self._writers, manifest)
        self.clean_up()
        return manifest

    def _manifest(self) -> Manifest:
        job = self._job
        bad_rows = self._bad_rows
        counts = (
            {"bad_rows": bad_rows.n_skipped, "first_bad_row": bad_rows.first} if bad_rows.n_skipped else {}
        )
        return Manifest(
            tokenizer=model_digest(job.tokenizer.model),
            n_vocab=job.layout.n_vocab,
            format=job.layout.format,
            dtype=job.layout.dtype.str,
            splits={split: writer.record() for split, writer in self._writers.items()},
            text_bytes=self._n_text_bytes,
            seq_len=job.layout.seq_len,
            settings=job.settings.to_json() | counts | layout_settings(job.layout),
            inputs=tuple(job.inputs),
        )

    # --- the end ------------------------------------------------------------------------------------

    def clean_up(self) -> None:
        """Remove what only an interrupted run needs."""
        if self._shuffler is not None:
            self._shuffler.close()
        if self._is_resumed:
            remove_strays(self._job.plan)
        elif self._job.settings.shuffle:
            shutil.rmtree(shuffle_folder(self._job.plan), ignore_errors=True)
        if self._journal is not None:
            self._journal.remove()

    def abandon(self) -> bool:
        """After an error: keep what the journal knows of, if that is worth going on from; else remove all.

        Returns:
            Whether it is kept.
        """
        if self._has_progress:
            for writer in self._writers.values():
                writer.close()
            if self._shuffler is not None:
                self._shuffler.close()
            return True
        for writer in self._writers.values():
            writer.discard()
        self.clean_up()
        if self._made_folder:
            with suppress(OSError):  # somebody else put something there meanwhile
                self._job.plan.path.rmdir()
        return False
