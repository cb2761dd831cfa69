"""The diagnosis as one sentence in a verdict: the split since the baseline, else the arithmetic of the run.

A cause is never proven here: a phase that is longer than it was is where the time goes, not why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tokgate.records import Outcome, Verdict
from tokgate.stats.log_shares import ACCEPTANCE, CYCLE, REST, Share
from tokgate.verdicts.cycle_side import WHICH_PHASE
from tokgate.verdicts.diagnosis import names, telling
from tokgate.verdicts.diagnosis.cause import RANKED, Diagnosis, Explained
from tokgate.verdicts.diagnosis.losses import BESIDE, LIMITS
from tokgate.verdicts.large_shares import large_shares
from tokgate.verdicts.metrics import METRICS
from tokgate.verdicts.split import Split

from . import split_cells
from .arithmetic import Arithmetic
from .leading import BASELINE, CULPRIT, PATCH, TWIN, worst_first
from .since_baseline import SinceBaseline, changes

SPEED = "decode_tok_s"
# What gets slower with the cycle. Accept length does not, nor does the time to the first token.
_OF_A_CYCLE = {
    SPEED, "client_decode_tok_s", "total_tok_s", "tpot_ms", "cycle_ms", "e2e_ms", "verify_ms", "verify_p95_ms",
    "token_ms", "token_p95_ms", "token_p99_ms", "chunk_gap_p95_ms", "chunk_gap_p99_ms",
}  # fmt: skip
_NAMES = {REST: "the rest of the cycle", CYCLE: "the cycle", ACCEPTANCE: "acceptance"}

OF_THE_LOSS = "in tok/s since the baseline"

Causes = Mapping[tuple[str, str], str]  # arm and workload -> what its loss is consistent with


def causes_of(
    since: Sequence[SinceBaseline], arithmetic: Sequence[Arithmetic], diagnosis: Diagnosis | None = None
) -> dict[tuple[str, str], str]:
    """Return what is known of each arm and workload that lost, "verify 22.90 ms a cycle, baseline 19.00: …".

    Where the diagnosis knows more than the phase, its name leads: "verify without a graph: verify 30.1 ms a cycle, …".
    """
    rows = {(r.arm, r.workload): r for r in arithmetic}
    found = {key: words for key, row in rows.items() if (words := of_session(row)) is not None}
    moved: dict[tuple[str, str], str] = {}
    for change in changes(since):
        key = (change.arm, change.workload)
        if (words := of_change(change, rows.get(key))) is not None:
            found[key] = words
            moved[key] = "; ".join(map(_moved, large_shares(change)))
    first = _first_causes(diagnosis)
    return {
        # Where no phase is known, as of a plain arm, the cause's name is all there is to tell in a line.
        **{
            key: name
            for key, (name, e) in first.items()
            if e.against != LIMITS and name not in names.OF_A_CYCLE
        },
        **{key: _with_cause(words, moved.get(key), first.get(key)) for key, words in found.items()},
    }


def _first_causes(diagnosis: Diagnosis | None) -> dict[tuple[str, str], tuple[str, Explained]]:
    """Return, of each arm and workload that lost, the cause that takes most of it and what it takes."""
    found: dict[tuple[str, str], tuple[str, Explained]] = {}
    for cause in diagnosis.causes if diagnosis is not None else ():
        for e in cause.explains if cause.strength in RANKED else ():
            key = (e.arm, e.workload)
            if e.against == BESIDE:  # of a change, which its own verdict tells
                continue
            if key not in found or e.share > found[key][1].share:
                found[key] = (cause.name, e)
    return found


def _with_cause(words: str, moved: str | None, first: tuple[str, Explained] | None) -> str:
    """Lead with the name of the cause that takes most of this place's loss, unless that is a part of the cycle itself.

    What a phase has grown by and what its first cause is charged with are two sizes where other causes take a part of it.
    One line has room for one of them: the cause's.
    """
    if first is None:
        return words
    name, explained = first
    size = telling.percent(explained.share)
    if moved is not None and OF_THE_LOSS in words and f"{size} of" not in words:
        return f"{name}: {moved}: {size} of the {telling.percent(explained.loss)} {OF_THE_LOSS}"
    return words if name in names.OF_A_CYCLE else f"{name}: {words}"


def of_change(change: Split, row: Arithmetic | None = None) -> str | None:
    """Name the shares of an established loss beyond the floor, largest first; None where nothing of it stands out.

    Where the baseline knows no phases, `row` tells what of the cycle verify is today.
    """
    whole = change.split.whole if change.split is not None else None
    floor = METRICS[SPEED].relative_floor
    if whole is None or whole.log >= 0 or change.interval is None:
        return None
    if change.interval[1] >= 0 or change.change > -floor:
        return None
    told = large_shares(change)
    if not told:
        return None
    parts = "; ".join(f"{_moved(s)}: {split_cells.part(s.log)} %" for s in told)
    by = f", phases by {change.source}" if change.source is not None else ""
    unknown = _of_today(row) if any(s.name == CYCLE for s in told) else ""
    all_of_it = f"{split_cells.part(whole.log)} % {OF_THE_LOSS}"
    of = f"; together with the rest {all_of_it}" if len(told) > 1 else f" of the {all_of_it}"
    return f"{parts}{of}{by}{unknown}"


def of_session(row: Arithmetic) -> str | None:
    """Say how far verify makes up a cycle that is too long: without a baseline nothing tells what has moved."""
    if not row.loses or row.verify_ms is None or row.cycle_ms is None:
        return None
    most = "none" if row.verify_at_most_ms is None else f"{row.verify_at_most_ms:.2f} ms"
    return (
        f"verify {row.verify_ms:.2f} of {row.cycle_ms:.2f} ms a cycle (mean, {row.verify_source}), at most {most} with "
        f"the rest of {row.cycle_ms - row.verify_ms:.2f} ms as it is; no baseline tells which of the two has moved"
    )


def cause_of(verdict: Verdict, causes: Causes) -> str | None:
    """Return what a regression is consistent with; None where its number has nothing to do with the cycle."""
    if verdict.check in (
        PATCH,
        CULPRIT,
    ):  # what it is consistent with is told against its base (patch_report.py)
        return None
    fits = verdict.check == TWIN or verdict.metric in _OF_A_CYCLE
    if verdict.outcome is not Outcome.REGRESSED or not fits:
        return None
    return causes.get((verdict.arm or "", verdict.workload or ""))


def with_causes(
    verdicts: Sequence[Verdict], causes: Causes, since: Sequence[SinceBaseline]
) -> tuple[Verdict, ...]:
    """Return the verdicts worst first; of each arm and workload the leading one's next step begins with the cause.

    The stored baseline's verdict on the speed gets the phases as evidence, which its own check cannot see.
    """
    splits = {(c.arm, c.workload): c for c in changes(since) if c.source is not None}
    led: set[tuple[str | None, str | None]] = set()

    def told() -> Iterator[Verdict]:
        for verdict in worst_first(verdicts):
            key = (verdict.arm, verdict.workload)
            cause = cause_of(verdict, causes) if key not in led else None
            split = splits.get((verdict.arm or "", verdict.workload or ""))
            update: dict[str, object] = {}
            if cause is not None:
                led.add(key)
                then = verdict.do or ""
                if split is not None:  # it has just been said
                    then = then.removesuffix(WHICH_PHASE)
                update["do"] = f"begin with what it is consistent with: {cause}. {then}".rstrip()
            if split is not None and (verdict.check, verdict.metric) == (BASELINE, SPEED):
                line = (
                    f"with the phases of the launch that carries instruments: {split_cells.sentence(split)}"
                )
                update["evidence"] = (*verdict.evidence, line)
            yield verdict.model_copy(update=update) if update else verdict

    return tuple(told())


def _of_today(row: Arithmetic | None) -> str:
    if row is None or row.verify_ms is None or row.cycle_ms is None:
        return "; which phase of it is not known"
    goal = "to break even" if row.asked == 1 else f"for {row.asked:.2f}x"
    most = "" if row.verify_at_most_ms is None else f", at most {row.verify_at_most_ms:.2f} {goal}"
    return (
        f"; today verify is {row.verify_ms:.2f} ms of it (mean, {row.verify_source}){most}; what it was is not "
        "stored"
    )


def _moved(share: Share) -> str:
    unit = "tokens" if share.name == ACCEPTANCE else "ms"
    name = _NAMES.get(share.name, share.name)
    if share.before is None or share.after is None:
        return name
    a = "" if share.name == CYCLE else " a cycle"
    return f"{name} {share.after:.2f} {unit}{a}, baseline {share.before:.2f}"
