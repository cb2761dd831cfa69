"""Promise: no part of a change costs speed; the one that does is named, with its cost, commit and files."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tokgate.records import LaunchEvidence, Outcome, Reference, Verdict
from tokgate.records.side import BASE, HEAD, SidesMade, Unit
from tokgate.rig.models import Rig
from tokgate.verdicts.culprit import CulpritTable, table_of
from tokgate.verdicts.culprit_step import looked
from tokgate.verdicts.culprit_words import headline, lines, unit_words
from tokgate.verdicts.establish import invalid
from tokgate.verdicts.metrics import METRICS, floor_of, floor_text
from tokgate.verdicts.run_again import measure
from tokgate.verdicts.searched import CHECK, Searched, searched
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.side_faults import did_not_start
from tokgate.verdicts.side_words import labels

_LEAST_S = 600.0  # as restarts of a server that loads its weights take


def culprit(rig: Rig, launches: Sequence[LaunchEvidence], *, made: SidesMade | None) -> tuple[Verdict, ...]:
    """Judge a search by its server runs, of role culprit and in order of time.

    regressed: parts of the change cost, established among all comparisons that the search could have made, beyond the
    floors and confirmed by restarts; or all of them together do. pass: none does, which is shown. inconclusive: what is
    open is told with what would settle it. invalid: base or head does not start, or a run is not fit to be judged.
    """
    found = searched(rig, launches, made)
    shared = {"arm": found.question.arm, "workload": found.question.workload}
    shortfall = _unfit(found, made)
    if shortfall is not None:
        refused = invalid(CHECK, [shortfall], workload=found.question.workload)
        return (refused.model_copy(update={**shared, "launches": _ids(launches)}),)
    now = looked(found)
    if found.refused is not None or now is None:
        refused = found.refused or invalid(CHECK, [_nothing()], workload=found.question.workload)
        return (refused.model_copy(update={**shared, "launches": _ids(launches)}),)
    table = table_of(rig, found, now)
    metric, outcome = METRICS[table.metric], _outcome(table)
    decision = now.nodes[0].decision
    _, base = labels(made)
    return (
        Verdict(
            check=CHECK,
            outcome=outcome,
            headline=headline(table),
            **shared,
            launch=next(one.launch.id for one in launches if one.launch.side == HEAD),
            launches=_ids(launches),
            metric=metric.name,
            value=table.head,
            unit=metric.unit,
            n=decision.starts_now,
            interval=decision.interval,
            reference=Reference(
                kind="side",
                label=base,
                value=table.base,
                n=sum(len(run.values.values) for run in found.measured[0]),
            ),
            change=decision.change,
            floor=floor_text(floor_of(rig, metric), metric),
            smallest=table.whole.smallest,
            level=table.whole.level,
            evidence=tuple(lines(table)),
            warnings=_warnings(found, made),
            do=_do(rig, table, outcome),
            raw=tuple(
                dict.fromkeys(path for runs in found.established.values() for run in runs for path in run.raw)
            ),
        ),
    )


def _outcome(table: CulpritTable) -> Outcome:
    if table.called() or table.spread or table.whole.finding == "costs":
        return Outcome.REGRESSED
    if not table.complete:
        return Outcome.INCONCLUSIVE
    return Outcome.IMPROVED if table.whole.finding == "gains" else Outcome.PASS


def _unfit(found: Searched, made: SidesMade | None) -> Shortfall | None:
    if not found.launches:
        return Shortfall(
            what="no server run of the search was made",
            do="name a change, and measure: pytest perf_tests -m culprit",
        )
    heads = [one for one in found.launches if one.launch.side == HEAD]
    bases = [one for one in found.launches if one.launch.side == BASE]
    return did_not_start(heads, bases, made) if heads or bases else None


def _nothing() -> Shortfall:
    return Shortfall(
        what="base and head were not both measured",
        do="measure the whole search: pytest perf_tests -m culprit",
    )


def _warnings(found: Searched, made: SidesMade | None) -> tuple[str, ...]:
    told = [
        f"no server of the change imported {', '.join(unused)}: that part of it cannot have mattered here"
        for unused in [_never_imported(found)]
        if unused
    ]
    return (*told, *(made.notes if made is not None else ()))


def _never_imported(found: Searched) -> tuple[str, ...]:
    heads = [one.ran_from for one in found.launches if one.launch.side == HEAD and one.ran_from is not None]
    if not heads:
        return ()
    seen = {file for proof in heads for file in proof.changed_imported}
    return tuple(dict.fromkeys(file for proof in heads for file in proof.changed_unused if file not in seen))


def _do(rig: Rig, table: CulpritTable, outcome: Outcome) -> str | None:
    if table.called():
        first = table.called()[0]
        if len(first.units) > 1:
            return f"units {first.first + 1} to {first.last} cannot be told apart here: make the sides between them start, or read them all"
        return f"{_read(first.units)}; then measure the change again: {measure(rig, 'patch')}"
    if table.spread:
        return "no single unit is to blame: take out those that cost most in the table, or accept what they cost together"
    if outcome in (Outcome.REGRESSED, Outcome.INCONCLUSIVE):
        return f"{table.ended}; with more time for the search: {_longer(rig, table)}"
    return None


def _read(units: Sequence[Unit]) -> str:
    if not units:
        return "read that part of the change"
    unit = units[0]
    if unit.kind == "commit":
        return f"read it, git show {unit.id[:12]}, and mend it or leave it out"
    if unit.kind == "patch":
        return f"read {unit.name}, and mend it or leave it out"
    return f"read {unit_words(unit)}, git diff, and mend it or leave it out"


def _longer(rig: Rig, table: CulpritTable) -> str:
    spent = rig.sampling.gpu_time_s - table.left_s
    seconds = max(_LEAST_S, 60 * math.ceil((spent + table.further_s) / 60))
    return measure(rig, CHECK, {"sampling.gpu_time_s": seconds})


def _ids(launches: Sequence[LaunchEvidence]) -> tuple[str, ...]:
    return tuple(one.launch.id for one in launches)
