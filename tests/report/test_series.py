from __future__ import annotations

import math

from tests.report.examples import run_evidence
from tokgate.records import Launch, LaunchEvidence, RunEvidence, Sample
from tokgate.report.series import metrics_of, series_of


def with_values(*values: float | None) -> RunEvidence:
    samples = tuple(
        Sample(
            metric="cycle_ms",
            value=value,
            unit="ms",
            source="meta_info",
            why=None if value is not None else "the server told no spec_verify_ct",
            launch="01-x",
            workload="single",
            index=i,
        )
        for i, value in enumerate(values)
    )
    launch = LaunchEvidence(launch=Launch(id="01-x", arm="x", role="arm"), samples=samples)
    return run_evidence().model_copy(update={"launches": (launch,)})


def test_every_value_of_every_launch_is_there_in_order() -> None:
    evidence = run_evidence()
    series = series_of(evidence)
    assert sum(len(s.points) for s in series) == sum(len(launch.samples) for launch in evidence.launches)
    decode = next(s for s in series if (s.launch, s.metric) == ("02-eagle3-2step", "decode_tok_s"))
    assert decode.known == tuple(
        s.value for s in evidence.launches[1].samples if (s.metric, s.workload) == ("decode_tok_s", "single")
    )
    assert decode.role == "arm"


def test_an_unknown_value_stays_unknown_and_keeps_its_reason() -> None:
    (series,) = series_of(with_values(30.7, None))
    assert series.known == (30.7,)
    assert (series.points[1].value, series.points[1].why) == (None, "the server told no spec_verify_ct")
    assert series.summary is not None
    assert series.summary.n == 1


def test_a_series_of_nothing_but_unknowns_has_no_summary() -> None:
    (series,) = series_of(with_values(None, None))
    assert series.summary is None


def test_what_is_no_number_becomes_unknown() -> None:
    (series,) = series_of(with_values(math.nan, math.inf, 1.0))
    assert series.known == (1.0,)
    assert series.points[0].why == "the value was nan"


def test_metrics_keep_the_order_of_measurement() -> None:
    assert metrics_of(series_of(run_evidence()))[0] == "decode_tok_s"
