from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from tests.verdicts.evidence import STEADY, controls, eagle3, make_launch, make_rig, make_run
from tests.verdicts.side_evidence import sides_made
from tokgate.records import Liveness, Outcome, Verdict
from tokgate.rig.sides import SidesSpec
from tokgate.verdicts.baselines.history import (
    LATEST,
    Entry,
    Measured,
    Point,
    entry_of,
    points,
    sessions_of,
    standings,
    with_history,
)
from tokgate.verdicts.baselines.identity import identity_hash, identity_of_launch
from tokgate.verdicts.metrics import METRICS

RIG = make_rig(workloads=[{"name": "single", "prompts": "ids", "output_tokens": 256, "repeats": 6}])
SPEED = METRICS["decode_tok_s"]


def verdict(outcome: Outcome, **changes: object) -> Verdict:
    fields = {"check": "stored_baseline", "headline": "decode", "arm": "baseline", "workload": "single"}
    return Verdict(outcome=outcome, **{**fields, **changes})


def entry(number: int, value: float, outcome: Outcome = Outcome.PASS, identity: str = "abc") -> Entry:
    return Entry(
        run_id=f"r{number:02}",
        rig="small",
        simulated=False,
        started_at=f"2026-11-{number:02}T00:00:00+00:00",
        outcome=outcome,
        commit=None,
        sglang=None,
        fingerprint=None,
        series=(
            Measured(
                arm="baseline",
                workload="single",
                identity=identity,
                outcome=outcome,
                launches={"01": {"decode_tok_s": value}},
            ),
        ),
    )


def series(values: Sequence[float]) -> list[Entry]:
    return [entry(number, value) for number, value in enumerate(values, start=1)]


def test_a_session_leaves_the_median_of_each_server_run() -> None:
    run = make_run(*controls(), eagle3(), make_launch(id="05-nccl-off", role="nccl-off"))
    judged = (verdict(Outcome.PASS), verdict(Outcome.REGRESSED, arm="eagle3-2step"))
    found = entry_of(RIG, run, judged)

    assert found is not None
    assert (found.run_id, found.outcome, found.sglang) == ("20261129T120000-small", Outcome.REGRESSED, None)
    control, arm = found.series
    assert (control.outcome, arm.outcome) == (Outcome.PASS, Outcome.REGRESSED)
    assert list(control.launches) == ["01-baseline", "04-baseline-again"]
    assert control.launches["01-baseline"]["decode_tok_s"] == pytest.approx(44.6)
    assert control.identity == identity_hash(identity_of_launch(RIG, controls()[0], "single", None))[:12]
    assert "cycle_ms" in arm.launches["02-eagle3-2step"]


def test_a_run_that_may_not_be_judged_leaves_no_number() -> None:
    dead = controls()[0].model_copy(update={"liveness": Liveness(alive=False, answered=False)})

    assert entry_of(RIG, make_run(dead), ()) is None
    assert entry_of(RIG, make_run(), ()) is None


def test_sessions_of_one_identity_alone_are_one_series_each_session_once() -> None:
    entries = [entry(2, 44.0), entry(1, 44.6), entry(3, 70.0, identity="other"), entry(2, 45.0)]

    found = points(sessions_of(entries, "baseline", "single", "abc"), SPEED)
    assert [p.run_id for p in found] == ["r01", "r02"]
    assert [p.value for p in found] == pytest.approx([44.6, 45.0])


LOWER = [*(v * 2 for v in STEADY), *(v * 1.9 for v in STEADY[:4])]


def test_a_level_that_fell_names_the_run_since_when() -> None:
    found = standings(RIG, SPEED, points(sessions_of(series(LOWER), "baseline", "single", "abc"), SPEED))

    assert [one.words for one in found] == [
        (
            "decode has stood 5.0 % lower since run r07 of 2026-11-07 (84.7 tok/s in 4 sessions, 89.2 in the 6 before)"
        )
    ]


