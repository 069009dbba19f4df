"""`bpenb warmup`: compiles every kernel once."""

from __future__ import annotations

from bpenb_cli import _messages

__all__ = ["EXAMPLE", "warmup"]

EXAMPLE = "Example: pip install . && bpenb warmup"


def warmup() -> None:
    """Compile everything once and say how long it took; later runs find it on disk."""
    from bpenb._bar import format_seconds
    from bpenb.warmup import ROOMS, is_warm, warmup

    cold = {room for room in ROOMS if not is_warm(room)}
    if cold:
        _messages.note("compiling the kernels of all split patterns, for half a minute or so")
    taken = warmup()
    for room, seconds in taken.items():
        print(f"{room}: {'compiled' if room in cold else 'found on disk'}, {format_seconds(seconds)}")
    print(f"all: {format_seconds(sum(taken.values()))}")
