from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.test_since_baseline import only, stored
from tests.verdicts.baselines.drafting import RIG
from tests.verdicts.evidence import series
from tests.verdicts.phase_evidence import NAME, carrying, table
from tests.verdicts.test_launch_phases import whole
from tests.verdicts.test_split import ARM, run
from tokgate.records import Outcome, RunEvidence, Verdict
from tokgate.report.arithmetic import Arithmetic
from tokgate.report.cause import causes_of, of_change, of_session
from tokgate.report.since_baseline import SinceBaseline
from tokgate.report.terminal import render
from tokgate.report.verdict_file import VerdictFile
from tokgate.report.verdict_json import build
from tokgate.verdicts.cycle_side import WHICH_PHASE
from tokgate.verdicts.diagnosis import names
from tokgate.verdicts.diagnosis.cause import Cause, Diagnosis, Explained, Strength
from tokgate.verdicts.split import Split

CYCLE = 255 / 59.8 / 138 * 1e3
SLOWER = 1.2
ROW = Arithmetic(
    launch="02-eagle3", arm=ARM, workload="single", draft_model="/d", concurrency=1, cycle_ms=27.1,
    break_even_cycle_ms=23.1, headroom_ms=-4.0, verify_ms=22.9, verify_at_most_ms=18.9, verify_source="probe",
)  # fmt: skip


def regressed(check: str = "speculation_beats_its_twin", **changes: str) -> Verdict:
    fields = {"metric": "decode_tok_s", "arm": ARM, "workload": "single", "do": "look there", **changes}
    return Verdict.model_validate(
        {"check": check, "outcome": "regressed", "headline": "0.85x its twin", **fields}
    )


def slow_verify() -> RunEvidence:
    """A cycle longer by a fifth, and the instruments say that all of it is verify's."""
    after = run(SLOWER, run_id="now", phases=False)
    slow = carrying(table(*whole(verify=25.0 + (SLOWER - 1) * CYCLE))).model_copy(
        update={"generations": series((59.8 / SLOWER,) * 6, launch=NAME, verify_ct=138)}
    )
    return after.model_copy(update={"launches": (*after.launches, slow)})


def judged(folder: Path, *verdicts: Verdict, now: RunEvidence | None = None) -> VerdictFile:
    stored(folder, run())
    return build(now or slow_verify(), verdicts, RIG, folder=folder)


def split(folder: Path, now: RunEvidence) -> Split:
    found = only(now, folder).change
    assert found is not None
    return found


def test_the_phase_that_took_it_leads_headline_and_next_step(tmp_path: Path) -> None:
    cause = "verify 31.26 ms a cycle, baseline 25.06: -16.7 % of the -16.7 % in tok/s since the baseline, phases by probe"
    file = judged(tmp_path, regressed(), regressed("stored_baseline"))
    assert file.headline == f"0.85x its twin (and 1 more regressed); consistent with {cause}"
    assert file.do == f"begin with what it is consistent with: {cause}. look there"
    first, second = file.verdicts
    assert (first.do, second.do) == (file.do, "look there")
    assert "consistent with" in " ".join(render(file, "reports/x", colour=False).split())


def test_a_cause_that_takes_less_than_its_phase_is_told_with_its_own_size_alone(tmp_path: Path) -> None:
    """Two sizes of one loss in one sentence, beside a speed-up and a count, are nobody's answer."""
    stored(tmp_path, run())
    found = split(tmp_path, slow_verify())
    since = SinceBaseline(arm=ARM, workload="single", change=found)

    def told(share: float) -> str:
        explained = Explained(
            arm=ARM, workload="single", against="b", loss=0.167, share=share, by="what is left of verify"
        )
        cause = Cause(
            name=names.NO_GRAPH, strength=Strength.CONSISTENT, words="w", explains=(explained,), do="d"
        )
        return causes_of((since,), (), Diagnosis(causes=(cause,)))[ARM, "single"]

    assert told(0.140) == (
        "verify without a graph: verify 31.26 ms a cycle, baseline 25.06: -14.0 % of the -16.7 % in tok/s since the baseline"
    )
    assert told(1 - 1 / SLOWER).startswith("verify without a graph: verify 31.26 ms a cycle")


