"""What would settle a question that is open, in words and as server runs, and how a session gets it."""

from __future__ import annotations

from tokgate.rig.models import Rig
from tokgate.rig.restart_budget import restart_budget_s
from tokgate.stats.decision import Decision, Wants

from .decision_words import many, within_controls
from .run_again import with_restarts
from .subjects import PHASES


def needs_of(
    wants: Wants,
    most: Wants | None = None,
    *,
    arm: str,
    twin: str | None = None,
    instruments: bool = False,
    baseline: str = "in the baseline",
) -> str | None:
    """Return "2 more restarts of eagle3-2step and 1 more session in the baseline"; None where nothing is in reach.

    `most`: what it may come to: "1 to 3 more restarts". `instruments`: the arm's runs carry them.
    """
    most = most or wants
    parts = []
    if wants.now:
        carrying = " with instruments" if instruments else ""
        parts.append(f"{_more(wants.now, most.now)} of {arm}{carrying}")
    if wants.before:
        parts.append(f"{_more(wants.before, most.before)} of {twin or 'its twin'}")
    if wants.sessions:
        parts.append(f"{many(wants.sessions, 'more session')} {baseline}")
    return " and ".join(parts) or None


def wanted_of(
    wants: Wants, *, arm: str, twin: str | None = None, instruments: bool = False
) -> dict[str, int]:
    """Return the further server runs that would settle it in this session; {} where they alone would not."""
    if wants.sessions or (wants.before and twin is None):
        return {}
    own = f"{arm}{PHASES}" if instruments else arm
    found = {own: wants.now, **({twin: wants.before} if twin is not None else {})}
    return {name: runs for name, runs in found.items() if runs}


def settling(rig: Rig, decision: Decision, needs: str | None) -> str:
    """Return the next step of somebody who reads `inconclusive`."""
    if needs is None and within_controls(decision):
        return "find what else runs on the machine, and measure again: what its controls differ by is no arm's loss"
    if needs is None and not decision.floor:
        return (
            "it is as good as its limit: more runs alone will hardly tell on which side; quieten the machine, or move "
            "the limit"
        )
    if needs is None:
        if decision.floor / 2 < decision.loss < 2 * decision.detect:
            return "the loss is about as large as the floor: more runs alone will hardly settle it"
        if decision.between_sessions is not None and decision.between_sessions > decision.between_runs:
            return (
                f"what is stored differs by {decision.between_sessions:.1%} from session to session, more than runs of one do "
                f"({decision.between_runs:.1%}): small losses are told in one session (-m patch, base against head); for "
                "this comparison give the rig a floor as wide as its machines differ ([floors] stored, docs/verdicts.md)"
            )
        return (
            f"more runs alone will hardly settle it while one differs from the next by {decision.between_runs:.1%}: "
            "look at clocks, heat and what else runs"
        )
    ways = []
    if decision.wants.now or decision.wants.before:
        ways.append(_restarts(rig, decision))
    if decision.wants.sessions:
        ways.append('add a session that is as it should be: tokgate baseline update RUN --append --why "…"')
    return f"{needs} would settle it if the number stays: {'; '.join(ways)}"


def _restarts(rig: Rig, decision: Decision) -> str:
    """Say how a session gets the restarts that are wanted: what the rig allows of them, of time or of both."""
    spec, wants, most = rig.sampling, decision.wants, decision.most
    of_an_arm = max(
        decision.runs_now - 1 + max(wants.now, most.now),
        decision.runs_before - 1 + max(wants.before, most.before) if wants.before else 0,
    )
    command = with_restarts(rig, of_an_arm)
    if of_an_arm > spec.most_restarts:
        return (
            f"it takes {of_an_arm} restarts of one arm in all, and the rig allows {spec.most_restarts} "
            f"(sampling.most_restarts): raise both that and the time for them: {command}; a box that has not the time for "
            "so many leaves it open"
        )
    if not spec.gpu_time_s:
        return f"let the session take restarts: {command}"
    return (
        f"give the session longer for restarts, where it ran out of its {restart_budget_s(rig):g} s: {command}; beside a "
        "loss of speed that is called, it is left open"
    )


def _more(number: int, most: int) -> str:
    """Return "1 more restart", "1 to 3 more restarts"."""
    return f"{number} to {most} more restarts" if most > number else many(number, "more restart")
