from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import (
    STEADY,
    controls,
    eagle3,
    make_fingerprint,
    make_launch,
    make_rig,
    make_run,
    make_slate,
    series,
)
from tests.verdicts.phase_evidence import carrying, phase, table
from tokgate.errors import BaselineError
from tokgate.records import Finding, Liveness, Outcome, RunEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.baseline_draft import Draft, Given, Request
from tokgate.verdicts.baseline_file import Absence, BaselineFile
from tokgate.verdicts.baseline_update import drafts
from tokgate.verdicts.identity import Identity, identity_of_launch

ONE = [{"name": "single", "prompts": "ids", "output_tokens": 256, "repeats": 6}]
RIG = make_rig(workloads=ONE)


class Shelf:
    """Baselines by identity, as a folder would hold them."""

    def __init__(self, *stored: BaselineFile) -> None:
        self.stored = {tuple(sorted(s.identity.items())): s for s in stored}

    def __call__(self, identity: Identity) -> BaselineFile | Absence:
        absent = Absence(path="baselines/small/0.json", identity=identity)
        return self.stored.get(tuple(sorted(identity.items())), absent)


def drawn(
    run: RunEvidence,
    shelf: Shelf | None = None,
    *more: RunEvidence,
    judged: tuple[Verdict, ...] | None = (),
    rig: Rig = RIG,
    **options: Any,
) -> tuple[Draft, ...]:
    given = [Given(rig=rig, run=one, judged=judged) for one in (run, *more)]
    asked = {"who": "ada", "when": "2026-11-29T13:00:00+00:00", "why": "new driver", **options}
    return drafts(given, shelf or Shelf(), Request(**asked))


def test_both_controls_are_one_baseline_of_two_launches() -> None:
    (draft,) = drawn(make_run(*controls()))

    assert draft.old is None
    assert [launch.launch for launch in draft.new.launches] == ["01-baseline", "04-baseline-again"]
    assert draft.new.by_start("decode_tok_s") == tuple((v,) for v in (*STEADY, *STEADY))
    told = draft.new.provenance
    assert (told.who, told.why, told.runs) == ("ada", "new driver", ("20261129T120000-small",))
    assert told.sglang_tree == "no"
    assert draft.new.identity == identity_of_launch(RIG, controls()[0], "single", None)
    assert "decode_tok_s: 44.6 tok/s (n=12), new" in draft.changes()


def test_every_arm_and_workload_has_its_own() -> None:
    found = drawn(make_run(*controls(), eagle3()))

    assert [d.new.arm for d in found] == ["baseline", "eagle3-2step"]
    assert found[1].new.by_start("cycle_ms")
    assert not found[0].new.by_start("cycle_ms")


def test_one_arm_alone() -> None:
    (draft,) = drawn(make_run(*controls(), eagle3()), arm="eagle3-2step")

    assert draft.new.arm == "eagle3-2step"


def named(run: RunEvidence, name: str) -> RunEvidence:
    return run.model_copy(update={"info": run.info.model_copy(update={"run_id": name})})


def faster(by: float, *names: str) -> list[RunEvidence]:
    values = tuple(v * by for v in STEADY)
    return [named(make_run(*controls(values, values)), name) for name in names]


def of_three_sessions() -> Draft:
    run, *more = faster(1.0, "x", "y", "z")
    return drawn(run, Shelf(), *more)[0]


def test_replacing_keeps_the_history_and_shows_the_change() -> None:
    first = of_three_sessions()
    run, *more = faster(1.1, "b", "c", "d")
    (second,) = drawn(run, Shelf(first.new), *more, why="faster kernels")
    (third,) = drawn(make_run(*controls()), Shelf(second.new), despite_creep="back to what is sure")

    assert [p.why for p in third.new.history] == ["faster kernels", "new driver"]
    assert len(second.new.launches) == 6
    assert any(
        line.startswith("decode_tok_s: 49.1 tok/s (n=36), was 44.6 tok/s (n=36), +10.0%, interval +")
        for line in second.changes()
    )


