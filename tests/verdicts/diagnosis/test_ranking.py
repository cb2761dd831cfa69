"""From evidence to ranked causes: what voids the numbers comes first, what is not it is said, and nothing is made up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.verdicts.evidence import (
    make_fingerprint,
    make_run,
    make_slate,
    restarted,
)
from tests.verdicts.telemetry_windows import window
from tokgate.records import (
    Finding,
    LaunchEvidence,
    Outcome,
    RunEvidence,
    StartFailure,
    VariableState,
    Verdict,
)
from tokgate.records.server import StartCause
from tokgate.rig.limits import Budget, Twin
from tokgate.verdicts.diagnosis import names
from tokgate.verdicts.diagnosis.cause import Cause, Diagnosis, Explained, Strength
from tokgate.verdicts.diagnosis.family import Found
from tokgate.verdicts.diagnosis.ledger import ledger
from tokgate.verdicts.diagnosis.ranking import NOTHING, diagnose, in_order
from tokgate.verdicts.diagnosis.speculation import phases

from .planted import CAUSES, RIG, changed, each, session, slow_base
from .stories import Story, no_graph

BAD = Verdict(check="decode_throughput", outcome=Outcome.INVALID, headline="it cannot be judged")


def found(run: RunEvidence, *verdicts: Verdict) -> Diagnosis:
    return diagnose(RIG, run, verdicts or (BAD,), {})


def ranked(run: RunEvidence, *verdicts: Verdict) -> list[str]:
    return [cause.name for cause in found(run, *verdicts).causes]


def one(causes: tuple[Cause, ...], name: str) -> Cause:
    (cause,) = (c for c in causes if c.name == name)
    return cause


def test_a_session_that_passes_has_no_causes() -> None:
    passes = Verdict(check="decode_throughput", outcome=Outcome.PASS, headline="fine")
    assert found(session(), passes) == Diagnosis()
    dirty = make_fingerprint({"sglang.dirty": "yes"})
    assert found(session(fingerprint=dirty), passes).causes == ()


@pytest.mark.parametrize("gpus", [0, 8])
def test_cards_are_to_cool_only_where_there_are_cards(gpus: int) -> None:
    rig = RIG.model_copy(update={"gpus": RIG.gpus.model_copy(update={"count": gpus})})
    do = one(diagnose(rig, CAUSES[names.DRIFT](), (BAD,), {}).causes, names.DRIFT).do
    assert ("nvidia-smi" in do) is (gpus > 0)
    assert "raise warmup" in do


def test_where_nothing_stands_out_that_is_said_and_what_was_looked_at() -> None:
    told = found(session())
    assert told.causes == ()
    assert told.note == NOTHING
    not_it = {c.name: c.words for c in told.excluded}
    assert not_it[names.NCCL] == "the whole block is proven in all 2 ranks"
    assert names.UNCLEAN in not_it
    assert names.TREE in not_it
    assert "the plain arm is within the limits of the rig" in not_it[names.BASE]


@pytest.mark.parametrize("name", CAUSES)
def test_what_is_planted_is_ranked_first(name: str) -> None:
    told = found(CAUSES[name]())
    assert told.causes[0].name == name, [c.words for c in told.causes]
    assert told.causes[0].do
    assert told.causes[0].strength in (Strength.PROVEN, Strength.CONSISTENT)
    assert name not in [c.name for c in told.excluded]


def _verdicts() -> Iterator[tuple[str, Verdict]]:
    yield names.LOSSY, Verdict(check="lossless", outcome=Outcome.REGRESSED, headline="changes the output")
    yield (
        names.PROBE,
        Verdict(
            check="probe_cost",
            outcome=Outcome.INVALID,
            headline="the probe costs 2 %",
            value=2.0,
            interval=(1.0, 3.0),
        ),
    )
    yield (
        names.NCCL_COSTS,
        Verdict(check="nccl_tuning", outcome=Outcome.REGRESSED, headline="the block costs 4 %", change=-0.04),
    )


@pytest.mark.parametrize(("name", "verdict"), list(_verdicts()))
def test_what_a_check_has_found_is_ranked_first(name: str, verdict: Verdict) -> None:
    assert ranked(session(), verdict)[0] == name


def test_an_ab_of_this_session_isolates() -> None:
    told = found(session(), *(v for _, v in _verdicts()))
    isolated = {c.name: c.isolated_by for c in told.causes if c.strength is Strength.ISOLATED}
    assert set(isolated) == {names.PROBE, names.NCCL_COSTS}
    assert all(isolated.values())
    assert all(c.isolated_by is None for c in told.causes if c.strength is Strength.CONSISTENT)


def test_an_ab_that_found_nothing_excludes_and_is_named() -> None:
    bought = Verdict(check="nccl_tuning", outcome=Outcome.PASS, headline="the block buys 40 %", change=0.4)
    cause = one(found(session(), BAD, bought).excluded, names.NCCL)
    assert cause.isolated_by is not None
    assert cause.evidence_against == ("the block buys 40 %",)


def test_what_voids_the_numbers_comes_before_every_loss_whose_size_is_known() -> None:
    run = slow_base()
    finding = Finding(severity="unclean", what="GPU 3: 1894 MiB are allocated", do="find its owner")
    run = run.model_copy(update={"slate_at_start": make_slate(findings=(finding,))})
    assert ranked(run) == [names.UNCLEAN, names.BASE]


def test_a_machine_that_was_not_clean_at_restarts_alone_only_says_why_nothing_was_confirmed() -> None:
    """The loss was measured before, on a clean machine: what keeps a restart from starting is not its cause."""
    run = slow_base()
    finding = Finding(severity="unclean", what="4 processes of the run x are still there", do="wait")
    late = restarted(run.launches[0]).model_copy(
        update={
            "slate": make_slate("before 07-baseline-restart-1", findings=(finding,)),
            "server": None,
            "generations": (),
        }
    )
    told = found(run.model_copy(update={"launches": (*run.launches, late)}))
    assert [c.name for c in told.causes] == [names.BASE, names.LATE]
    assert "restarts were not started for it" in told.causes[1].words


def test_a_regression_without_a_cause_has_not_too_few_values() -> None:
    """1.34x where the rig asks 1.5x: nothing is slower than it was, the limit asks more."""
    lost = Verdict(
        check="speculation_beats_its_twin",
        outcome=Outcome.REGRESSED,
        headline="1.34x its twin, below 1.5x",
        arm="eagle3-2step",
        workload="single",
        change=0.34,
    )
    rig = RIG.model_copy(update={"twins": (Twin(at_least=1.5),)})
    note = diagnose(rig, session(), [lost], {}).note
    assert note is not None
    assert "too few values" not in note
    assert (
        "is 1.34x as fast as its twin and the rig asks 1.50x, so the limit asks more than this pair gives"
        in note
    )


def test_a_launch_that_never_started_is_no_probe_that_costs_speed() -> None:
    verdict = Verdict(
        check="probe_cost", outcome=Outcome.INVALID, headline="did not start", launch="02-eagle3-2step"
    )
    failure = StartFailure(cause=StartCause.BAD_ARGUMENT, headline="refused", do="write it right")
    run = changed(session(), 1, failure=failure, server=None, generations=())
    assert names.PROBE not in ranked(run, verdict)


def test_a_probe_whose_cost_nobody_could_measure_is_no_cause() -> None:
    """Nothing was started, so the check is invalid for the machine's sake: that is no evidence on the probe."""
    verdict = Verdict(
        check="probe_cost", outcome=Outcome.INVALID, headline="not clean session start: GPU 3 holds 1894 MiB"
    )
    told = found(session(), verdict)
    assert names.PROBE not in [c.name for c in (*told.causes, *told.excluded)]


