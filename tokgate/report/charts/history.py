"""The rig's numbers over its sessions, with what is stored as the baseline and where a number changed its level for good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from tokgate.errors import BaselineError, GateError
from tokgate.records import RunEvidence
from tokgate.records.verdict import Reference
from tokgate.report.verdict_file import VerdictFile
from tokgate.rig.models import Rig
from tokgate.verdicts.baselines.file import BaselineFile
from tokgate.verdicts.baselines.history import (
    LATEST,
    Entry,
    Measured,
    entry_of,
    points,
    sessions_of,
    standings,
)
from tokgate.verdicts.baselines.load import load
from tokgate.verdicts.metrics import METRICS, Metric

from .drawing import Figure, word
from .history_series import SHOWN, HistorySeries

_MOST_BYTES = 64 << 20  # as much as `tokgate history` reads
_METRICS = ("decode_tok_s", "total_tok_s", "cycle_ms", "accept_length", "ttft_ms", "tpot_ms")
_MOST_SAID = 4  # conclusions; the table has all
COLUMNS = ("arm", "workload", "metric", "sessions", "this session", "stored baseline", "level")


def history(file: VerdictFile, evidence: RunEvidence, folder: Path) -> Figure:
    rig, earlier = _rig(folder), _entries(folder / "history.jsonl")
    own = entry_of(rig, evidence, file.verdicts) if rig is not None else None
    if rig is None or own is None:
        why = (
            "the run folder has no rig.json"
            if rig is None
            else "this session measured no arm that may be judged"
        )
        return Figure(id="history", title="History", says=(f"No history is drawn: {why}.",))
    entries = [
        e for e in earlier if e.run_id != own.run_id and e.rig == own.rig and e.simulated == own.simulated
    ]
    everything = [*entries, own]
    place_of = {entry.run_id: i for i, entry in enumerate(everything)}
    found = []
    for one in own.series:
        sessions = sessions_of(everything, one.arm, one.workload, one.identity)
        baseline = _baseline(folder, rig, one)
        for metric in (METRICS[name] for name in _METRICS):
            told = points(sessions, metric)
            if any(metric.name in medians for medians in one.launches.values()):
                found.append(
                    HistorySeries(
                        one=one,
                        metric=metric,
                        points=tuple(told),
                        standings=standings(rig, metric, told),
                        reference=_reference(file, one, metric),
                        baseline=baseline,
                        place_of=place_of,
                    )
                )
    several = [s for s in found if len(s.points) > 1]
    if not several:
        return Figure(
            id="history",
            title="History",
            says=(
                "This is the first session of this rig with these settings: its history begins here. Each further session adds a point.",
            ),
        )
    cut = max(len(s.points) for s in several)
    return Figure(
        id="history",
        title="History",
        says=tuple(_conclusions(several)),
        notes=(
            (
                "A mark is one session of the same identity; the steps are the levels that change points part, as `tokgate history` finds "
                f"them in the latest {LATEST} sessions; the broken line is what is stored today."
            ),
            *(
                (f"The latest {SHOWN} of {cut} sessions are drawn; levels are of all.",)
                if cut > SHOWN
                else ()
            ),
        ),
        choices=("arm and workload", "metric"),
        views=tuple(s.view() for s in several),
        facts={
            "run": tuple(word(e.run_id) for e in everything),
            "of": tuple(word(e.started_at[:10]) for e in everything),
            "SGLang": tuple(word(e.sglang or "unknown", 40) for e in everything),
        },
        columns=COLUMNS,
        rows=tuple(s.row() for s in several),
    )


def _rig(folder: Path) -> Rig | None:
    try:
        return Rig.model_validate_json((folder / "rig.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, GateError):
        return None


def _baseline(folder: Path, rig: Rig, one: Measured) -> BaselineFile | None:
    """Return the run folder's copy of the baseline that this was compared with; None without one that can be read."""
    try:
        return load(folder / "baselines" / rig.name / f"{one.identity}.json")
    except (OSError, BaselineError):
        return None


def _entries(path: Path) -> list[Entry]:
    """Return the sessions of the run folder's own copy; a damaged line is skipped, as `tokgate history` does and says."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return []
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            found.append(Entry.model_validate_json(line))
        except ValidationError:
            continue
    return found


def _reference(file: VerdictFile, one: Measured, metric: Metric) -> Reference | None:
    return next(
        (
            v.reference
            for v in file.verdicts
            if v.reference is not None
            and v.reference.kind == "baseline"
            and (v.arm, v.workload, v.metric) == (one.arm, one.workload, metric.name)
        ),
        None,
    )


def _conclusions(found: Sequence[HistorySeries]) -> Iterator[str]:
    """Yield what moved, series by series; one sentence where nothing did."""
    moved = [s for s in found if s.standings]
    first = list({s.place: s for s in reversed(moved)}.values())[::-1]  # of each place the foremost metric
    yield from (s.says() for s in first[:_MOST_SAID])
    if (more := len(moved) - len(first[:_MOST_SAID])) > 0:
        yield f"{more} more numbers have changed their level: see the table."
    if not moved:
        many = max(len(s.points) for s in found)
        yield f"No number has changed its level in the {many} sessions of this rig with these settings."