def test_a_better_number_takes_several_sessions() -> None:
    first = of_three_sessions()
    run, *more = faster(1.1, "b", "c", "d")
    (alone,) = drawn(run, Shelf(first.new))
    (several,) = drawn(run, Shelf(first.new), *more)
    (knowingly,) = drawn(run, Shelf(first.new), despite_doubts=True)

    assert alone.kept is not None
    assert alone.kept.startswith("decode_tok_s is +10.0% better: raising it takes 2 sessions (1 here)")
    assert several.kept is None
    assert knowingly.kept is None
    assert any("raising it takes" in doubt for doubt in knowingly.new.provenance.despite)


def test_a_gain_that_noise_would_show_as_well_raises_nothing() -> None:
    """Two sessions, one much better than the other: their mean is better, and nobody knows it."""
    (first,) = drawn(make_run(*controls()))
    (luck,), (usual,) = faster(1.06, "b"), faster(1.0, "c")
    (draft,) = drawn(luck, Shelf(first.new), usual)

    assert draft.kept is not None
    assert "a gain that chance shows less often than 0.1%" in draft.kept


def test_what_is_of_one_session_says_too_little_to_be_raised_by_proof() -> None:
    (first,) = drawn(make_run(*controls()))
    run, *more = faster(1.05, "b", "c", "d")
    (draft,) = drawn(run, Shelf(first.new), *more)

    assert draft.kept is not None
    assert "what is stored is of 1 session, so nobody knows how far sessions differ" in draft.kept


def test_a_little_better_replaces_without_more_ado() -> None:
    (first,) = drawn(make_run(*controls()))
    (draft,) = drawn(faster(1.005, "b")[0], Shelf(first.new))

    assert draft.kept is None


def test_appending_a_session_that_does_not_agree_raises_nothing() -> None:
    first = of_three_sessions()
    (odd,) = drawn(faster(1.1, "b")[0], Shelf(first.new), append=True)
    (fine,) = drawn(faster(1.012, "b")[0], Shelf(first.new), append=True)

    assert odd.kept is not None
    assert fine.kept is None


def test_the_anchor_stays_and_accepted_levels_are_kept_with_their_reason() -> None:
    (first,) = drawn(make_run(*controls()))
    slower, slowest = faster(0.98, "b")[0], faster(0.96, "c")[0]
    (second,) = drawn(slower, Shelf(first.new), why="safer kernels", when="2026-12-01T00:00:00+00:00")
    (third,) = drawn(slowest, Shelf(second.new), why="again", when="2026-12-02T00:00:00+00:00")

    assert third.new.anchor == first.new.anchor
    anchor = third.new.anchor["decode_tok_s"]
    assert anchor.value == pytest.approx(44.6, rel=1e-3)
    assert (anchor.runs, anchor.sessions, anchor.starts, anchor.why) == (2, 1, 12, "new driver")
    assert [(a.when[:10], a.why) for a in third.new.accepted] == [
        ("2026-12-01", "safer kernels"),
        ("2026-12-02", "again"),
    ]
    assert any("crept 4.0% of 5.0%" in line for line in third.changes())


def test_small_losses_add_up_to_the_creep_budget() -> None:
    (draft,) = drawn(make_run(*controls()))
    shelf = Shelf(draft.new)
    for step, by in enumerate((0.98, 0.96)):
        (draft,) = drawn(faster(by, f"b{step}")[0], shelf)
        shelf = Shelf(draft.new)

    with pytest.raises(BaselineError, match=r"creep budget: decode_tok_s of single on baseline crept 6\.0%"):
        drawn(faster(0.94, "c")[0], shelf)
    with pytest.raises(BaselineError, match="creep budget"):
        drawn(faster(0.94, "c")[0], shelf, despite_doubts=True)
    (known,) = drawn(faster(0.94, "c")[0], shelf, despite_creep="a safer sampler")
    assert known.new.accepted[-1].despite_creep == "a safer sampler"
    # What was accepted beyond the budget is no reason to refuse what loses nothing more.
    (same,) = drawn(faster(0.94, "d")[0], Shelf(known.new))
    assert same.new.accepted[-1].despite_creep is None


def test_a_baseline_of_an_earlier_tokgate_is_its_own_anchor() -> None:
    (first,) = drawn(make_run(*controls()))
    old = first.new.model_copy(update={"anchor": {}})
    (second,) = drawn(faster(0.98, "b")[0], Shelf(old))

    assert second.new.anchor["decode_tok_s"].value == pytest.approx(44.6, rel=1e-3)
    assert second.new.anchor["decode_tok_s"].session_ids == ("20261129T120000-small",)
    with pytest.raises(BaselineError, match="creep budget"):
        drawn(faster(0.93, "b")[0], Shelf(old))