def long_ago(sessions: int) -> list[Entry]:
    """A level that fell by 5 %, so many sessions ago."""
    values = [89.2, 89.0] * 10 + [84.7, 84.9] * (sessions // 2)
    return [
        entry(number, value).model_copy(update={"started_at": f"2026-11-01T00:{number:06}"})
        for number, value in enumerate(values, start=1)
    ]


def test_a_change_of_level_is_looked_for_in_the_latest_sessions_alone() -> None:
    """So that a history of years is read as fast as one of months."""
    for sessions, told in ((LATEST - 10, 1), (LATEST, 0)):
        kept = sessions_of(long_ago(sessions), "baseline", "single", "abc")
        assert len(kept) == 20 + sessions
        assert len(standings(RIG, SPEED, points(kept, SPEED))) == told


def test_invalid_sessions_tell_of_no_level() -> None:
    entries = series([v * 2 for v in STEADY])
    entries += [entry(10 + n, 60.0, Outcome.INVALID) for n in range(5)]

    assert standings(RIG, SPEED, points(sessions_of(entries, "baseline", "single", "abc"), SPEED)) == ()


NOW = Point(
    run_id="r20",
    started_at="2026-11-20T00:00:00+00:00",
    value=0.0,
    runs=1,
    outcome=None,
    fingerprint=None,
    sglang=None,
)


def test_a_verdict_on_a_stored_number_is_told_beside_its_history() -> None:
    judged = verdict(Outcome.PASS, metric="decode_tok_s", value=84.6, evidence=("p = 0.4",))
    (found,) = with_history(RIG, (judged,), series(LOWER), identity="abc", now=NOW)

    assert found.evidence == (
        "p = 0.4",
        (
            "history: decode has stood 5.0 % lower since run r07 of 2026-11-07 (84.7 tok/s in 5 sessions, 89.2 in the 6 "
            "before)"
        ),
    )
    assert found.model_copy(update={"evidence": judged.evidence}) == judged


class Counted(list[Entry]):
    """Entries that know how often somebody went through them."""

    times = 0

    def __iter__(self) -> Iterator[Entry]:
        self.times += 1
        return super().__iter__()


def test_a_long_history_is_gone_through_once_for_all_metrics_of_a_place() -> None:
    entries = Counted(series(LOWER))
    judged = [verdict(Outcome.PASS, metric=name, value=84.6) for name in METRICS]
    told = with_history(RIG, judged, entries, identity="abc", now=NOW)

    assert entries.times == 1
    assert [one.metric for one in told if one.evidence] == ["decode_tok_s"]


@pytest.mark.parametrize(
    ("judged", "identity"),
    [
        (verdict(Outcome.PASS, metric="decode_tok_s", value=84.6), "other"),
        (verdict(Outcome.NO_BASELINE), "abc"),
        (verdict(Outcome.PASS, metric="decode_tok_s", value=None), "abc"),
    ],
)
def test_without_a_history_of_its_own_a_verdict_stays_as_it_is(judged: Verdict, identity: str) -> None:
    assert with_history(RIG, (judged,), series(LOWER), identity=identity, now=NOW) == (judged,)


def test_a_line_of_the_judged_run_itself_does_not_count_twice() -> None:
    judged = verdict(Outcome.PASS, metric="decode_tok_s", value=84.6)
    own = NOW.model_copy(update={"run_id": "r10"})
    (found,) = with_history(RIG, (judged,), series(LOWER), identity="abc", now=own)

    assert "in 4 sessions" in found.evidence[-1]


def test_a_session_on_a_change_is_a_line_and_no_level() -> None:
    changed = RIG.model_copy(update={"sides": SidesSpec(repository="/src/sglang", base="main")})
    run = make_run(*controls()).model_copy(update={"sides": sides_made(dirty="d" * 40)})
    found = entry_of(changed, run, ())

    assert found is not None
    assert found.change == "head 2222222222, with what is not committed against base main (1111111111)"
    tried = [one.model_copy(update={"change": "head x"}) for one in series([50.0] * 6)]
    usual = series([*[44.6] * 6, *[44.6] * 6])
    both = [*usual[:6], *[one.model_copy(update={"run_id": f"x{one.run_id}"}) for one in tried], *usual[6:]]
    told = points(sessions_of(both, "baseline", "single", "abc"), SPEED)
    assert len(told) == 18
    assert standings(RIG, SPEED, told) == ()
