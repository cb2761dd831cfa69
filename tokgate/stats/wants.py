"""What would settle a comparison that nothing was concluded from, if its estimate stayed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tokgate.records import Outcome

from .bounds import MODES, Bounds, by_modes, runs_to_confirm
from .decision import Kind, Rule, Wants

AGREE = 2  # server runs of an arm that must miss a limit, each by itself
MOST_RUNS = 32  # further runs a side beyond which nobody measures


def wants_of(
    judged: Callable[..., Bounds],
    found: Bounds,
    rule: Rule,
    kind: Kind,
    *,
    beyond: int,
    runs: tuple[int, int],
    outcome: Outcome,
    agreed: Sequence[int] | None = None,
    mixed: bool = False,
) -> Wants:
    """Say what would settle it if the estimate stayed: the next look, with a little more of everything in turn.

    `beyond`: runs that show the loss each by itself. `runs`: of now, of before. `agreed`: other sessions' runs that
    were of one mode (bounds.by_modes); None: two modes are not what a restart has to exclude. `mixed`: a second run
    would first of all tell what starts differ by from what their prompts do.
    """
    runs_now, runs_before = runs
    if outcome is not Outcome.INCONCLUSIVE:
        return Wants()
    if found.regressed:  # all that is missing is a restart
        if kind == "twin" and agreed is not None:
            return _until_no_modes(runs_now, runs_before, agreed)
        if kind != "stored":
            return Wants(now=max(1, AGREE - beyond))
        needed = runs_to_confirm(runs_before)
        return Wants(now=needed - runs_now) if needed is not None else Wants(sessions=1)

    if mixed:
        return Wants(now=1)

    def settles(**more: int) -> bool:
        then = judged(look=rule.look + 1, **more)
        return bool(then.regressed or then.improved or then.passed)

    for more in range(1, MOST_RUNS + 1):
        if settles(more_now=more):
            return Wants(now=more)
        # Two controls beside one arm: the arm first, then both in turn.
        if kind == "twin" and settles(more_now=(more + 1) // 2, more_before=more // 2):
            return Wants(now=(more + 1) // 2, before=more // 2)
    if kind == "stored":
        for more in range(1, MOST_RUNS + 1):
            if settles(more_now=more, more_sessions=more):
                return Wants(now=more, sessions=more)
    return Wants()


def _until_no_modes(now: int, before: int, agreed: Sequence[int]) -> Wants:
    """Return the fewest further runs with which two modes cannot explain a loss, as many of this arm as may be."""
    for total in range(1, 2 * MOST_RUNS):
        for more in range(total, -1, -1):
            if by_modes(before + total - more, now + more, agreed) <= MODES:
                return Wants(now=more, before=total - more)
    return Wants()