def test_several_runs_are_one_baseline_of_several_sessions() -> None:
    run, *more = faster(1.0, "a", "b", "c")
    (draft,) = drawn(run, Shelf(), *more)

    assert draft.new.provenance.runs == ("a", "b", "c")
    assert draft.new.anchor["decode_tok_s"].sessions == 3
    assert draft.thin is None
    assert drawn(run)[0].thin is not None
    with pytest.raises(BaselineError, match="given twice"):
        drawn(run, Shelf(), run)


def test_runs_of_two_trees_are_one_baseline_knowingly_or_not_at_all() -> None:
    run, other = faster(1.0, "a", "b")
    other = other.model_copy(update={"fingerprint": make_fingerprint({"sglang.dirty": "0123"})})

    with pytest.raises(BaselineError, match=r"not of one machine and tree: other edits in SGLang"):
        drawn(run, Shelf(), other)
    booted = other.model_copy(update={"fingerprint": make_fingerprint({"host.boot_id": "b2"})})
    assert drawn(run, Shelf(), booted)
    (stored,) = drawn(run)
    with pytest.raises(BaselineError, match=r"not of the machine and tree of baselines/small"):
        drawn(other, Shelf(stored.new), append=True)


def test_appending_adds_launches_of_another_run_once() -> None:
    (first,) = drawn(make_run(*controls()))
    info = make_run().info.model_copy(update={"run_id": "another-run"})
    (second,) = drawn(make_run(*controls(), info=info), Shelf(first.new), append=True)

    assert [launch.run_id for launch in second.new.launches] == [
        *["20261129T120000-small"] * 2,
        *["another-run"] * 2,
    ]
    with pytest.raises(BaselineError, match="this run is in it already"):
        drawn(make_run(*controls(), info=info), Shelf(second.new), append=True)


DIRTY = make_slate(findings=(Finding(severity="unclean", what="GPU 0 holds 9 MiB", do="stop pid 9"),))


@pytest.mark.parametrize(
    ("run", "found"),
    [
        (make_run(), "has no launches"),
        (make_run(controls()[0].model_copy(update={"generations": ()})), "0 good generations"),
        (
            make_run(
                controls()[0],
                controls()[1].model_copy(update={"liveness": Liveness(alive=False, answered=False)}),
            ),
            "dead after the last generation",
        ),
        (make_run(*controls(), slate_at_start=DIRTY), "GPU 0 holds 9 MiB"),
        (make_run(*controls(), slate_at_start=None), "nobody looked"),
        (make_run(*controls(), slate_at_end=DIRTY), "GPU 0 holds 9 MiB"),
        (make_run(controls()[0].model_copy(update={"environment": None})), "nobody read the environment"),
        (make_run(controls()[0].model_copy(update={"client": {}})), "client's own load"),
        (make_run(eagle3(server_info={"speculative_algorithm": None})), "does no speculation"),
    ],
)
def test_an_invalid_run_is_refused_with_the_reason(run: RunEvidence, found: str) -> None:
    with pytest.raises(BaselineError) as caught:
        drawn(run)

    assert found in caught.value.found
    assert caught.value.do


def test_a_fault_of_another_arm_does_not_matter() -> None:
    broken = eagle3().model_copy(update={"generations": ()})

    assert len(drawn(make_run(*controls(), broken), arm="baseline")) == 1
    with pytest.raises(BaselineError):
        drawn(make_run(*controls(), broken))


def test_an_unsteady_run_is_not_stored() -> None:
    falling = (100.0, 98.0, 96.0, 94.0, 92.0, 90.0)

    with pytest.raises(BaselineError, match="still moving"):
        drawn(make_run(controls(falling)[0]), despite_doubts=True)


def test_controls_that_drifted_are_not_stored() -> None:
    slower = tuple(value * 0.6 for value in STEADY)

    with pytest.raises(BaselineError, match=r"the run is invalid"):
        drawn(make_run(*controls(STEADY, slower)))


def test_an_arm_the_run_lacks_is_named() -> None:
    with pytest.raises(BaselineError, match="no launch of arm 'eagle3-2step'"):
        drawn(make_run(*controls()), arm="eagle3-2step")


