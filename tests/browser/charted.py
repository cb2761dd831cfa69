"""A session of which every chart has something to draw: three loads, timed verify calls, a watched machine, a history."""

from __future__ import annotations

import random
from pathlib import Path

from tests.report.test_gain import levels, session
from tests.stats.test_curves import HOT, holders, host, row
from tests.verdicts.evidence import make_run
from tests.verdicts.phase_evidence import NAME, carrying, phase, table
from tests.verdicts.telemetry_windows import watched, window
from tokgate.records import LaunchEvidence, Outcome, Reference, Verdict
from tokgate.records.phases import Phase, PhaseTable
from tokgate.records.telemetry import TelemetryRow
from tokgate.report.html_section import page
from tokgate.report.verdict_json import build
from tokgate.session.run_folder import with_samples
from tokgate.stats.curves import curves_of
from tokgate.stats.phases import quantiles
from tokgate.verdicts.baselines.history import Entry, entry_of

LEVELS = {"c1": 1.2, "c8": 1.1, "c32": 0.8}
RIG = levels(1, 8, 32)
SESSIONS = 24
BUDGET = 5.6


def charted(folder: Path) -> Path:
    """Write the page into `folder` and return its path."""
    control, *others = session(**LEVELS)
    run = make_run(*map(with_samples, (_watched(control), *others, carrying(_phases()))))
    (folder / "rig.json").write_text(RIG.model_dump_json(), encoding="utf-8")
    own = entry_of(RIG, run, ())
    assert own is not None
    lines = [_earlier(own, number).model_dump_json() for number in range(SESSIONS)]
    (folder / "history.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    budget = Verdict(
        check="verify_latency", outcome=Outcome.PASS, headline="verify within its budget", arm="eagle3-2step",
        launch=NAME, workload="c1", metric="verify_ms", value=5.3, unit="ms",
        reference=Reference(kind="budget", label="ceiling 5.6 ms", value=BUDGET),
    )  # fmt: skip
    path = folder / "report.html"
    path.write_text(page(build(run, (budget,), RIG), run, folder), encoding="utf-8")
    return path


def _watched(launch: LaunchEvidence) -> LaunchEvidence:
    rows: list[TelemetryRow] = [holders(0, 2048.0), holders(3, 2048.0), host(0, 0, 100), host(1, 50, 200)]
    rows += [
        row(i / 2, gpu=g, mhz=1980.0 - (i == 20) * 700, reasons=HOT if i in (20, 21) and g == 1 else 0)
        for i in range(70)
        for g in (0, 1)
    ]
    told = watched(*(window(b, workload="c1") for b in range(3)), window(3, workload="c8"))
    seen = {"telemetry": told.telemetry, "windows": told.windows, "curves": curves_of(rows)}
    return launch.model_copy(update=seen)


def _phases() -> PhaseTable:
    dice = random.Random(1)
    calls = [dice.gauss(5.3, 0.05) + (1.0 if dice.random() < 0.03 else 0.0) for _ in range(2000)]
    parts = ((Phase.DRAFT, 0.25), (Phase.DRAFT_EXTEND, 0.3), (Phase.REST, 0.05))
    return table(
        phase(quantiles_ms=quantiles(calls), n=len(calls), workload="c1"),
        *(phase(p, (ms,) * 6, workload="c1") for p, ms in parts),
        phase(source="device-timer", starts=(5.25,) * 6, workload="c1"),
    )


def _earlier(own: Entry, number: int) -> Entry:
    factor = (1.0 if number < SESSIONS // 2 else 0.94) * (1 + number % 3 / 1000)
    series = tuple(
        one.model_copy(
            update={
                "outcome": Outcome.PASS,
                "launches": {k: {n: v * factor for n, v in m.items()} for k, m in one.launches.items()},
            }
        )
        for one in own.series
    )
    day = f"2026-10-{1 + number:02}T02:00:00+00:00"
    return own.model_copy(update={"run_id": f"r{number:03}", "started_at": day, "series": series})
