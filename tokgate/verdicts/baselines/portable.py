"""Baselines that travel with a checkout: what is known of the machine stays behind.

A baseline of a simulated or of any interchangeable machine is compared with runs elsewhere; that another boot and
another processor are behind it there is no news, and where the checkout lies is none anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tokgate.records import Fingerprint

Facts = Mapping[str, str | None]

# Facts of the machine below, wherever they came from (/proc, the kernel's driver, files of its owner), and of where
# things lie on it.
_MACHINE = re.compile(r"(host|nccl|startup)\..+|host|startup|gpu\.driver|server\.python|sglang\.location")


def without_machine(fingerprint: Fingerprint, checkout: str | None) -> Fingerprint:
    """Return the fingerprint with facts of the software alone, and `{root}` where it named the checkout."""
    return Fingerprint(
        facts={
            key: _movable(value, checkout)
            for key, value in fingerprint.facts.items()
            if not _MACHINE.fullmatch(key)
        }
    )


def comparable(before: Facts, now: Facts, checkout: str | None) -> tuple[Facts, Facts]:
    """Return what of two sets of facts may be compared: of a machine unknown then, nothing is asked now."""
    unknown = not any(_MACHINE.fullmatch(key) for key in before)
    return (
        {key: _movable(value, checkout) for key, value in before.items()},
        {
            key: _movable(value, checkout)
            for key, value in now.items()
            if not (unknown and _MACHINE.fullmatch(key))
        },
    )


def _movable(value: str | None, checkout: str | None) -> str | None:
    return value.replace(checkout, "{root}") if value is not None and checkout else value