def test_a_cycle_that_misses_limits_in_an_invalid_session_leads_nobody() -> None:
    """The bench is at fault, nothing is stored: 43.9 % of the 43.9 % are no finding, they are the same number twice."""
    floor = Budget(metric="decode_tok_s", arm="eagle3-2step", workload="single", at_least=200.0)
    rig = RIG.model_copy(update={"budgets": (floor,)})
    lost = Verdict(check="decode_throughput", outcome=Outcome.REGRESSED, headline="below its floor")
    (void,) = (c for c in diagnose(rig, session(), [BAD], {}).causes if c.name == names.CYCLE)
    (real,) = (c for c in diagnose(rig, session(), [BAD, lost], {}).causes if c.name == names.CYCLE)
    assert (void.strength, real.strength) == (Strength.WEAK, Strength.CONSISTENT)
    assert "no verdict rests on" in void.evidence_against[0]


def test_a_patched_tree_that_cost_the_plain_arm_nothing_is_excluded() -> None:
    run = session(fingerprint=make_fingerprint({"sglang.dirty": "yes"}))
    cause = one(found(run).excluded, names.TREE)
    assert "the plain arm lost nothing with it" in cause.words
    assert cause.evidence_against


def test_a_patched_tree_beside_a_loss_of_the_plain_arm_takes_it() -> None:
    run = slow_base().model_copy(
        update={"fingerprint": make_fingerprint({"sglang.dirty": "yes", "sglang.changed": "1: scheduler.py"})}
    )
    (cause,) = found(run).causes
    assert (cause.name, cause.strength) == (names.TREE, Strength.CONSISTENT)
    assert cause.share == pytest.approx(1 - 40.0 / 44.0, abs=0.002)
    assert "scheduler.py" in cause.evidence_for[0]


