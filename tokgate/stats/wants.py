"""What would settle a comparison that nothing was concluded from, if its estimate stayed."""

from __future__ import annotations

from collections.abc import Callable

from tokgate.records import Outcome

from .bounds import Bounds
from .confirm import MOST
from .decision import Kind, Rule, Wants


def wants_of(
    judged: Callable[..., Bounds],
    found: Bounds,
    rule: Rule,
    kind: Kind,
    *,
    outcome: Outcome,
    lacking: Wants,
    mixed: bool = False,
) -> Wants:
    """Say what would settle it if the estimate stayed: the next look, with a little more of everything in turn.

    `lacking`: what a loss wants for its confirmation once it is established. `mixed`: a second run would first of all tell
    what starts differ by from what their prompts do.
    """
    if outcome is not Outcome.INCONCLUSIVE:
        return Wants()
    if found.regressed:  # all that is missing is a restart
        return lacking
    if mixed:
        return Wants(now=1)

    def settled(more_now: int = 0, more_before: int = 0, more_sessions: int = 0) -> Wants | None:
        """Return what it takes if so many more settle it, or None: a loss is called no sooner than it is confirmed."""
        more = {"more_now": more_now, "more_before": more_before, "more_sessions": more_sessions}
        then = judged(look=rule.look + 1, **{name: number for name, number in more.items() if number})
        if not (then.regressed or then.improved or then.passed):
            return None
        least = lacking if then.regressed and rule.confirm else Wants()
        return Wants(
            now=max(more_now, least.now),
            before=max(more_before, least.before),
            sessions=max(more_sessions, least.sessions),
        )

    for more in range(1, MOST + 1):
        if kind == "side":  # both sides of a change take turns
            if (wants := settled(more_now=more, more_before=more)) is not None:
                return wants
            continue
        if (wants := settled(more_now=more)) is not None:
            return wants
        # Two controls beside one arm: the arm first, then both in turn.
        if kind == "twin" and (wants := settled(more_now=(more + 1) // 2, more_before=more // 2)) is not None:
            return wants
    if kind == "stored":
        for more in range(1, MOST + 1):
            if (wants := settled(more_now=more, more_sessions=more)) is not None:
                return wants
    return Wants()


def at_most(wants: Wants, in_all: Wants | None) -> Wants:
    """Return what `wants` may come to where a loss needs so many further runs `in_all`; the same where it needs no more."""
    if in_all is None or wants == Wants():
        return wants
    return wants.model_copy(
        update={"now": max(wants.now, in_all.now), "before": max(wants.before, in_all.before)}
    )
