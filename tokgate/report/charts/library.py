"""uPlot as it lies in the package: a vendored file with its licence, whose hash a test compares with the one recorded."""

from __future__ import annotations

import hashlib
import importlib.resources
import json
from functools import cache
from importlib.resources.abc import Traversable

from tokgate.records import Record

SCRIPT, STYLE, LICENCE = "uPlot.iife.min.js", "uPlot.min.css", "LICENSE"
_RECORD = "vendored.json"


class Vendored(Record):
    """What was taken, from where, and what it must hash to. benchmarks/vendor_charts.py writes it."""

    name: str
    version: str
    licence: str
    source: str  # the address of the package as its registry gives it
    sha256: dict[str, str]  # file -> hash


def vendored() -> Vendored:
    return Vendored.model_validate_json(_text(_RECORD))


def hashes() -> dict[str, str]:
    """Return what the files in the package hash to."""
    return {
        name: hashlib.sha256(_folder().joinpath(name).read_bytes()).hexdigest()
        for name in (SCRIPT, STYLE, LICENCE)
    }


@cache
def script() -> str:
    """Return the library with its licence in front, as the licence asks for in every copy."""
    return f"/*\n{_text(LICENCE).strip()}\n*/\n{_text(SCRIPT).strip()}\n"


@cache
def style() -> str:
    return _text(STYLE).strip()


def record_text(record: Vendored) -> str:
    return json.dumps(record.model_dump(), indent=1) + "\n"


def _folder() -> Traversable:
    return importlib.resources.files("tokgate.report").joinpath("vendor/uplot")


def _text(name: str) -> str:
    return _folder().joinpath(name).read_text(encoding="utf-8")
