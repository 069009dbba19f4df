"""CRC-32 of files whose start is written last: the checksums of two parts, made into one of the whole.

CRC-32 finds damage (a cut, a flipped bit), not malice. It was taken for two reasons: its state is
one number, so a run that goes on after a stop need not read again what it wrote; and it runs at
6 GB/s here, where SHA-256 runs at 2 and would be felt beside an encoder.
"""

from __future__ import annotations

__all__ = ["combine_crc32", "crc32_text"]

_POLYNOMIAL = 0xEDB88320  # of CRC-32, bits reversed: bit 31 is x**0
_ONE = 1 << 31
_X8 = 1 << 23  # x**8: one byte of zeros


def _multiply(a: int, b: int) -> int:
    """Return a * b, both polynomials over GF(2), modulo the polynomial of CRC-32."""
    product = 0
    while a:
        if a & _ONE:
            product ^= b
        a = (a << 1) & 0xFFFFFFFF
        b = (b >> 1) ^ (_POLYNOMIAL if b & 1 else 0)
    return product


def combine_crc32(first: int, second: int, n_second: int) -> int:
    """Return the CRC-32 of two strings of bytes, one after the other, from the CRC-32 of each.

    Args:
        first, second: as `zlib.crc32` gives them.
        n_second: bytes of the second.

    Example:
        >>> import zlib
        >>> combine_crc32(zlib.crc32(b"low"), zlib.crc32(b"er"), 2) == zlib.crc32(b"lower")
        True
    """
    power, square = _ONE, _X8
    while n_second:
        if n_second & 1:
            power = _multiply(power, square)
        square = _multiply(square, square)
        n_second >>= 1
    return _multiply(power, first) ^ second


def crc32_text(value: int) -> str:
    """Return a CRC-32 as eight hexadecimal digits, as programs print it."""
    return f"{value:08x}"
