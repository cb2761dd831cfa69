"""The first sentence of a report: yes, no, or cannot tell; a yes says of what."""

from __future__ import annotations

import pytest

from tokgate.report.conclusion import PartJudged, SessionOutcome
from tokgate.report.may_merge import may_merge, whole

ALL = "perf_tests -m eagle3"


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        ("pass", "Yes"),
        ("improved", "Yes"),
        ("regressed", "No"),
        ("inconclusive", "Cannot tell"),
        ("invalid", "Cannot tell"),
        ("no-baseline", "Cannot tell"),
        ("error", "Cannot tell"),
        ("interrupted", "Cannot tell"),
    ],
)
def test_every_outcome_has_an_answer_and_its_reason(outcome: str, word: str) -> None:
    found = may_merge(SessionOutcome(outcome), simulated=False, selection=ALL)
    assert found.word == word
    assert found.why


def test_no_outcome_is_without_an_answer() -> None:
    assert all(may_merge(outcome, simulated=True, selection=ALL).why for outcome in SessionOutcome)


def test_a_yes_of_a_simulated_machine_is_none_of_a_real_one() -> None:
    found = may_merge(SessionOutcome.PASS, simulated=True, selection=ALL)
    assert found.why.endswith("on a simulated machine, which says nothing about a real one")


def test_a_yes_of_a_part_of_the_gate_is_one_of_that_part() -> None:
    found = may_merge(SessionOutcome.PASS, simulated=False, selection="perf_tests -m verify")
    assert found.why == "every promise was kept, of what was asked: perf_tests -m verify"


@pytest.mark.parametrize(
    ("run", "word", "why"),
    [
        (SessionOutcome.PASS, "Yes", "the run itself ended pass; "),
        (SessionOutcome.REGRESSED, "No", "the run itself ended regressed; "),
        (SessionOutcome.INVALID, "Cannot tell", "the run itself ended invalid; "),
        (None, "Cannot tell", "how the run itself ended cannot be read; "),
    ],
)
def test_a_part_judged_again_makes_no_yes_of_a_run_that_had_none(
    run: SessionOutcome | None, word: str, why: str
) -> None:
    """The record holds the run's own selection, the whole gate, whatever was asked for now."""
    part = PartJudged(selection="perf_tests/test_lossless.py", run_outcome=run)
    found = may_merge(SessionOutcome.PASS, simulated=False, selection=ALL, part=part)
    assert found.word == word
    assert found.why == f"{why}every promise was kept, of what was asked: perf_tests/test_lossless.py"


@pytest.mark.parametrize(
    ("selection", "is_whole"),
    [
        (ALL, True),
        ("perf_tests -m 'eagle3 or nccl'", True),
        ("--pyargs tokgate.perf_tests -m eagle3", True),
        ("perf_tests -m eagle3 -k twin", False),
        ("perf_tests -m eagle3 --deselect perf_tests/test_drift.py::test_a", False),
        ("perf_tests -m eagle3 --deselect perf_tests", False),
        ("perf_tests -m eagle3 --last-failed", False),
        ("perf_tests -m 'eagle3 and not nccl'", False),
        ("perf_tests/test_steadiness.py -m eagle3", False),
        ("perf_tests/test_steadiness.py::test_drift", False),
        ("perf_tests", False),
        ("perf_tests -m 'eagle3", False),
        ("", False),
    ],
)
def test_the_main_job_is_told_from_a_part_of_it(selection: str, is_whole: bool) -> None:
    assert whole(selection) is is_whole
