"""Whole numbers as NCCL reads them: with strtoll, base 0, and whatever stands behind the digits dropped."""

from __future__ import annotations

import re
from typing import NamedTuple

SOURCE = "NCCL src/misc/param.cc, ncclLoadParam (strtoll, base 0)"

_NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_SUFFIXES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_DIGITS_READ = 64  # more are beyond 64 bits whatever the base


class Read(NamedTuple):
    value: int  # what NCCL works with, 0 where there are no digits
    rest: str  # what it drops without a word
    base: int  # 8, 10 or 16
    overflow: bool  # beyond 64 bits: NCCL says so at NCCL_DEBUG=INFO and takes its default


def read_number(text: str) -> Read:
    """Read `text` as ncclLoadParam does. An empty text is not read there: it counts as unset."""
    match = _NUMBER.match(text)
    if match is None:
        return Read(value=0, rest=text, base=10, overflow=False)
    sign, digits = match[1], match[2]
    base = 16 if digits[:2].lower() == "0x" else 8 if digits[0] == "0" and len(digits) > 1 else 10
    short = digits.removeprefix("0x").removeprefix("0X").lstrip("0")
    if len(short) > _DIGITS_READ:
        return Read(value=0, rest=text[match.end() :], base=base, overflow=True)
    value = int(digits, base) * (-1 if sign == "-" else 1)
    overflow = not -(1 << 63) <= value < 1 << 63
    return Read(value=0 if overflow else value, rest=text[match.end() :], base=base, overflow=overflow)


def meant(text: str) -> int | None:
    """Return the number that a size such as `4M`, `4 MiB` or `4mb` stands for among people; None: none."""
    found = re.fullmatch(r"\s*(\d{1,12})\s*([kKmMgG])(?:i?[bB])?\s*", text)
    return int(found[1]) * _SUFFIXES[found[2].lower()] if found else None


def as_int(value: int) -> int:
    """Cut a number to the 32 bits that a C int keeps."""
    low = value & 0xFFFFFFFF
    return low - (1 << 32) if low >= 1 << 31 else low
