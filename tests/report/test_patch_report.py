"""A session on a change: both answers on every surface, what they say together, and whether it may merge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report import examples
from tests.report.hostile import HOSTILE, MARKUP
from tests.verdicts.side_evidence import sides_made
from tokgate.records import Outcome, Reference, RunEvidence, Verdict
from tokgate.records.side import SidesMade
from tokgate.report.conclusion import SessionEnd
from tokgate.report.first_screen import first_screen
from tokgate.report.html_section import page
from tokgate.report.summary_md import render as markdown
from tokgate.report.terminal import render as terminal
from tokgate.report.terminal_last import last_words
from tokgate.report.verdict_file import VerdictFile
from tokgate.report.verdict_json import build
from tokgate.rig.models import Rig
from tokgate.rig.sides import SidesSpec

ARM = "eagle3-2step"


def rig(question: str = "patch", *, simulated: bool = False) -> Rig:
    spec = SidesSpec.model_validate({"repository": "/src/sglang", "base": "main", "question": question})
    return examples.rig(simulated=simulated).model_copy(update={"sides": spec})


def evidence(made: SidesMade | None = None, *, simulated: bool = False) -> RunEvidence:
    found = examples.run_evidence(simulated=simulated)
    return found.model_copy(update={"sides": made or sides_made()})


def against_base(
    outcome: Outcome, change: float, *, base: float = 94.0, metric: str = "decode_tok_s"
) -> Verdict:
    return Verdict(
        check="patch",
        outcome=outcome,
        headline=f"decode {base * (1 + change):.1f} tok/s with the change, {base:.1f} without",
        arm=ARM,
        launch="02-eagle3-2step",
        workload="single",
        metric=metric,
        value=base * (1 + change),
        unit="tok/s",
        interval=(change - 0.003, change + 0.003),
        change=change,
        floor="2.0% and 0.5 tok/s, both exceeded",
        reference=Reference(kind="side", label="base main", value=base),
        do="find which part costs",
    )


def against_anchor(outcome: Outcome, change: float, *, stored: float = 94.0) -> Verdict:
    return Verdict(
        check="stored_baseline",
        outcome=outcome,
        headline=f"decode {stored * (1 + change):.1f} tok/s, stored {stored}",
        arm=ARM,
        launch="02-eagle3-2step",
        workload="single",
        metric="decode_tok_s",
        value=stored * (1 + change),
        unit="tok/s",
        interval=(change - 0.01, change + 0.01),
        change=change,
        floor="2.0% and 0.5 tok/s, both exceeded",
        reference=Reference(kind="baseline", label="baselines/x.json", value=stored),
        do="see what differs",
    )


def file_of(*verdicts: Verdict, question: str = "patch", made: SidesMade | None = None) -> VerdictFile:
    return build(evidence(made), verdicts, rig(question), end=SessionEnd())


def merge(file: VerdictFile) -> tuple[str, str]:
    return first_screen(file, "reports/A").answer


PASSES = (against_base(Outcome.PASS, -0.002), against_anchor(Outcome.PASS, -0.004))
COSTS = (against_base(Outcome.REGRESSED, -0.05), against_anchor(Outcome.PASS, 0.005, stored=88.9))
# The base too is 5 % below its anchor of 99 tok/s.
ELSEWHERE = (against_base(Outcome.PASS, -0.001), against_anchor(Outcome.REGRESSED, -0.051, stored=99.0))
# The base is 1.5 % below, which is within the floor; the head is beyond it.
CREPT = (
    against_base(Outcome.PASS, -0.015),
    against_anchor(Outcome.REGRESSED, -0.0298, stored=95.43),
)


def test_without_a_change_nothing_is_said_of_one() -> None:
    file = build(examples.run_evidence(), PASSES[1:], examples.rig())
    assert file.patch is None
    assert "Is the server slower" not in page(file, examples.run_evidence(), Path("reports/A"))


def test_both_answers_stand_on_every_surface() -> None:
    file = file_of(*PASSES)
    assert file.patch is not None
    assert file.patch.patch.words.startswith("no: decode -0.2 % (-0.5 % to +0.1 %) on eagle3-2step single")
    assert file.patch.anchor.words.startswith("no: decode -0.4 %")
    html = page(file, evidence(), Path("reports/A"))
    told = " ".join(terminal(file, "reports/A", colour=False).split())
    for surface in (html, markdown(file, "reports/A")):
        assert "Is the server slower with the change than without?" in surface
        assert "Have we crept from the stored baseline?" in surface
        assert "-0.2 %" in surface
    assert "may it merge? Yes: the change is not slower than its base" in told
    assert "slower than its base? no: decode -0.2 %" in told
    assert "below the stored baseline? no: decode -0.4 %" in told
    assert all(len(line) <= 80 for line in terminal(file, "r", colour=False).splitlines())


@pytest.mark.parametrize(
    ("verdicts", "word", "why"),
    [
        (PASSES, "Yes", "the change is not slower than its base, and every promise was kept"),
        (COSTS, "No", "the server is slower with the change than without"),
        (
            ELSEWHERE,
            "Cannot tell",
            "not slower than its base, but the server is below what is promised with and without it",
        ),
        (CREPT, "No", "the change is not slower than its base, but it is worse than allowed"),
        ((against_base(Outcome.IMPROVED, 0.05),), "Yes", "the server is faster with the change than without"),
        ((against_base(Outcome.INVALID, 0.0),), "Cannot tell", "the bench is at fault"),
        ((against_base(Outcome.INCONCLUSIVE, -0.02),), "Cannot tell", "could not see enough"),
    ],
)
def test_whether_it_may_merge_is_said_of_the_change_first(
    verdicts: tuple[Verdict, ...], word: str, why: str
) -> None:
    found = merge(file_of(*verdicts))
    assert found[0] == word
    assert why in found[1]


@pytest.mark.parametrize(
    ("verdicts", "told"),
    [
        (PASSES, None),
        (COSTS, "without the change the server would be better than that"),
        (
            ELSEWHERE,
            "not the change: the server is below its stored numbers with and without it (the base by -5.1 %)",
        ),
        (CREPT, "the change alone is within the floor, and the base lies -1.5 % from the stored number"),
        (
            (against_base(Outcome.REGRESSED, -0.05), against_anchor(Outcome.REGRESSED, -0.05)),
            "what is lost since the stored number, the change costs: the base holds it (+0.0 %)",
        ),
        (
            (against_base(Outcome.REGRESSED, -0.05), against_anchor(Outcome.REGRESSED, -0.10, stored=99.2)),
            "something else as well: the base lies -5.2 % from the stored number itself",
        ),
    ],
)
def test_the_pair_of_answers_tells_the_change_from_the_machine(
    verdicts: tuple[Verdict, ...], told: str | None
) -> None:
    patch = file_of(*verdicts).patch
    assert patch is not None
    assert (patch.together is None) if told is None else (told in (patch.together or ""))


def test_a_loss_elsewhere_that_the_base_does_not_share_stays_a_no() -> None:
    twin = against_anchor(Outcome.REGRESSED, -0.05).model_copy(
        update={
            "check": "speculation_beats_its_twin",
            "reference": Reference(kind="twin", label="control", value=98.0),
        }
    )
    assert merge(file_of(*ELSEWHERE, twin))[0] == "No"


def test_the_change_leads_where_it_costs_and_the_screen_says_what_to_do() -> None:
    file = file_of(*COSTS, against_anchor(Outcome.REGRESSED, -0.3))
    assert file.verdicts[0].check == "patch"
    assert file.headline.startswith("decode 89.3 tok/s with the change")
    said = "\n".join(last_words(file, "reports/A", page="report.html", colour=False))
    assert "find which part costs" in said


def test_what_was_not_asked_is_said_with_what_was_and_what_would_ask_it() -> None:
    asked = evidence().model_copy(
        update={"info": evidence().info.model_copy(update={"selection": "perf_tests -m 'patch and single'"})}
    )
    for verdict, question, told in (
        (PASSES[0], "anchor", "which looks at no stored number (-m eagle3 does)"),
        (PASSES[1], "patch", "which has no run of the base (-m patch has)"),
    ):
        patch = build(asked, (verdict,), rig(), end=SessionEnd()).patch
        assert patch is not None
        answered = getattr(patch, question)
        assert answered.outcome is None
        assert answered.words.endswith(f"this run asked for -m 'patch and single', {told}")


def test_the_cycle_of_a_change_is_no_second_loss() -> None:
    cycle = against_base(Outcome.REGRESSED, 0.05, metric="cycle_ms", base=19.0)
    assert "more regressed" not in file_of(COSTS[0], cycle).headline
    other = against_base(Outcome.REGRESSED, -0.05).model_copy(update={"workload": "conc8"})
    assert "(and 1 more regressed)" in file_of(COSTS[0], cycle, other).headline


def test_beside_a_change_that_costs_a_terminal_repeats_neither_headline_nor_what_the_base_excludes() -> None:
    file = file_of(*COSTS[:1])
    block = terminal(file, "reports/A", colour=False, brief=True)
    assert block.count("with the change, 94.0 without") == 1
    assert "find which part costs" not in block, "the last words have the next step"
    for noise in ("isolated", "\nnot:", "self-test", "no cause"):
        assert noise not in block
    (cause,) = (c for c in file.diagnosis.causes if c.name == "the change")
    assert cause.strength == "isolated"
    assert "eagle_worker_v2.py" in cause.words


def test_a_note_that_may_be_nothing_shows_its_interval() -> None:
    first = against_base(Outcome.PASS, 0.131, metric="ttft_ms", base=33.2)
    first = first.model_copy(update={"floor": None, "interval": (-0.095, 0.413), "unit": "ms"})
    assert "+13.1 % (-9.5 to +41.3)" in terminal(file_of(*PASSES, first), "reports/A", colour=False)


def test_what_ones_own_changes_cost_is_called_so() -> None:
    file = file_of(*PASSES, question="instrumented")
    assert "what is changed in your tree is not slower than its base" in merge(file)[1]


def test_each_sides_tree_is_told_in_full() -> None:
    file = file_of(*PASSES, made=sides_made(units=2, dirty="d" * 40))
    assert file.patch is not None
    html, summary = page(file, evidence(), Path("r")), markdown(file, "r")
    for surface in (html, summary):
        assert "1" * 12 in surface
        assert "d" * 12 in surface
    assert "eagle_worker_v2.py" in html
    assert file.patch.sides[1].changed == ("python/sglang/srt/speculative/eagle_worker_v2.py",)


@pytest.mark.parametrize("text", HOSTILE)
def test_names_from_a_tree_break_no_surface(text: str) -> None:
    made = sides_made(units=1)
    head = made.sides[1].model_copy(
        update={
            "changed": (text,),
            "notes": (text,),
            "ref": text,
            "units": (made.units[0].model_copy(update={"name": text}),),
        }
    )
    file = file_of(
        *PASSES, made=made.model_copy(update={"sides": (made.sides[0], head), "units": head.units})
    )
    html = page(file, evidence(), Path("reports/A"))
    assert MARKUP not in html
    assert 'onerror="document' not in html
    summary = markdown(file, "reports/A")
    assert "<script>" not in summary
    assert "\n# heading" not in summary
    assert len(summary.encode()) < 60_001
    assert "\x1b" not in terminal(file, "reports/A", colour=False)