def test_the_verdict_on_the_stored_speed_has_the_phases_as_evidence(tmp_path: Path) -> None:
    (verdict,) = judged(tmp_path, regressed("stored_baseline")).verdicts
    assert verdict.evidence[-1].startswith(
        "with the phases of the launch that carries instruments: tok/s -16.7"
    )
    assert "verify -16.7" in verdict.evidence[-1]


@pytest.mark.parametrize(
    "changes",
    [{"workload": "conc8"}, {"arm": "other"}, {"check": "time_to_first_token", "metric": "ttft_ms"}],
)
def test_what_has_nothing_to_do_with_that_cycle_is_not_explained_by_it(
    tmp_path: Path, changes: dict[str, str]
) -> None:
    file = judged(tmp_path, regressed(**changes))
    assert (file.headline, file.do) == ("0.85x its twin", "look there")


def test_a_kept_verdict_and_an_unmoved_arm_have_no_cause(tmp_path: Path) -> None:
    kept = regressed().model_copy(update={"outcome": Outcome.PASS})
    assert "consistent" not in judged(tmp_path, kept).headline
    assert of_change(split(tmp_path, run(1.01))) is None
    assert judged(tmp_path, regressed(), now=run(1.01)).headline == "0.85x its twin"


def test_without_phases_in_store_the_cycle_is_named_and_what_verify_is_of_it_today(tmp_path: Path) -> None:
    stored(tmp_path, run(phases=False))
    found = split(tmp_path, run(SLOWER, run_id="now"))
    alone = of_change(found) or ""
    assert alone.startswith(
        "the cycle 37.08 ms, baseline 30.90: -16.7 % of the -16.7 % in tok/s since the baseline"
    )
    assert alone.endswith("; which phase of it is not known")
    since = SinceBaseline(arm=ARM, workload="single", change=found)
    told = causes_of((since,), (ROW,))[ARM, "single"]
    assert told.endswith(
        "; today verify is 22.90 ms of it (mean, probe), at most 18.90 to break even; what it was is not stored"
    )


def test_without_a_baseline_the_arithmetic_tells_what_verify_may_take() -> None:
    told = of_session(ROW) or ""
    assert told.startswith(
        "verify 22.90 of 27.10 ms a cycle (mean, probe), at most 18.90 ms with the rest of 4.20"
    )
    assert told.endswith("no baseline tells which of the two has moved")
    assert of_session(ROW.model_copy(update={"headroom_ms": 1.0})) is None
    assert of_session(ROW.model_copy(update={"verify_ms": None})) is None


def test_several_phases_are_named_the_largest_first(tmp_path: Path) -> None:
    stored(tmp_path, run())
    found = split(tmp_path, slow_verify())
    assert found.split is not None
    verify = next(s for s in found.split.shares if s.name == "verify")
    halves = {"verify": (0.4, 31.26), "draft": (0.6, 9.0), "extend": (0.01, 0.3)}
    shares = tuple(
        verify.model_copy(update={"name": name, "log": verify.log * part, "after": after})
        for name, (part, after) in halves.items()
    )
    told = (
        of_change(found.model_copy(update={"split": found.split.model_copy(update={"shares": shares})})) or ""
    )
    assert told.startswith("draft 9.00 ms a cycle, baseline 25.06: -10.4 %; verify 31.26 ms a cycle")
    assert "; together with the rest -16.7 % in tok/s since the baseline" in told
    assert "extend" not in told


def test_a_next_step_that_asks_for_the_phase_is_dropped_where_it_is_known(tmp_path: Path) -> None:
    file = judged(tmp_path, regressed(do=f"too long. {WHICH_PHASE}"))
    assert (file.do or "").endswith("phases by probe. too long.")