def test_launches_of_two_versions_are_no_one_baseline() -> None:
    before, after = controls()
    assert after.server is not None
    other = after.server.model_copy(update={"sglang_version": "0.5.24"})

    with pytest.raises(BaselineError, match="different identities"):
        drawn(make_run(before, after.model_copy(update={"server": other})))


def test_every_value_of_a_start_is_kept() -> None:
    rig = make_rig(
        workloads=[{"name": "pair", "prompts": "ids", "output_tokens": 256, "repeats": 4, "concurrency": 2}]
    )
    generations = series((50.0, 51.0, 52.0, 53.0), workload="pair", concurrency=2)
    launch = controls()[0].model_copy(update={"generations": generations})
    (draft,) = drawn(make_run(launch), rig=rig, despite_doubts=True)

    assert draft.new.by_start("decode_tok_s")[0] == (50.0, 50.0)
    assert len(draft.new.by_start("total_tok_s")) == 4


def test_a_launch_with_other_variables_is_nobodys_baseline() -> None:
    """It runs the control arm's configuration in all but its NCCL block: its numbers would pull ours down."""
    slow = make_launch(series((30.0,) * 6, launch="05-nccl-off"), id="05-nccl-off", role="nccl-off")
    proof = make_launch((), id="00-nccl-proof", role="nccl-proof")
    (draft,) = drawn(make_run(proof, *controls(), slow))
    assert [launch.launch for launch in draft.new.launches] == ["01-baseline", "04-baseline-again"]


def concluded(outcome: Outcome = Outcome.REGRESSED, **changes: Any) -> Verdict:
    fields: dict[str, Any] = {
        "check": "speculation_beats_its_twin",
        "headline": "decode 51.2 tok/s on eagle3-2step: 0.62x its twin",
        "arm": "eagle3-2step",
        "launch": "02-eagle3-2step",
    }
    return Verdict(outcome=outcome, **{**fields, **changes})


@pytest.mark.parametrize("outcome", [Outcome.REGRESSED, Outcome.INVALID])
def test_a_run_that_ended_badly_is_stored_knowingly_or_not_at_all(outcome: Outcome) -> None:
    run, judged = make_run(*controls(), eagle3()), (concluded(outcome), concluded(outcome, headline="again"))

    with pytest.raises(BaselineError) as caught:
        drawn(run, judged=judged)
    told = f"speculation_beats_its_twin {outcome.value}: decode 51.2 tok/s on eagle3-2step: 0.62x its twin"
    assert caught.value.found == f"1 doubt about it: {told} (and 1 more)"
    assert caught.value.do == "explain what it ended with, or store it knowingly: --despite-doubts"
    assert drawn(run, judged=judged, despite_doubts=True)[0].doubts == (f"{told} (and 1 more)",)


def test_what_was_found_of_the_machine_is_a_doubt_about_all() -> None:
    run = make_run(*controls())
    machine = concluded(Outcome.INVALID, check="report", headline="no space left", arm=None, launch=None)

    with pytest.raises(BaselineError, match="report invalid: no space left"):
        drawn(run, judged=(machine,))


@pytest.mark.parametrize(
    "verdict",
    [
        concluded(),  # of an arm that is not stored
        concluded(Outcome.INCONCLUSIVE, arm="baseline", launch="01-baseline"),
        concluded(Outcome.IMPROVED, arm="baseline", launch="01-baseline"),
        concluded(arm="baseline", launch="05-nccl-off"),  # of a launch that stands for no arm
    ],
)
def test_what_does_not_speak_against_the_stored_is_no_doubt(verdict: Verdict) -> None:
    (draft,) = drawn(make_run(*controls(), eagle3()), arm="baseline", judged=(verdict,))

    assert draft.doubts == ()


def test_a_window_that_is_invalid_is_not_stored_however_asked() -> None:
    dead = controls()[0].model_copy(update={"liveness": Liveness(alive=False, answered=False)})

    with pytest.raises(BaselineError, match="dead after the last generation"):
        drawn(make_run(dead), judged=(), despite_doubts=True)


def test_a_run_that_nobody_judged_is_a_doubt() -> None:
    with pytest.raises(BaselineError, match="nobody has judged it"):
        drawn(make_run(*controls()), judged=None)


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
