"""A change against its base: what is called, what is not, and whose fault it is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.verdicts.side_evidence import ARM, FILE, not_started, run_of, runs, side_rig, sides_made
from tokgate.records import LaunchEvidence, Outcome, StartCause, Verdict
from tokgate.records.side import BASE, HEAD
from tokgate.verdicts.checks.patch import patch

STILL = (1.0, 1.0005, 0.9995, 1.0002)
TRACE = (
    "Traceback (most recent call last):",
    '  File "/usr/lib/python3.11/runpy.py", line 88, in _run_code',
    f'  File "/w/sides/r/head/{FILE}", line 46',
    "    def verify(self",
    "SyntaxError: '(' was never closed",
)


def judged(
    head: Sequence[float] = STILL,
    base: Sequence[float] = STILL,
    *,
    units: int = 1,
    beside: Sequence[Sequence[LaunchEvidence]] = (),
) -> dict[str, Verdict]:
    """Return the verdicts by metric, of an EAGLE-3 arm under one stream; values are factors of its speed, a run each."""
    found = patch(
        side_rig(),
        runs(HEAD, head),
        runs(BASE, base),
        "single",
        made=sides_made(units=units),
        beside=beside,
    )
    return {verdict.metric or "": verdict for verdict in found}


def slower(by: float, number: int = 4) -> tuple[float, ...]:
    return tuple(one * (1 - by) for one in STILL[:number])


def test_a_change_that_does_nothing_passes_and_says_what_would_have_been_seen() -> None:
    found = judged()
    assert {v.outcome for v in found.values()} == {Outcome.PASS}
    assert set(found) == {"decode_tok_s", "accept_length", "cycle_ms", "ttft_ms"}
    assert "no loss against its base" in found["decode_tok_s"].headline
    assert "would have been seen" in found["decode_tok_s"].headline


def test_a_loss_is_called_against_the_base_of_this_session_with_its_interval() -> None:
    verdict = judged(slower(0.03))["decode_tok_s"]
    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.headline.startswith(
        "the change costs 3.0 % [2.6, 3.4], the cycle +0.95 ms: decode 58.2 tok/s with the change, 60.0 without"
    )
    assert verdict.reference is not None
    assert (verdict.reference.kind, verdict.reference.label) == (
        "side",
        "base main (1111111111) (04-eagle3-2step-base)",
    )
    assert verdict.interval is not None
    assert verdict.interval[0] < -0.03 < verdict.interval[1] < 0
    assert len(verdict.launches) == 8


def test_a_gain_is_an_improvement() -> None:
    verdict = judged(slower(-0.05))["decode_tok_s"]
    assert verdict.outcome is Outcome.IMPROVED
    assert verdict.headline.startswith("the change gains 5.0 % [")


@pytest.mark.parametrize(("head", "base"), [(1, 1), (1, 4), (4, 1)])
def test_no_loss_is_called_on_one_run_of_a_side_however_large(head: int, base: int) -> None:
    verdict = judged(slower(0.2, head), STILL[:base])["decode_tok_s"]
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.wanted


def test_two_modes_of_restarts_must_be_excluded_and_other_arms_that_agree_help() -> None:
    few = judged(slower(0.05, 3), STILL[:3])["decode_tok_s"]
    assert few.outcome is Outcome.INCONCLUSIVE
    assert few.needs is not None
    assert "1 more restart of its base" in few.needs
    control = tuple(
        run_of(HEAD, n, arm="baseline", round=int(n > 1), factor=f) for n, f in enumerate(STILL, start=1)
    )
    assert judged(slower(0.05, 3), STILL[:3], beside=[control])["decode_tok_s"].outcome is Outcome.REGRESSED


def test_what_is_wanted_leaves_both_sides_with_as_many_runs() -> None:
    wanted = judged(slower(0.05, 3), STILL[:2])["decode_tok_s"].wanted
    assert 3 + wanted[ARM] == 2 + wanted[f"{ARM}+base"]


def test_a_head_that_does_not_start_beside_a_base_that_does_names_the_line_of_the_change() -> None:
    broken = not_started(run_of(HEAD, 3), *TRACE)
    (verdict,) = patch(side_rig(), [broken], runs(BASE, STILL[:1]), "single", made=sides_made())
    assert verdict.outcome is Outcome.INVALID
    assert "SyntaxError: '(' was never closed" in verdict.headline
    assert f"the traceback ends in the change ({FILE}, line 46), the base starts" in verdict.headline
    assert "SyntaxError: '(' was never closed" in verdict.evidence[-1]


def test_where_neither_side_starts_it_is_not_the_change() -> None:
    sides = [not_started(run_of(side, 3), "RuntimeError: no GPU") for side in (HEAD, BASE)]
    (verdict,) = patch(side_rig(), sides[:1], sides[1:], "single", made=sides_made())
    assert verdict.outcome is Outcome.INVALID
    assert "neither does the base, so it is not the change" in verdict.headline


def test_a_base_that_does_not_start_is_no_answer() -> None:
    broken = not_started(run_of(BASE, 4), "ModuleNotFoundError: No module named 'x'")
    (verdict,) = patch(side_rig(), runs(HEAD, STILL[:1]), [broken], "single", made=sides_made())
    assert verdict.outcome is Outcome.INVALID
    assert "base main" in verdict.headline
    assert "the head starts" in verdict.headline


def test_a_side_that_is_not_proven_to_be_what_ran_is_invalid() -> None:
    base = runs(BASE, STILL[:1])[0]
    assert base.ran_from is not None
    doubted = base.model_copy(
        update={"ran_from": base.ran_from.model_copy(update={"why": ("its files changed meanwhile",)})}
    )
    (verdict,) = patch(side_rig(), runs(HEAD, STILL[:1]), [doubted], "single", made=sides_made())
    assert verdict.outcome is Outcome.INVALID
    assert "its files changed meanwhile" in verdict.headline


def test_nobody_looked_at_what_ran_is_invalid_too() -> None:
    base = runs(BASE, STILL[:1])[0].model_copy(update={"ran_from": None})
    (verdict,) = patch(side_rig(), runs(HEAD, STILL[:1]), [base], "single", made=sides_made())
    assert verdict.outcome is Outcome.INVALID


def test_changed_files_that_nobody_imported_are_named() -> None:
    heads = tuple(
        run_of(HEAD, 3 + 10 * n, round=n, factor=f, unused=("python/sglang/x.py",))
        for n, f in enumerate(STILL)
    )
    found = patch(side_rig(), heads, runs(BASE, STILL), "single", made=sides_made())
    assert any("no server imported any changed file (python/sglang/x.py)" in w for w in found[0].warnings)


def test_a_loss_of_a_change_with_several_parts_leads_to_the_search_for_the_one_that_costs() -> None:
    many, one = (judged(slower(0.03), units=n)["decode_tok_s"] for n in (3, 1))
    assert many.do is not None
    assert one.do is not None
    assert "which of its 3 parts costs what: pytest perf_tests -m culprit --rig small --culprit" in many.do
    assert "--culprit" not in one.do


def test_without_a_base_there_is_nothing_to_hold_the_change_against() -> None:
    (verdict,) = patch(side_rig(), runs(HEAD, STILL[:1]), [], "single", made=sides_made())
    assert verdict.outcome is Outcome.INVALID
    assert verdict.do is not None
    assert "-m patch" in verdict.do


def test_a_first_token_that_spreads_too_wide_is_told_and_holds_up_nothing() -> None:
    rates = {HEAD: (20.0, 34.0, 21.0), BASE: (20.0, 33.0, 30.0)}
    heads, bases = (
        tuple(
            run_of(side, (3 if side == HEAD else 4) + 10 * n, factor=STILL[n], round=n, ttft_ms=ms)
            for n, ms in enumerate(rates[side])
        )
        for side in (HEAD, BASE)
    )
    found = {v.metric: v for v in patch(side_rig(), heads, bases, "single", made=sides_made())}
    first = found["ttft_ms"]
    assert "undecided against its base" in first.headline
    assert (first.outcome, first.floor, first.wanted) == (Outcome.PASS, None, {})


@pytest.mark.parametrize(("acceptance", "outcome"), [("natural", Outcome.INCONCLUSIVE), (2.0, Outcome.PASS)])
def test_what_the_server_draws_for_a_pinned_arm_holds_up_nothing(
    acceptance: float | str, outcome: Outcome
) -> None:
    """Runs of either side differ by per cents in what they drew, with the same mean: no restart would make that a finding."""
    plain = side_rig()
    arms = tuple(a.model_copy(update={"acceptance": acceptance}) if a.name == ARM else a for a in plain.arms)
    calls = {HEAD: (138, 146, 139), BASE: (137, 146, 138)}
    heads, bases = (
        tuple(
            run_of(side, (3 if side == HEAD else 4) + 10 * n, factor=STILL[n], round=n, verify_ct=ct)
            for n, ct in enumerate(calls[side])
        )
        for side in (HEAD, BASE)
    )
    rig = plain.model_copy(update={"arms": arms})
    found = {v.metric: v for v in patch(rig, heads, bases, "single", made=sides_made())}
    length = found["accept_length"]

    assert length.outcome is outcome
    assert "undecided against its base" in length.headline
    assert bool(length.wanted) is (outcome is Outcome.INCONCLUSIVE)


def test_a_head_whose_log_could_not_be_written_is_not_the_changes_fault() -> None:
    lost = not_started(run_of(HEAD, 3))
    assert lost.failure is not None
    empty = lost.failure.model_copy(update={"cause": StartCause.EMPTY_LOG, "headline": "its log is empty"})
    head = lost.model_copy(update={"failure": empty})
    (found,) = patch(side_rig(), [head], runs(BASE, STILL), "single", made=sides_made())
    assert found.outcome is Outcome.INVALID
    assert "tells nothing of the change" in found.headline
    assert found.do == empty.do
