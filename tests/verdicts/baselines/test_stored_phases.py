"""Phases of a launch with instruments are stored beside the samples of timed ones."""

from __future__ import annotations

import pytest

from tests.verdicts.evidence import (
    controls,
    eagle3,
    make_run,
)
from tests.verdicts.phase_evidence import carrying, phase, table
from tokgate.errors import BaselineError
from tokgate.records import Outcome, RunEvidence, Verdict

from .drafting import Shelf, drawn


def carried() -> RunEvidence:
    return make_run(*controls(), eagle3(), carrying(table(phase())))


def test_the_launch_with_instruments_gives_its_phases_and_no_sample() -> None:
    control, arm = drawn(carried())

    assert control.phases is None
    assert control.new.phases == ()
    assert [launch.launch for launch in arm.new.launches] == ["02-eagle3-2step"]
    assert [(one.launch, len(one.cycles)) for one in arm.new.phases] == [("05-eagle3-2step-phases", 6)]
    assert arm.phases == "phases: 05-eagle3-2step-phases, 6 starts, by probe"


def test_appending_keeps_the_phases_that_are_there_and_replacing_does_not() -> None:
    (_, first) = drawn(carried())
    other = make_run().info.model_copy(update={"run_id": "another-run"})
    (_, more) = drawn(carried().model_copy(update={"info": other}), Shelf(first.new), append=True)
    without = make_run(*controls(), eagle3())
    (_, replaced) = drawn(without, Shelf(first.new))

    assert [one.run_id for one in more.new.phases] == ["20261129T120000-small", "another-run"]
    assert replaced.new.phases == ()
    assert replaced.phases == (
        "phases: none stored: no launch of it carried instruments (-m verify); those stored before are gone"
    )


def test_a_launch_with_instruments_that_is_unfit_is_no_reason_to_refuse_the_others() -> None:
    lost = carrying(table(phase()), liveness=None)
    (_, arm) = drawn(make_run(*controls(), eagle3(), lost))

    assert arm.new.phases == ()
    assert arm.phases is not None
    assert "never finished" in arm.phases


def test_what_the_session_held_against_the_phases_is_a_doubt() -> None:
    judged = Verdict(
        check="phases_agree",
        outcome=Outcome.INVALID,
        headline="two sources are 40 % apart",
        arm="eagle3-2step",
        launch="05-eagle3-2step-phases",
    )
    with pytest.raises(BaselineError, match=r"40 % apart(.|\n)*--despite-doubts"):
        drawn(carried(), judged=(judged,))
