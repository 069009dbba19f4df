"""Jobs for the workers of test_pool.py: a worker imports them from here."""

from __future__ import annotations

import os
import signal
import sys
import time

from bpenb.errors import InvalidUtf8Error


def double(number: int) -> int:
    return 2 * number


def double_slowly_at_first(number: int) -> int:
    time.sleep(0.2 if number == 0 else 0.0)
    return 2 * number


def large(size: int) -> bytes:
    return b"x" * size


def measure(data: bytes) -> bytes:
    return data + b"x"


def fail_at_three(number: int) -> int:
    if number == 3:
        raise LookupError("three is not here")
    return number


def refuse_odd(number: int) -> int:
    if number % 2:
        time.sleep(0.1 if number == 1 else 0.0)  # the first to fail is not the first to say so
        raise InvalidUtf8Error(f"document {number}", 10 * number)
    return number


def exit_at_two(number: int) -> int:
    if number == 2:
        os._exit(7)
    return number


def kill_self_at_two(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def raise_system_exit(number: int) -> int:
    sys.exit(3)


def return_what_cannot_be_sent(number: int) -> object:
    return lambda: number


def main_file(_: int) -> str | None:
    return getattr(sys.modules["__main__"], "__file__", None)


def imported(name: str) -> bool:
    return name in sys.modules


def process_id(_: int) -> int:
    return os.getpid()


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def ignore_sigterm_and_sleep(seconds: float) -> float:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(seconds)
    return seconds


def die(_: object) -> None:
    os._exit(9)
