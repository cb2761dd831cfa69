"""What the first screen is made of: causes and their evidence, or those of the leading verdict; steps and commands."""

from __future__ import annotations

import pytest

from tests.report import example_verdicts, examples
from tokgate.records import Difference, Outcome, Verdict
from tokgate.report.conclusion import PartJudged, SessionEnd, SessionOutcome
from tokgate.report.first_screen import FirstScreen, first_screen
from tokgate.report.verdict_json import build
from tokgate.verdicts.diagnosis.cause import Cause, Diagnosis, Strength


def screen(*verdicts: Verdict, diagnosed: bool = True) -> FirstScreen:
    file = build(examples.run_evidence(), verdicts, examples.rig())
    if not diagnosed:
        file = file.model_copy(update={"diagnosis": Diagnosis(note="nothing stands out")})
    return first_screen(file, "reports/A")


def test_the_first_causes_step_is_the_next_one_and_the_verdicts_own_is_kept() -> None:
    found = screen(*example_verdicts.six_outcomes())
    assert found.do == found.causes[0].do
    assert found.also is not None
    assert found.also.startswith("begin with") or "grep" in found.also
    assert found.evidence == ()
    assert "grep 'Decode batch' reports/A/launches/02-eagle3-2step/server.log" in found.commands


def test_no_piece_of_evidence_repeats_the_sentence_of_its_cause() -> None:
    for cause in screen(*example_verdicts.six_outcomes()).causes:
        assert cause.words not in (*cause.evidence, *cause.more)


def test_without_a_cause_the_leading_verdicts_evidence_stands_there() -> None:
    lost = example_verdicts.six_outcomes()[2]
    found = screen(lost, diagnosed=False)
    assert found.evidence == (*lost.evidence, *lost.warnings)
    assert found.no_cause == "nothing stands out"
    assert found.do == screen(lost, diagnosed=False).do
    assert found.also is None


def test_after_a_pass_nothing_has_to_be_done_and_the_numbers_may_be_kept() -> None:
    found = screen(example_verdicts.six_outcomes()[0], diagnosed=False)
    assert found.do.startswith("nothing has to be done")
    assert found.commands == ('tokgate baseline update reports/A --append --why "…"',)


def test_a_part_judged_again_is_nothing_to_store() -> None:
    end = SessionEnd(part=PartJudged(selection="perf_tests -k x", run_outcome=SessionOutcome.REGRESSED))
    file = build(examples.run_evidence(), [example_verdicts.six_outcomes()[0]], examples.rig(), end=end)
    found = first_screen(file.model_copy(update={"diagnosis": Diagnosis()}), "reports/A")
    assert found.answer.word == "No"
    assert found.commands == ()
    assert found.do.startswith("nothing for this part")


@pytest.mark.parametrize("simulated", [True, False])
def test_commands_for_the_cards_of_a_simulated_machine_are_not_offered(simulated: bool) -> None:
    do = "it lost track: nvidia-smi --gpu-reset -i 3, or a reboot; then pytest perf_tests -m eagle3 --rig sim"
    lost = example_verdicts.six_outcomes()[2].model_copy(update={"do": do})
    file = build(examples.run_evidence(simulated=simulated), (lost,), examples.rig(simulated=simulated))
    found = first_screen(file.model_copy(update={"diagnosis": Diagnosis(), "do": do}), "reports/A")
    again, reset = "pytest perf_tests -m eagle3 --rig sim", "nvidia-smi --gpu-reset -i 3"
    assert found.commands == ((again,) if simulated else (reset, again))
    said = " ".join(found.beside)
    assert ("if it was, the pytest commands here measure another machine" in said) is simulated
    assert ("not offered to copy" in said) is simulated


def test_the_command_to_copy_plays_again_what_the_machine_was_told_to_play() -> None:
    file = build(examples.run_evidence(simulated=True), (), examples.rig(simulated=True))
    told = file.model_copy(
        update={"diagnosis": Diagnosis(), "do": "then pytest perf_tests -m 'eagle3 or nccl' --rig sim"}
    )
    found = first_screen(told, "reports/A", "--sim-scenario incident")
    assert found.commands == ("pytest perf_tests -m 'eagle3 or nccl' --sim-scenario incident --rig sim",)
    assert found.beside == (
        "The pytest commands play again what this machine was told to play: --sim-scenario incident.",
    )


def test_a_weak_cause_is_told_and_leads_nobody() -> None:
    lost = example_verdicts.six_outcomes()[2]
    file = build(examples.run_evidence(), (lost,), examples.rig())
    weak = [cause.model_copy(update={"strength": Strength.WEAK}) for cause in file.diagnosis.causes]
    told = file.model_copy(update={"diagnosis": Diagnosis(causes=tuple(weak))})
    found = first_screen(told, "reports/A")
    assert found.causes
    assert not found.leads
    assert found.do == file.do
    assert found.evidence == (*lost.evidence, *lost.warnings)


def test_without_a_baseline_it_says_what_is_known_without_one_and_what_differs_from_the_nearest() -> None:
    passed, _, lost, *_ = example_verdicts.six_outcomes()
    won = lost.model_copy(update={"outcome": Outcome.PASS, "change": 0.05})
    missing = passed.model_copy(
        update={
            "check": "stored_baseline",
            "outcome": Outcome.NO_BASELINE,
            "evidence": ("client at 1.2% of its ceiling",),
            "differs": (Difference(key="args.tp_size", before="4", now="8"),),
        }
    )
    told = screen(missing, won, diagnosed=False).evidence
    assert told[0].startswith("without a stored number: EAGLE-3 60.2 against 88.5 tok/s, 1.05x its twin")
    assert told[1] == "the nearest stored one differs: args.tp_size: 4 → 8"
    assert len(told) == 2


def test_evidence_that_says_the_same_of_several_places_says_it_once() -> None:
    holder = "GPU 0: 1039 MiB are allocated, held by pid 4481 of root (python3 hold, since 14:00:22 UTC)"
    cause = Cause(
        name="machine not clean",
        strength=Strength.PROVEN,
        words=f"session start: {holder}",
        evidence_for=(f"session start: {holder}", f"before 01-a: {holder}", f"before 02-b: {holder}"),
        do="end it",
    )
    file = build(examples.run_evidence(), example_verdicts.six_outcomes(), examples.rig())
    found = first_screen(file.model_copy(update={"diagnosis": Diagnosis(causes=(cause,))}), "reports/A")
    assert found.causes[0].evidence == ("before 01-a, before 02-b: the same",)


def test_a_run_that_was_carried_elsewhere_is_named_by_where_it_lies() -> None:
    missing = example_verdicts.six_outcomes()[0].model_copy(update={"outcome": Outcome.NO_BASELINE})
    file = build(examples.run_evidence(), (missing,), examples.rig())
    away = file.model_copy(
        update={
            "run": file.run.model_copy(update={"report_dir": "/gone"}),
            "do": f'keep it: tokgate baseline update /gone/{file.run.run_id} --why "…"',
            "diagnosis": Diagnosis(note="nothing stands out"),
        }
    )
    assert first_screen(away, "/here/A").commands == ('tokgate baseline update /here/A --why "…"',)
