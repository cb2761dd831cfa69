"""Whether an arm that is to speculate did, and whether that was of any use."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import Generation, Summary
from tokgate.rig.models import ArmSpec
from tokgate.stats.summary import summarise

from .establish import Established
from .shortfall import Shortfall

USELESS = 1.05  # below this a verify call yields one token in twenty for its price
LOOK_AT_THE_DRAFT = (
    "check that the draft belongs to this target and was really loaded (dummy weights accept nothing)"
)
# What is told where nothing but OpenAI's usage is: a server that speculates may be as silent there.
_TELLS_NOTHING = ("openai-usage", "unknown")


def pooled(good: Sequence[Generation]) -> tuple[int, int]:
    """Return completion tokens and verify calls of all generations that told both."""
    pairs = [
        (g.counters.completion_tokens, g.counters.spec.verify_ct)
        for g in good
        if g.counters is not None and g.counters.spec is not None
    ]
    told = [(tokens, calls) for tokens, calls in pairs if tokens is not None and calls is not None]
    return (sum(t for t, _ in told), sum(c for _, c in told))


def is_off(arm: ArmSpec, established: Established) -> Shortfall | None:
    """Say that an arm's server does no speculation: it counts no verify call where a speculating one counts them.

    None where it does, and where the endpoint would not tell.
    """
    if arm.kind != "eagle3" or pooled(established.good)[1] > 0:
        return None
    told = [g.counters for g in established.good if g.counters is not None]
    silent = [
        c for c in told if c.dialect in _TELLS_NOTHING or (c.spec is not None and c.spec.verify_ct is None)
    ]
    if silent or len(told) < len(established.good):
        return None
    return Shortfall(
        what=f"speculation is off: not one of {len(told)} answers counts a verify call (spec_verify_ct)",
        do=f"find out why the server dropped the draft model: launches/{established.launch.launch.id}/server.log and "
        "server_info.json; until then these are numbers of a plain server under an arm's name",
        evidence=("off is not the same as an accept length of 1.0: that would be on and useless",),
    )


def usefulness(runs: Sequence[Established]) -> tuple[bool | None, Summary] | None:
    """Return whether a verify call is worth its price, and the accept lengths of all starts; None: not known.

    It is a count that weights and prompts decide, not a time that differs from one server run to the next, so the
    starts decide. False: in every run the whole interval lies at USELESS or below. True: above it, in every run. None
    as answer: it straddles, the runs disagree, or too few starts for an interval.
    """
    series = [run.series["accept_length"] for run in runs if "accept_length" in run.series]
    if len(series) < len(runs):
        return None
    answers = {_useful(summarise(one.values)) for one in series}
    together = summarise([v for one in series for v in one.values])
    return (answers.pop() if len(answers) == 1 else None, together)


def _useful(summary: Summary) -> bool | None:
    if summary.interval is None:
        return True if summary.median > USELESS else None
    low, high = summary.interval
    return True if low > USELESS else False if high <= USELESS else None


def useless_words(runs: Sequence[Established]) -> str | None:
    """Return "speculation is on and useless (accept length 1.00)"; None where it is not established."""
    found = usefulness(runs)
    if found is None or found[0] is not False:
        return None
    return f"speculation is on and useless (accept length {found[1].median:.2f})"
