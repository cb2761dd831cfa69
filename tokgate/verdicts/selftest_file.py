"""Stored self-tests, selftests/<rig>/<id>.json, and which of them speaks for a run."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from tokgate.errors import UsageError
from tokgate.records import Difference, Fingerprint
from tokgate.records.selftest import Qualification, Rate, SelfTest
from tokgate.rig.models import Rig

from .baselines.identity import differences

FOLDER = "selftests"
COPY = "selftest.json"  # in the folder of a run
LARGEST_FILE = 16 * 2**20
# What makes it the same host: its processor and its cards. Not its name, which a container draws anew at every start.
_HOST = re.compile(r"host\.(cpu|cores|memory_mib)|gpu\.\d+\.(name|uuid)")
# What a reader must know has changed since: it may have changed how far runs differ.
_TOLD = re.compile(
    r"host\.kernel|gpu\.\d+\.(driver_version|power\.limit)|gpu\.driver|sglang\.version|package\..+"
)
_SETTINGS = ("server", "arms", "prompt_sets", "workloads", "floors", "sampling")


def settings_of(rig: Rig) -> dict[str, str]:
    """Return a hash of each part of a rig that decides how its numbers spread and how they are judged."""
    parts = rig.model_dump(mode="json", include=set(_SETTINGS))
    texts = {name: json.dumps(part, sort_keys=True) for name, part in parts.items()}
    if rig.checkout:
        texts = {name: text.replace(rig.checkout, "{root}") for name, text in texts.items()}
    return {name: hashlib.sha256(text.encode()).hexdigest()[:12] for name, text in texts.items()}


def save_selftest(root: Path, found: SelfTest) -> Path:
    """Write it where it belongs below `root`, in one step. UsageError: it cannot be written."""
    path = root / FOLDER / found.rig / f"{found.id}.json"
    text = json.dumps(found.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(
            tried=f"storing the self-test {path}",
            found=error.strerror or str(error),
            do="make the folder writable, or use another checkout: tokgate --root PATH …",
        ) from error
    return path


def load_selftest(path: Path) -> SelfTest:
    """UsageError: it cannot be read, or is none."""
    found = "no regular file of a self-test's size"
    try:
        state = path.stat()
        if stat.S_ISREG(state.st_mode) and state.st_size <= LARGEST_FILE:
            return SelfTest.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        found = str(error)
    except ValidationError as error:
        first = error.errors()[0]
        found = f"{'.'.join(str(part) for part in first['loc']) or 'the text'}: {first['msg']}"
    raise UsageError(
        tried=f"reading the self-test {path}",
        found=found,
        do="remove the file, or restore it; `tokgate selftest` makes a new one",
    )


def stored_selftests(root: Path, rig: str) -> list[tuple[Path, SelfTest]]:
    """Return all self-tests of a rig, newest first. UsageError: one of them cannot be read."""
    paths = sorted((root / FOLDER / rig).glob("*.json"), reverse=True)
    return [(path, load_selftest(path)) for path in paths]


def same_host(then: Mapping[str, str | None], now: Mapping[str, str | None]) -> tuple[Difference, ...]:
    """Return in which facts of the host itself the two differ."""
    mine, theirs = ({k: v for k, v in facts.items() if _HOST.fullmatch(k)} for facts in (then, now))
    return differences(mine, theirs)


def choose(root: Path, rig: str, facts: Mapping[str, str | None]) -> Path | None:
    """Return the newest self-test of this rig on this host; without one the newest of the rig, which says so.

    One that is damaged is taken only where there is no other.
    """
    paths = sorted((root / FOLDER / rig).glob("*.json"), reverse=True)
    damaged, elsewhere = [], []
    for path in paths:
        try:
            one = load_selftest(path)
        except UsageError:
            damaged.append(path)
            continue
        if not one.found:
            continue
        if not same_host(one.fingerprint.facts, facts):
            return path
        elsewhere.append(path)
    return next(iter([*elsewhere, *damaged]), None)


def qualification(found: SelfTest | None, rig: Rig, fingerprint: Fingerprint | None) -> Qualification:
    """Say what this host's gate is known to see, as far as `found` speaks for this rig and this machine."""
    do = f"tokgate selftest --rig {rig.name}"
    if found is None:
        return Qualification(
            words="no self-test on this host: what this gate sees here is known from its arithmetic alone",
            qualified=False,
            do=do,
        )
    facts = fingerprint.facts if fingerprint is not None else {}
    other = same_host(found.fingerprint.facts, facts)
    why = _why_not(found, rig, other)
    told = {"id": found.id, "alarms": found.alarms, "found": found.found}
    if why is not None:
        return Qualification(
            words=f"not qualified here: the self-test {found.id} is {why}", qualified=False, do=do, **told
        )
    then, now = (
        {k: v for k, v in each.items() if _TOLD.fullmatch(k)} for each in (found.fingerprint.facts, facts)
    )
    since = differences(then, now)
    settings = settings_of(rig)
    changed = [name for name in settings if settings[name] != found.settings.get(name)]
    since += tuple(
        Difference(key=f"rig.{name}", before=found.settings.get(name), now=settings[name]) for name in changed
    )
    words = f"on this host {in_words(found)}; self-test {found.id}"
    if since:
        words += f", since then changed: {_few([d.key for d in since])}"
    return Qualification(words=words, qualified=True, since=since, do=do if since else None, **told)


def in_words(found: SelfTest) -> str:
    """Return "0 of 2 sessions of an unchanged server alarmed (≤ 77.6 %); a planted loss …"."""
    alarms = found.alarms
    parts = [f"{alarms.seen} of {alarms.of} sessions of an unchanged server alarmed ({bounds(alarms)})"]
    several = len(found.workloads) > 1
    for one in found.found:
        if one.planted:
            where = f" of {one.workload}" if several else ""
            parts.append(
                f"a planted loss of {percent(one.planted)}{where} was called in {one.trials.seen} of {one.trials.of} "
                f"({bounds(one.trials)}; resampled {one.resampled[0]} of {one.resampled[1]})"
            )
    return "; ".join(parts)


def percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def bounds(rate: Rate) -> str:
    """Return the bounds that say something: "≤ 39.3 %" of none, "≥ 60.7 %" of all, otherwise both."""
    low, high = percent(rate.low), percent(rate.high)
    if not rate.seen:
        return f"≤ {high}"
    return f"≥ {low}" if rate.seen == rate.of else f"{low} to {high}"


def _why_not(found: SelfTest, rig: Rig, other: tuple[Difference, ...]) -> str | None:
    if found.rig != rig.name or found.simulated != rig.simulated:
        return f"of the rig {found.rig}{' (simulated)' if found.simulated else ''}"
    if other:
        first = other[0]
        return (
            f"of another host ({first.key}: {first.before or 'unknown'} there, {first.now or 'unknown'} here)"
        )
    if not found.found:
        return "broken off before anything could be compared"
    return None


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
