from __future__ import annotations

import re
from pathlib import Path

from tests.report.hostile import MARKUP
from tests.verdicts.evidence import make_rig, make_run
from tests.verdicts.phase_evidence import NO_PROBE, agreement, carrying, phase, table, untold
from tokgate.records.phases import Phase, PhaseTable, ProbeCost
from tokgate.report import closing
from tokgate.report.figures import NONE
from tokgate.report.html_section import page
from tokgate.report.phases import phase_rows, tables_of
from tokgate.report.summary_md import render
from tokgate.report.verdict_json import build
from tokgate.verdicts.checks.verify_latency import verify_latency

WHOLE = table(
    phase(),
    phase(rank=1, starts=(5.5,) * 6),
    phase(Phase.STEP, (6.0,) * 6, rank=1),
    phase(Phase.DRAFT, (0.25,) * 6, rank=1),
    phase(requests=8),
    agreements=(agreement(0.4, agrees=False),),
)


def surfaces(phases: PhaseTable) -> tuple[str, str]:
    run = make_run(carrying(phases))
    file = build(run, (), make_rig())
    return render(file, "reports/x"), page(file, run, Path("/nowhere"))


def test_the_slowest_rank_stands_for_a_launch_and_what_it_lacks_is_not_zero() -> None:
    (row,) = phase_rows([WHOLE])
    assert (row.rank, row.verify, row.verify_p50, row.cycle, row.draft) == (
        "1: longest, 2 ranks",
        "5.500",
        "5.500",
        "6.000",
        "0.250",
    )
    assert row.draft_extend == NONE
    assert row.graph == "100%"


def test_a_rank_that_is_slow_by_itself_has_a_row_and_it_is_the_one_the_verdict_names() -> None:
    """Of all calls rank 0 drafts as long; of the quietest start rank 2 alone does: the starts tell, in verdict.json too."""
    ranks = []
    for rank in range(4):
        own = 1.25 if rank == 2 else 1.0
        for p, ms in ((Phase.DRAFT, 0.25), (Phase.DRAFT_EXTEND, 0.29)):
            told = phase(p, (ms * own,) * 6, rank=rank)
            ranks.append(told.model_copy(update={"p50_ms": ms * 1.25}) if rank == 0 else told)
        ranks.append(phase(starts=(6.6 - 0.1 * rank,) * 6, rank=rank))
    whole = table(*ranks, phase(Phase.DRAFT, (0.25,) * 6, requests=8))
    (verdict, *_) = verify_latency(make_rig(), carrying(whole), "single")

    assert any(line.startswith("rank 2 is slow by itself") for line in verdict.evidence)
    for tables in ([whole], tables_of(make_run(carrying(whole)))):
        assert [row.rank for row in phase_rows(tables)] == ["0: longest, 4 ranks", "2: slow by itself"]


def test_verdict_json_has_the_readings_but_neither_starts_nor_batch_sizes() -> None:
    (kept,) = tables_of(make_run(carrying(WHOLE)))
    assert len(kept.readings) == 4
    assert not [r for r in kept.readings if r.starts or r.requests is not None]
    assert kept.agreements == WHOLE.agreements


def test_every_surface_shows_the_table_and_the_dispute() -> None:
    for text in surfaces(WHOLE):
        assert "Phases of a cycle" in text
        assert "5.500" in text
        assert "+40.0%" in text


def test_a_source_that_tells_nothing_is_named_with_its_reason() -> None:
    for text in surfaces(untold()):
        assert NO_PROBE in text


def test_a_run_without_instruments_has_no_such_section() -> None:
    for text in surfaces(table(phase(Phase.STEP, source="cycle", clock="wall"))):
        assert re.findall(r"<h3>Phases of a cycle|## Phases of a cycle", text) == []


def test_foreign_words_stay_words() -> None:
    for text in surfaces(table(phase(), unknown={"probe": MARKUP})):
        assert MARKUP not in text


def test_what_measuring_costs_stands_beside_what_it_measures() -> None:
    known = ProbeCost(workload="single", concurrency=1, pairs=6, slowdown=0.001, interval=(-0.002, 0.004))
    (row,) = phase_rows([WHOLE.model_copy(update={"cost": known})])
    assert row.cost == "below 0.40%"
    (row,) = phase_rows([WHOLE.model_copy(update={"cost": known.model_copy(update={"why": "no switch"})})])
    assert row.cost == "unknown"
    costly = WHOLE.model_copy(update={"cost": known})
    assert "below 0.40%" in surfaces(costly)[1]
    run = make_run(carrying(costly))
    printed = " ".join("\n".join(closing.lines(build(run, (), make_rig()), 80)).split())
    assert "probe on 05-eagle3-2step-phases costs: below 0.40% of decode time" in printed
    assert "95% interval -0.20% to +0.40%, 6 pairs on and off" in printed


def test_a_plain_server_with_instruments_has_a_row_of_its_step() -> None:
    (row,) = phase_rows([table(phase(Phase.DECODE, (11.1,) * 6))])
    assert (row.verify, row.cycle) == (NONE, "11.100")
