from __future__ import annotations

from tests.verdicts.evidence import controls, eagle3, make_rig, make_run
from tests.verdicts.phase_evidence import NAME, carrying, phase, table, untold
from tokgate.records import LaunchEvidence, Outcome, Reference, Verdict
from tokgate.records.phases import Phase
from tokgate.report.charts.cycle import cycle
from tokgate.report.charts.drawing import Figure
from tokgate.report.verdict_json import build

PHASES = table(
    phase(),
    phase(rank=1, starts=(5.5,) * 6),
    *(
        phase(p, (ms,) * 6, rank=1)
        for p, ms in ((Phase.DRAFT, 0.25), (Phase.DRAFT_EXTEND, 0.3), (Phase.REST, 0.05))
    ),
    phase(source="device-timer", starts=(5.4,) * 6),
    phase(Phase.DECODE, (22.4,) * 6, source="cycle", clock="wall", workload="single"),
)


def budget(value: float, label: str) -> Verdict:
    return Verdict(
        check="verify_latency", outcome=Outcome.PASS, headline="x", arm="eagle3-2step", launch=NAME,
        workload="single", metric="verify_ms", value=5.3, reference=Reference(kind="budget", label=label, value=value),
    )  # fmt: skip


def drawn(*verdicts: Verdict, launches: tuple[LaunchEvidence, ...] = (carrying(PHASES),)) -> Figure:
    return cycle(build(make_run(*controls(), eagle3(), *launches), verdicts, make_rig()))


def test_a_bar_per_source_is_made_of_its_phases_and_the_control_has_its_step() -> None:
    (panel,) = drawn().views[0].panels
    told = {t.label: t.y for t in panel.traces}
    assert told == {
        "verify": (5.5, 5.4, None),
        "draft": (0.25, None, None),
        "draft_extend": (0.3, None, None),
        "rest": (0.05, None, None),
        "decode step of the control": (None, None, 22.4),
    }
    assert [t.label.split("\n")[1] for t in panel.x.ticks] == [
        "probe (gpu)",
        "device-timer (gpu)",
        "wall time",
    ]
    assert panel.traces[0].facts["launch"][0] == f"{NAME}, probe (gpu), rank 1"
    assert panel.y.unit == "ms"


def test_verify_stands_on_the_axis_so_that_its_budget_is_a_height() -> None:
    (panel,) = drawn(budget(5.8, "ceiling 5.8 ms"), budget(5.6, "break-even / 1.02")).views[0].panels
    assert panel.traces[0].label == "verify"
    assert panel.y.low == 0
    lines = {line.label: line for line in panel.lines}
    ceiling = lines["verify budget of eagle3-2step, ceiling 5.8 ms: 5.80 ms"]
    derived = lines["verify budget of eagle3-2step, break-even / 1.02: 5.60 ms"]
    assert (ceiling.at, derived.at) == (5.8, 5.6)
    assert ceiling.dash != derived.dash
    assert ceiling.first is not None
    assert ceiling.last is not None
    assert ceiling.first < 0
    assert 1 < ceiling.last < 2  # over the bars of its arm alone


def test_without_a_verdict_on_verify_the_break_even_of_the_arithmetic_is_drawn() -> None:
    labels = [line.label for line in drawn().views[0].panels[0].lines]
    assert any(label.startswith("break-even of a whole cycle of eagle3-2step: ") for label in labels)


def test_it_says_on_which_side_of_break_even_a_cycle_is() -> None:
    (says,) = drawn().says
    assert "eagle3-2step: " in says
    assert "its break-even of " in says


def test_the_table_has_what_the_picture_has() -> None:
    figure = drawn()
    assert figure.rows[0] == (
        NAME,
        "single",
        "probe (gpu), rank 1",
        "5.500",
        "0.250",
        "0.300",
        "0.050",
        "6.100",
    )
    assert len(figure.rows) == 3


def test_without_a_phase_it_says_why() -> None:
    nothing = drawn(launches=(carrying(untold()),))
    assert nothing.views == ()
    assert "no scheduler has written a file of the probe" in nothing.says[0]
    assert "No launch carried instruments." in drawn(launches=()).says[0]
