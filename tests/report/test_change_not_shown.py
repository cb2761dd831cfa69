"""A change of which nothing could be measured: whose fault that is, and never that nobody asked for it."""

from __future__ import annotations

from tests.report.test_patch_report import evidence, merge, rig
from tests.verdicts.side_evidence import not_started, run_of
from tokgate.records import Outcome, RunEvidence, StartCause, StartFailure, Verdict
from tokgate.records.side import HEAD
from tokgate.report.conclusion import SessionEnd
from tokgate.report.terminal_last import meaning
from tokgate.report.verdict_file import VerdictFile
from tokgate.report.verdict_json import build

FAULT = ("to make the sides of the change on local", "fix.patch does not apply", "rebase it")


def built(found: RunEvidence, *, check: str = "patch") -> VerdictFile:
    verdict = Verdict(check=check, outcome=Outcome.INVALID, headline="nothing", do="mend it")
    return build(found, (verdict,), rig(), end=SessionEnd())


def test_a_session_that_could_not_begin_has_shown_nothing_though_it_was_asked() -> None:
    info = evidence().info.model_copy(update={"fault": FAULT, "selection": "perf_tests -m patch"})
    file = built(evidence().model_copy(update={"info": info, "launches": ()}), check="test_patch")
    assert file.patch is not None
    assert file.patch.patch.outcome is Outcome.INVALID
    assert file.patch.patch.words == "nothing was shown: the session could not begin"
    assert "was not asked" not in " ".join(merge(file))


def test_a_change_that_does_not_compile_may_not_merge() -> None:
    failure = StartFailure(cause=StartCause.DOES_NOT_COMPILE, headline="SyntaxError", do="mend x.py, line 3")
    head = not_started(run_of(HEAD, 3)).model_copy(update={"failure": failure})
    file = built(evidence().model_copy(update={"launches": (head,)}))
    assert merge(file) == ("No", "the change does not compile: no server would start with it")
    assert meaning(file) == "the change breaks the start"
