"""The golden names of the metric families the gate reads, for one SGLang version."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

from tokgate.records import Record

from .prometheus import Scrape

_RELEASE = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?")


class GoldenFamily(Record):
    """One row of names/metrics.toml."""

    key: str  # what the gate calls it
    name: str  # as the server of that version prints it
    type: Literal["counter", "gauge", "histogram"]
    since: str
    until: str | None = None
    per: Literal["server", "rank"]
    lazy: bool = False
    labels: dict[str, tuple[str, ...]] = {}  # labels whose values matter, and the values
    note: str | None = None


def golden_families(sglang_version: str) -> dict[str, GoldenFamily] | None:
    """Return key -> family for a version such as "0.5.3.post3"; None: that is not a version.

    A key that is missing from the answer names something this version does not tell.
    """
    release = _release(sglang_version)
    if release is None:
        return None
    return {
        family.key: family
        for family in _all_families()
        if (_release(family.since) or release) <= release
        and (family.until is None or release <= (_release(family.until) or release))
    }


def missing_families(scrape: Scrape, sglang_version: str) -> tuple[str, ...] | None:
    """Return the names this version should print and the scrape lacks; None: not a version.

    Families that appear only at their first increment are not asked for.
    """
    golden = golden_families(sglang_version)
    if golden is None:
        return None
    return tuple(f.name for f in golden.values() if not f.lazy and f.name not in scrape.families)


@cache
def _all_families() -> tuple[GoldenFamily, ...]:
    text = files("tokgate.parsers").joinpath("names", "metrics.toml").read_text(encoding="utf-8")
    return tuple(GoldenFamily.model_validate(row) for row in tomllib.loads(text)["family"])


def _release(version: str) -> tuple[int, int, int] | None:
    match = _RELEASE.match(version.strip())
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None