def test_a_variable_that_cannot_be_read_leaves_nccl_open_and_last() -> None:
    def erased(launch: LaunchEvidence) -> dict[str, object]:
        assert launch.environment is not None
        rows = tuple(
            r.model_copy(update={"state": VariableState.ERASED, "found": None})
            if r.process.startswith("scheduler")
            else r
            for r in launch.environment.rows
        )
        return {"environment": launch.environment.model_copy(update={"rows": rows})}

    told = found(each(slow_base(), erased))
    assert [c.name for c in told.causes] == [names.BASE, names.NCCL]
    assert told.causes[-1].strength is Strength.WEAK
    assert "SPT_NOENV=1" in told.causes[-1].do


def test_it_is_a_function_of_the_evidence_alone() -> None:
    assert found(slow_base()) == found(slow_base())


def test_an_empty_session_is_told_as_one() -> None:
    assert found(make_run()).causes == ()


def test_a_client_that_nobody_could_judge_is_no_cause() -> None:
    """The launch was invalid for another reason; the check on the client says so too."""
    verdict = Verdict(check="client_headroom", outcome=Outcome.INVALID, headline="GPU 5 ran at 1944 MHz")
    assert names.CLIENT not in ranked(session(), verdict)


def cause(name: str, share: float, workload: str, arm: str = "eagle3-2step") -> Cause:
    explained = Explained(
        arm=arm, workload=workload, against="baseline", loss=share, share=share, by="phases"
    )
    return Cause(name=name, strength=Strength.CONSISTENT, words=name, explains=(explained,), do="look")


@pytest.mark.parametrize(
    ("verify", "arm", "first"),
    [
        (
            0.194,
            "eagle3-2step",
            "verify slower",
        ),  # the same loss under two loads, named by the one that was looked into
        (0.05, "eagle3-2step", names.CYCLE),  # most of it has no name yet
        (0.194, "eagle3-3step", names.CYCLE),  # another arm's verify says nothing of this one's cycle
    ],
)
def test_a_cycle_without_phases_follows_the_load_that_names_what_is_longer(
    verify: float, arm: str, first: str
) -> None:
    unnamed, named = cause(names.CYCLE, 0.196, "conc8"), cause("verify slower", verify, "single", arm)
    assert in_order([unnamed, named])[0].name == first


def test_numbers_that_moved_on_a_busy_host_are_consistent_with_it_and_gpus_alone_are_said_to_be_free() -> (
    None
):
    busy = tuple(window(b, host_busy=0.98, load1=6.8) for b in range(6))
    run = each(session(), lambda _: {"windows": busy})
    moved = Verdict(
        check="steadiness", outcome=Outcome.INVALID, headline="the warm-up of single was not over",
        launch="01-baseline", workload="single", value=44.6,
    )  # fmt: skip
    cause = one(found(run, moved).causes, names.BUSY_HOST)
    assert "all cores of the host 98% busy in 6 of 6 windows, load 6.8 at most" in cause.words
    told = found(run)
    assert told.causes == ()  # steady numbers on a busy host: nothing is to be explained by it
    free = one(told.excluded, names.FOREIGN).words
    assert free.startswith(
        "nobody else computed on the GPUs in any of 18 windows; all cores of the host 98% busy"
    )
    few = moved.model_copy(update={"headline": "n=4 cannot show a trend, needs 1 more"})
    assert found(run, few).causes == ()


def test_a_phase_whose_growth_another_cause_takes_is_no_excluded_one() -> None:
    story = Story()
    no_graph(story)
    case = story.case()
    told = tuple(phases(case, Found(marks=story.marks, charges=ledger(case, story.marks))))
    host = one(told, names.HOST)
    assert host.strength is Strength.ACCOUNTED
    assert host.words == "rest 0.47 ms after 0.17, accounted for by verify without a graph"
    draft = one(told, names.DRAFT)
    assert draft.strength is Strength.EXCLUDED
    assert draft.words == "draft 0.25 ms after 0.25, extend 0.29 ms after 0.29"
