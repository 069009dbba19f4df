"""Where an interrupted run stands: one small JSON file beside its output, replaced as a whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bpenb._atomic import atomic_write
from bpenb.errors import OutputError

__all__ = ["Journal"]

VERSION = 1


class Journal:
    """The journal of one output.

    Args:
        path: of the file.
        identity: all that decides the output; a run with another one does not go on from it.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        self._identity = json.loads(json.dumps(identity))

    def load(self) -> dict[str, Any] | None:
        """Return the last state, or None if there is no journal.

        Raises:
            OutputError: a journal that is damaged, or of another run.
        """
        try:
            data = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise OutputError(
                f"{self.path}: cannot be read ({error}); start anew (force=True, --force)"
            ) from None
        if not isinstance(data, dict) or data.get("version") != VERSION:
            raise OutputError(
                f"{self.path}: was written by another release; start anew (force=True, --force)"
            )
        differing = [
            name
            for name in sorted(self._identity.keys() | data["identity"].keys())
            if self._identity.get(name) != data["identity"].get(name)
        ]
        if differing:
            raise OutputError(
                f"{self.path}: the interrupted run had other {', '.join(differing)}; repeat it with what it "
                "had, or start anew (force=True, --force)"
            )
        state: dict[str, Any] = data["state"]
        return state

    def peek(self) -> dict[str, Any] | None:
        """Return the last state of whatever run, or None if there is none to be had."""
        try:
            data = json.loads(self.path.read_bytes())
            return data["state"] if isinstance(data["state"], dict) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, state: Mapping[str, Any]) -> None:
        """Replace the file."""
        with atomic_write(self.path) as file:
            file.write(json.dumps({"version": VERSION, "identity": self._identity, "state": state}).encode())

    def remove(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)
