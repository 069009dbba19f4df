"""What a first run says: that it compiles, and about how long."""

from __future__ import annotations

from bpenb_cli import _messages

__all__ = ["announce_compiling"]


def announce_compiling(*rooms: str) -> None:
    """Say so if kernels of these rooms are not on disk yet."""
    from bpenb.warmup import compile_seconds, is_warm

    cold = [room for room in rooms if not is_warm(room)]
    if cold:
        seconds = sum(compile_seconds(room) for room in cold)
        _messages.note(
            f"first run: compiling the kernels for {' and '.join(cold)}, about {seconds:.0f} s; "
            "later runs find them on disk"
        )
