"""Shards of words in the workers of a Dask scheduler, as actors: the other file that knows Dask.

An actor is an object that stays in its worker, and whose methods are called there. One that is lost
is built again in another worker: `ask_all` of the training room asks for that, and brings it to where
it stood.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bpenb._arrays import ByteArray
from bpenb.cluster.merging import build_shard
from bpenb.errors import BpenbError, WorkerError
from bpenb.training import ShardLostError

__all__ = ["GONE", "DaskShards", "workers_of"]

GONE = "the scheduler went away; its log tells why"
_LOOK = 2.0  # seconds between two looks whether the worker that is asked is still there
_REACH = 2.0  # seconds to connect to a worker
_WAIT = 60.0  # seconds for another worker to come when there is none


class DaskShards:
    """The shards of a training, one actor each.

    Args:
        client: connected to the scheduler.
        paths: files of the words of each, seen by all workers.
        byte_order, n_merges: as of `WordShard`.
    """

    def __init__(self, client: Any, paths: Sequence[Path], byte_order: ByteArray, n_merges: int) -> None:
        self._client = client
        self._paths = paths
        self._given = (byte_order, n_merges)
        self._places: list[str | None] = [None] * len(paths)
        self._futures: list[Any] = [None] * len(paths)
        self._actors: list[Any] = [None] * len(paths)
        client.direct_to_workers = _can_reach(self.workers())  # else all goes by the scheduler: half as fast
        for shard in range(len(paths)):
            self._submit(shard)
        for shard in range(len(paths)):
            try:
                self._receive(shard)
            except ShardLostError:
                self.open(shard)

    def __len__(self) -> int:
        return len(self._paths)

    def open(self, shard: int) -> None:
        """Build a shard from its words, in the worker that has the fewest."""
        self._submit(shard)
        self._receive(shard)

    def ask(self, shard: int, method: str, *args: Any) -> Callable[[], Any]:
        """Call a method of a shard."""
        actor, place = self._actors[shard], self._places[shard]
        if actor is None:
            raise ShardLostError(f"shard {shard}")
        try:
            with self._client.as_current():  # an actor asks who its client is, once
                answer = getattr(actor, method)(*args)
        except RuntimeError as error:  # Dask knows already
            raise self._lost(shard, error) from error
        return lambda: self._wait(shard, place, answer)

    def __enter__(self) -> DaskShards:
        return self

    def __exit__(self, *what: object) -> None:
        """Let the workers forget their shards."""
        self._actors = [None] * len(self._paths)
        self._futures = [None] * len(self._paths)

    def workers(self) -> list[str]:
        """Return the addresses of the workers that there are now."""
        return list(workers_of(self._client))

    def _submit(self, shard: int) -> None:
        patience = time.monotonic() + _WAIT
        while not (workers := self.workers()):
            if time.monotonic() > patience:
                raise WorkerError("the scheduler has no worker left; start some, and begin again")
            time.sleep(0.2)
        place = min(workers, key=self._places.count)
        self._places[shard], self._actors[shard] = place, None
        self._futures[shard] = self._client.submit(
            build_shard, str(self._paths[shard]), *self._given, actor=True, workers=[place], pure=False
        )

    def _receive(self, shard: int) -> None:
        try:
            self._actors[shard] = self._wait(shard, self._places[shard], self._futures[shard])
        except (BpenbError, OSError, MemoryError):
            raise
        except Exception as error:  # Dask's own: it was lost before it was there
            raise self._lost(shard, error) from error

    def _wait(self, shard: int, place: str | None, answer: Any) -> Any:
        """Return what comes of an answer, unless its worker goes."""
        while True:
            try:
                return answer.result(timeout=_LOOK)
            except TimeoutError:
                if place not in self.workers():
                    raise self._lost(shard, None) from None
            except OSError as error:
                if isinstance(error, BpenbError) or getattr(error, "filename", None):
                    raise
                raise self._lost(shard, error) from error
            except KeyError as error:  # a worker that was started again under its address knows of no actor
                if error.args != (self._futures[shard].key,):
                    raise
                raise self._lost(shard, error) from error

    def _lost(self, shard: int, error: BaseException | None) -> ShardLostError:
        self._actors[shard] = None
        return ShardLostError(f"shard {shard} of {self._places[shard]}: {error}")


def workers_of(client: Any) -> dict[str, Any]:
    """Return what the scheduler tells of the workers that there are now, by address.

    Raises:
        WorkerError: it is gone.
    """
    try:
        workers: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    except (OSError, KeyError) as error:  # a client without a scheduler tells nothing
        raise WorkerError(GONE) from error
    return workers


def _can_reach(addresses: Sequence[str]) -> bool:
    """Tell whether all workers take connections from here, as they do not from outside of some clusters."""
    for address in addresses:
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH).close()
        except (OSError, ValueError):
            return False
    return True
