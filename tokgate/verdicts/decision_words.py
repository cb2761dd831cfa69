"""A change in words: why it was decided so, what would settle it, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records import Outcome
from tokgate.rig.models import Rig
from tokgate.rig.restart_budget import restart_budget_s
from tokgate.stats.bounds import MODES
from tokgate.stats.compare import p_words
from tokgate.stats.confirm import AGREE
from tokgate.stats.decision import Decision, Wants

from .family import chance
from .metrics import Metric
from .run_again import with_restarts
from .run_values import Asked
from .subjects import PHASES

_AGAINST = {
    Outcome.REGRESSED: "worse than",
    Outcome.IMPROVED: "better than",
    Outcome.INCONCLUSIVE: "undecided against",
}


_REFERENCES = {"stored": "what is stored", "limit": "the limit", "twin": "its twin", "side": "its base"}


def span(decision: Decision) -> str:
    low, high = decision.interval
    return f"interval {low:+.1%} to {high:+.1%}"


def against(decision: Decision) -> str:
    """Return what a change is "against" its reference, "no loss" say: nothing that the printed interval contradicts."""
    if decision.outcome is not Outcome.PASS:
        return _AGAINST[decision.outcome]
    if decision.loss > decision.floor:
        return f"no loss of {decision.detect:.1%} against"
    if _is_a_loss(decision):
        return f"a loss below the floor of {decision.floor:.1%} against"
    return "no loss against"


def seen(decision: Decision) -> str:
    """Return which loss there would have been no missing: what this one is not, with the power asked for."""
    if decision.high <= 0:
        return "any loss would have been seen"
    if _is_a_loss(decision):
        return f"it is at most {decision.high:.1%}"
    return f"a loss of {decision.high:.1%} would have been seen"


def lacks_confirmation(decision: Decision) -> bool:
    """Say whether a loss beyond the floor is established, and restarts have not confirmed it."""
    return decision.established and decision.loss > decision.floor and not decision.confirmed


def _is_a_loss(decision: Decision) -> bool:
    low, high = decision.interval
    return decision.loss > 0 and not low <= 0 <= high


def _within_controls(decision: Decision) -> bool:
    """Say whether a loss is there and may be no more than the machine has moved by."""
    return decision.established and (decision.moved is None or decision.low <= decision.moved)


def why(decision: Decision, needs: str | None) -> str:
    """Return half a sentence for the headline."""
    if decision.outcome is Outcome.PASS:
        return f"{span(decision)}; {seen(decision)}"
    if decision.outcome is not Outcome.INCONCLUSIVE:
        return span(decision)
    if decision.established and decision.loss > decision.floor:
        lacking = "not confirmed by restarts"
        if decision.moved is None:
            lacking = "how far the controls lie apart is not known"
        elif _within_controls(decision):
            lacking = f"the controls lie up to {decision.moved:.1%} apart themselves"
    elif decision.loss > decision.floor:
        lacking = "the loss is not established"
    elif decision.kind == "side" and decision.high < decision.detect:
        lacking = "so large a gain passes when a second run of each side shows it"
    else:
        lacking = f"a loss of {decision.detect:.1%} is not excluded"
    return f"{span(decision)}: {lacking}{f', needs {needs}' if needs is not None else ''}"


def needs_of(
    wants: Wants,
    *,
    arm: str,
    twin: str | None = None,
    instruments: bool = False,
    baseline: str = "in the baseline",
) -> str | None:
    """Return "2 more restarts of eagle3-2step and 1 more session in the baseline"; None where nothing is in reach.

    `instruments`: the arm's runs carry them.
    """
    parts = []
    if wants.now:
        carrying = " with instruments" if instruments else ""
        parts.append(f"{_many(wants.now, 'more restart')} of {arm}{carrying}")
    if wants.before:
        parts.append(f"{_many(wants.before, 'more restart')} of {twin or 'its twin'}")
    if wants.sessions:
        parts.append(f"{_many(wants.sessions, 'more session')} {baseline}")
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
    if needs is None and _within_controls(decision):
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
    spec, wants = rig.sampling, decision.wants
    of_an_arm = max(
        decision.runs_now - 1 + wants.now, decision.runs_before - 1 + wants.before if wants.before else 0
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


def counts(decision: Decision) -> str:
    """Return "3 runs of 18 starts against 6 runs of 3 sessions"."""
    told = f"{_many(decision.runs_now, 'run')} of {_many(decision.starts_now, 'start')}"
    if not decision.runs_before:
        return told
    before = _many(decision.runs_before, "run")
    if decision.kind == "stored":
        before += f" of {_many(decision.sessions_before, 'session')}"
    return f"{told} against {before}"


def evidence_of(
    decision: Decision, asked: Asked, metric: Metric, *, limit: float | None = None
) -> Iterator[str]:
    """Yield what the outcome rests on: counts, bounds, how far runs and sessions differ, where a prior weighs more.

    `limit`: the speed-up over the twin that loss and bounds are held against; None: they are against the reference.
    """
    yield f"{p_words(decision.p)} of no {'loss' if limit is None else 'shortfall'}, {counts(decision)}"
    power, level = f"power {1 - asked.rule.miss:.0%}", f"level {chance(decision.level)}"
    floor = f", beyond the floor of {decision.floor:.1%}" if decision.floor else ""
    if limit is None:
        what, told = "a loss", _bounds(decision, power, level)
    else:
        what, told = f"a shortfall below the limit {limit:g}x", _speed_up(decision, limit, power, level)
    yield f"{told}; {what} would have been called from {decision.smallest:.1%} on{floor}"
    yield f"level of look {decision.look}, half of what is left of {asked.share.words}"
    yield from noise_of(decision, metric)
    if decision.moved is None:
        yield "how far the controls of this session lie apart by it is not known: no loss of it is called"
    elif decision.moved:
        yield f"the controls of this session lie up to {decision.moved:.2%} apart: no loss below that is called"
    if decision.modes is not None and decision.loss > decision.floor:
        yield f"a server whose restarts fall into two modes shows this with a chance of at most {decision.modes:.1%}"


def _bounds(decision: Decision, power: str, level: str) -> str:
    """Say between which bounds the loss is, or the gain where it is surely none."""
    low, high = decision.low, decision.high
    reference = _REFERENCES[decision.kind]
    if high <= 0:
        return f"better than {reference} by {-high:.1%} at least ({power}), by {-low:.1%} at most ({level})"
    if low < 0:
        return (
            f"against {reference} the loss is {high:.1%} at most ({power}), and it may be a gain of up to {-low:.1%} "
            f"({level})"
        )
    return f"against {reference} the loss is {high:.1%} at most ({power}), {low:.1%} at least ({level})"


def _speed_up(decision: Decision, limit: float, power: str, level: str) -> str:
    """Say the same of a speed-up, as a change from the twin: what is held against `limit` is a loss from that."""
    least, most = limit * (1 - decision.high) - 1, limit * (1 - decision.low) - 1
    word = "gain" if least > 0 else "loss" if most < 0 else "change"
    return f"{word} between {least:+.1%} ({power}) and {most:+.1%} ({level}) over its twin"


def noise_of(decision: Decision, metric: Metric) -> tuple[str, ...]:
    """Return what an interval is as wide as it is for: how far runs and sessions differ, and by which prior."""
    apart = f"one run differs from the next by {_spread(decision.between_runs, metric)}"
    if decision.between_sessions is not None:
        apart += f", sessions beyond that by {_spread(decision.between_sessions, metric)}"
    return (f"{apart} (standard deviations)", *decision.notes)


def warnings_of(decision: Decision, asked: Asked) -> tuple[str, ...]:
    few = decision.runs_now < AGREE if decision.modes is None else decision.modes > MODES
    if asked.rule.confirm or not few or decision.outcome is not Outcome.REGRESSED:
        return ()
    return ("not confirmed by restarts: the rig has sampling.gpu_time_s = 0",)


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _spread(sd: float, metric: Metric) -> str:
    return f"{sd:.2%}" if metric.scale == "ratio" else metric.text(sd)
