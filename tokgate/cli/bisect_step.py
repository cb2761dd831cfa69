"""What one step of a bisection concludes from a gate session, as git wants it: good, bad, cannot tell, or stop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tokgate.records import Outcome, StartCause
from tokgate.verdicts.questions import SPEED
from tokgate.verdicts.side_faults import is_of_the_bench

GOOD, BAD, SKIP, STOP = 0, 1, 125, 128  # git bisect run: 125 skips a commit, 128 and more end the bisection
CHECK = "patch"
_MADE = "to make the sides of the change"  # as hosts/sides.py begins its faults
# What git and the host say where a tree cannot be made and its commit has no part in it: a full disk, objects that are not there.
_NOT_THE_COMMITS = (
    *(
        "no space left",
        "disk quota",
        "disk full",
        "unable to write",
        "unable to create",
        "read-only file system",
    ),
    *("missing blob", "missing object", "missing tree", "unable to read", "could not fetch"),
    *(
        "no such folder",
        "is not there any more",
        "has lost objects",
        "is not what it was when the base was made",
    ),
)
_HEADS = ("control", "arm", "control-again", "restart")
WORDS = {GOOD: "good", BAD: "bad", SKIP: "cannot tell, skipped", STOP: "the bench is at fault, stopped"}


class Step(NamedTuple):
    code: int
    why: str
    figures: tuple[str, ...] = ()


def step_of(file: Mapping[str, Any] | None, exit_code: int) -> Step:
    """Judge a session by its verdict.json and its exit code. `file`: None where it wrote none."""
    if file is None:
        return Step(STOP, f"the session left no verdict (exit code {exit_code})")
    fault = (file.get("run") or {}).get("fault")
    if fault:
        found = f"{fault[0]}: {fault[1]}"
        # A side that cannot be made says something of this commit; anything else is the host's.
        its_own = str(fault[0]).startswith(_MADE) and not any(
            words in found.casefold() for words in _NOT_THE_COMMITS
        )
        return Step(SKIP if its_own else STOP, found)
    verdicts = [v for v in file.get("verdicts", ()) if v["check"] == CHECK]
    figures = tuple(map(_figures, [v for v in verdicts if v["value"] is not None]))
    told = [v["outcome"] for v in verdicts]
    if Outcome.REGRESSED in told:
        return Step(BAD, _first(verdicts, Outcome.REGRESSED), figures)
    if Outcome.INVALID in told or not verdicts:
        return _of_invalid(file, verdicts, figures)
    # A first-token time that is left open beside a speed that is settled keeps nobody from going on.
    speeds = [v for v in verdicts if v["metric"] in SPEED]
    if any(v["outcome"] == Outcome.INCONCLUSIVE for v in speeds or verdicts):
        return Step(SKIP, _first(speeds or verdicts, Outcome.INCONCLUSIVE), figures)
    by = next((f": {_figures(v)}" for v in speeds if v["value"] is not None), "")
    return Step(GOOD, f"no slower than the good commit{by}", figures)


def _of_invalid(
    file: Mapping[str, Any], verdicts: Sequence[Mapping[str, Any]], figures: tuple[str, ...]
) -> Step:
    """Say whose fault it is: of a commit whose servers do not start where those of the good one do, it is the commit's."""
    why = _first(verdicts, Outcome.INVALID) if verdicts else str(file.get("headline"))
    launches = file.get("launches", ())
    heads = [one for one in launches if one["role"] in _HEADS]
    bases = [one for one in launches if one["role"] == "side"]
    causes = [StartCause(one["failure"]["cause"]) for one in heads if one["failure"]]
    if StartCause.DOES_NOT_COMPILE in causes:
        return Step(SKIP, why, figures)
    lost = bool(causes) and not any(map(is_of_the_bench, causes))
    starts = any(one["ready_after_s"] is not None for one in bases)
    return Step(SKIP if lost and starts else STOP, why, figures)


def _first(verdicts: Sequence[Mapping[str, Any]], outcome: Outcome) -> str:
    return str(next(v["headline"] for v in verdicts if v["outcome"] == outcome))


def _figures(verdict: Mapping[str, Any]) -> str:
    """Return "eagle3-2step/single decode_tok_s 86.3 against 93.4 tok/s, -7.6 % [-8.1, -7.0] regressed"."""
    reference = verdict["reference"] or {}
    return " ".join(_parts(verdict, reference))


def _parts(verdict: Mapping[str, Any], reference: Mapping[str, Any]) -> Iterator[str]:
    yield f"{verdict['arm']}/{verdict['workload']} {verdict['metric']} {verdict['value']:.4g}"
    if reference.get("value") is not None:
        yield f"against {reference['value']:.4g} {verdict['unit'] or ''}".rstrip() + ","
    if verdict["change"] is not None:
        yield f"{verdict['change'] * 100:+.1f} %"
    if verdict["interval"] is not None and verdict["change"] is not None:
        low, high = verdict["interval"]
        yield f"[{low * 100:+.1f}, {high * 100:+.1f}]"
    yield f"{verdict['outcome']}"
