"""A change in words: why it was decided so, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records import Outcome
from tokgate.stats.bounds import MODES
from tokgate.stats.compare import p_words
from tokgate.stats.confirm import AGREE
from tokgate.stats.decision import Decision

from .family import chance
from .metrics import Metric
from .run_values import Asked

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


def within_controls(decision: Decision) -> bool:
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
        elif within_controls(decision):
            lacking = f"the controls lie up to {decision.moved:.1%} apart themselves"
    elif decision.loss > decision.floor:
        lacking = "the loss is not established"
    elif decision.kind == "side" and decision.high < decision.detect:
        lacking = "so large a gain passes when a second run of each side shows it"
    else:
        lacking = f"a loss of {decision.detect:.1%} is not excluded"
    return f"{span(decision)}: {lacking}{f', needs {needs}' if needs is not None else ''}"


def counts(decision: Decision) -> str:
    """Return "3 runs of 18 starts against 6 runs of 3 sessions"."""
    told = f"{many(decision.runs_now, 'run')} of {many(decision.starts_now, 'start')}"
    if not decision.runs_before:
        return told
    before = many(decision.runs_before, "run")
    if decision.kind == "stored":
        before += f" of {many(decision.sessions_before, 'session')}"
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


def many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _spread(sd: float, metric: Metric) -> str:
    return f"{sd:.2%}" if metric.scale == "ratio" else metric.text(sd)
