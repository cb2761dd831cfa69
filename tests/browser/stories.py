"""Sessions to look at: what was measured and judged, as the reports are made of it; each a few lines on tests/report's example."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.report import example_verdicts, examples
from tokgate.records import LaunchEvidence, Outcome, RunEvidence, Verdict
from tokgate.rig.models import Rig


class Story(NamedTuple):
    evidence: RunEvidence
    verdicts: tuple[Verdict, ...]
    rig: Rig


def regressed() -> Story:
    return _of(example_verdicts.six_outcomes(), simulated=True)


def green() -> Story:
    """Every promise kept: two launches, no start that failed, checks by the dozen."""
    passed, improved = example_verdicts.six_outcomes()[:2]
    won = example_verdicts.six_outcomes()[2].model_copy(
        update={
            "outcome": Outcome.PASS,
            "headline": "speculation wins: 93.5 tok/s where the control arm makes 88.5 (+5.6 %)",
            "value": 93.5,
            "change": 0.056,
            "interval": (0.051, 0.061),
            "warnings": (),
            "evidence": ("cycle 19.7 ms, break-even 20.9 ms at accept length 1.85",),
            "do": None,
        }
    )
    story = _of((won, improved, *[passed] * 20))
    kept = tuple(e for e in story.evidence.launches if e.failure is None)
    return story._replace(evidence=story.evidence.model_copy(update={"launches": kept}))


def invalid() -> Story:
    return _of((example_verdicts.six_outcomes()[4], *example_verdicts.six_outcomes()[:2]))


def inconclusive() -> Story:
    return _of((example_verdicts.six_outcomes()[3], *example_verdicts.six_outcomes()[:2]))


def hostile() -> Story:
    """Everything foreign is an attack, in a simulated session."""
    return _of(example_verdicts.verdicts(), simulated=True)


def large() -> Story:
    """As long as a night's session gets: ten launches of both workloads, and a hundred and fifty verdicts, half of them lost."""
    story = regressed()
    launches = [_launch(number) for number in range(1, 11)]
    lost, kept = example_verdicts.six_outcomes()[2], example_verdicts.six_outcomes()[0]
    verdicts = [
        (lost if number % 2 else kept).model_copy(
            update={
                "launch": launches[number // 15].launch.id,
                "arm": launches[number // 15].launch.arm,
                "workload": "conc4" if number % 3 == 0 else "single",
                "value": 60.0 + number,
                "change": -0.001 * number,
                "evidence": tuple(f"line {line} of what was seen of verdict {number}" for line in range(20)),
            }
        )
        for number in range(150)
    ]
    evidence = story.evidence.model_copy(update={"launches": tuple(launches)})
    return story._replace(evidence=evidence, verdicts=tuple(verdicts))


def _launch(number: int) -> LaunchEvidence:
    arm = ("baseline", "eagle3-2step")[number % 2]
    return examples.launch_evidence(
        f"{number:02}-{arm}",
        arm,
        "arm" if number % 2 else "control",
        tok_s=60.0 + number,
        accept=1.85 if number % 2 else None,
    )


STORIES: dict[str, Callable[[], Story]] = {
    f.__name__: f for f in (regressed, green, invalid, inconclusive, hostile, large)
}


def _of(verdicts: tuple[Verdict, ...], *, simulated: bool = False) -> Story:
    return Story(examples.run_evidence(simulated=simulated), verdicts, examples.rig(simulated=simulated))
