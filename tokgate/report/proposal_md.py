"""proposal.md: what a change of baselines does to each number, for whoever reviews it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokgate.records.record import Record
from tokgate.rig.models import Rig
from tokgate.verdicts.baselines.draft import Draft, Request
from tokgate.verdicts.baselines.moves import Move
from tokgate.verdicts.baselines.staleness import staleness
from tokgate.verdicts.metrics import METRICS

from . import simulated
from .markdown import text

MOST_FACTS = 20


class Loose(Record):
    """What else asks less in the same change, in words."""

    revision: str | None  # what it is compared with, in words; None: with nothing
    narrow: str | None = None  # what a comparison with that cannot see
    limits: tuple[str, ...] = ()
    baselines: tuple[str, ...] = ()  # removed, or their memory edited
    code: tuple[
        str, ...
    ] = ()  # files that judge and have changed: whether they ask less, nobody can tell here
    unknown: str | None = None  # why nothing is known of the limits


def render(rig: Rig, drafts: Sequence[Draft], request: Request, loose: Loose) -> str:
    """Return the markdown of a proposal; every foreign text is escaped."""
    fewer = tuple(d.thinner for d in drafts if d.thinner is not None and d.kept is None)
    loose = loose.model_copy(update={"baselines": (*loose.baselines, *fewer)})
    runs = ", ".join(drafts[0].new.provenance.runs) if drafts else ""
    how = "added to" if request.append else "in place of"
    lines = [f"# Proposed baselines of {text(rig.name)}", ""]
    if rig.simulated:
        lines += [f"> **{simulated.WORD}**: {simulated.MEANING}.", ""]
    lines += [
        f"**Why:** {text(request.why, 1000)}",
        "",
        " · ".join(
            (
                f"by {text(request.who)}",
                text(request.when),
                f"{how} what is stored",
                f"runs {text(runs, 1000)}",
            )
        ),
        "",
        *_loose(loose),
    ]
    if request.despite_creep is not None:
        lines += [f"**Beyond the creep budget, because:** {text(request.despite_creep, 1000)}", ""]
    doubts = dict.fromkeys(doubt for draft in drafts for doubt in draft.doubts)
    if doubts:
        lines += ["## Doubts that are overruled", "", *(f"- {text(doubt, 600)}" for doubt in doubts), ""]
    for draft in drafts:
        lines += [*_draft(rig, draft), ""]
    return "\n".join(lines).rstrip() + "\n"


def _loose(loose: Loose) -> Iterator[str]:
    told = (*loose.limits, *loose.baselines)
    against = text(loose.revision or "", 200)
    if told:
        yield f"## Loosened in the same change{f' (against {against})' if against else ''}"
        yield ""
        yield from (f"- **{text(one, 400)}**" for one in told)
        yield ""
    elif loose.unknown is None:
        yield f"No limit of the rig is looser than at {against}."
        yield ""
    if loose.narrow is not None:
        yield f"Compared with {against}: {text(loose.narrow, 400)}."
        yield ""
    if loose.unknown is not None:
        yield f"Whether a limit is loosened is not known: {text(loose.unknown, 600)}."
        yield ""
    if loose.code:
        names = ", ".join(text(name) for name in loose.code)
        yield f"Files that judge have changed as well, and are to be read for what they ask: {names}."
        yield ""


def _draft(rig: Rig, draft: Draft) -> Iterator[str]:
    new, old = draft.new, draft.old
    yield f"## {text(new.workload)} on {text(new.arm)}: {text(new.name)}"
    yield ""
    if draft.kept is not None:
        yield f"**Kept as it is:** {text(draft.kept, 600)}"
        yield ""
    if old is None:
        yield "New: its numbers become the anchor."
    else:
        anchor = min((one.when for one in new.anchor.values()), default="")
        yield (
            f"Stored {text(old.provenance.when)} by {text(old.provenance.who)}: {text(old.provenance.why, 400)}. "
            f"Anchor of {text(anchor)}, {len(new.accepted)} accepted since."
        )
    if draft.thin is not None:
        yield f"Thin: {text(draft.thin, 400)}."
    yield ""
    yield "| metric | before | after | change | interval (95 %) | n before | n after | creep |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    yield from (_row(move) for move in draft.moves)
    if old is not None:
        yield from _facts(rig, draft)


def _row(move: Move) -> str:
    metric = METRICS[move.metric]
    before, change, interval, creep, n = "", "new", "", "", ""
    if move.before is not None and move.change is not None:
        before, n = metric.text(move.before.value), _n(move.before.runs, move.before.sessions)
        change = f"{move.change:+.1%}"
    if move.interval is not None:
        worse = min(metric.loss(bound) for bound in move.interval) > 0  # established
        interval = f"{move.interval[0]:+.1%} to {move.interval[1]:+.1%}"
        if move.appended and move.new is not None:  # the interval is not one of the change beside it
            own = f"**{move.new:+.1%}**" if worse else f"{move.new:+.1%}"
            interval = f"runs that come {own}: {interval}"
        elif worse:
            change = f"**{change}**"
    if move.creep is not None:
        creep = f"{move.creep.spent:.1%} of {move.creep.budget:.1%}"
        creep = f"**{creep}**" if move.creep.over else creep
    cells = (
        f"`{move.metric}`",
        text(before),
        text(metric.text(move.after.value)),
        change,
        interval,
        n,
        _n(move.after.runs, move.after.sessions),
        creep,
    )
    return f"| {' | '.join(cells)} |"


def _n(runs: int, sessions: int) -> str:
    return f"{runs} run{'' if runs == 1 else 's'}, {sessions} session{'' if sessions == 1 else 's'}"


def _facts(rig: Rig, draft: Draft) -> Iterator[str]:
    if draft.old is None:
        return
    found = staleness(rig, draft.old.fingerprint, draft.new.fingerprint).differs
    yield ""
    if not found:
        yield "Nothing on record differs between the machine and tree of then and now."
        return
    yield "| differs | then | now |"
    yield "|---|---|---|"
    for one in found[:MOST_FACTS]:
        yield f"| {text(one.key)} | {text(one.before or 'not set')} | {text(one.now or 'not set')} |"
    if len(found) > MOST_FACTS:
        yield f"| and {len(found) - MOST_FACTS} more |  |  |"
