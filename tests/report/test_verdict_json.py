from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from tests.report import example_verdicts, examples
from tokgate.records import Outcome, RunEvidence, VariableState, Verdict
from tokgate.report import diagnosed
from tokgate.report.closing import lines
from tokgate.report.conclusion import SessionEnd
from tokgate.report.summary_md import render
from tokgate.report.verdict_json import build, dump, published_schema, verdict_schema

VALIDATOR = jsonschema.Draft202012Validator(published_schema())


def written(
    verdicts: tuple[Verdict, ...], evidence: RunEvidence | None = None, end: SessionEnd | None = None
) -> dict[str, Any]:
    text = dump(build(evidence or examples.run_evidence(), verdicts, examples.rig(), end=end))
    content: dict[str, Any] = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    return content


def test_the_published_schema_is_current() -> None:
    assert published_schema() == verdict_schema(), (
        "write json.dumps(verdict_schema(), indent=1) to tokgate/report/schema/verdict.schema.json"
    )


def test_the_schema_itself_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(published_schema())


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(written(example_verdicts.verdicts()), id="everything"),
        pytest.param(written(()), id="nothing judged"),
        pytest.param(
            written((), examples.run_evidence().model_copy(update={"launches": (), "fingerprint": None})),
            id="nothing measured",
        ),
        pytest.param(
            written(example_verdicts.six_outcomes(), end=SessionEnd(status=1, unclassified=("a::b",))),
            id="a failure",
        ),
    ],
)
def test_real_output_is_valid(content: dict[str, Any]) -> None:
    VALIDATOR.validate(content)


@pytest.mark.parametrize("broken", ["outcome", "exit_code", "verdicts"])
def test_the_schema_refuses_what_lacks_a_key(broken: str) -> None:
    content = written(example_verdicts.six_outcomes())
    del content[broken]
    assert not VALIDATOR.is_valid(content)


def test_the_schema_refuses_an_unknown_outcome() -> None:
    assert not VALIDATOR.is_valid({**written(example_verdicts.six_outcomes()), "outcome": "green"})


def test_outcome_exit_code_and_headline_come_first_and_agree() -> None:
    content = written(example_verdicts.six_outcomes())
    assert list(content)[:5] == ["schema_number", "simulated", "outcome", "exit_code", "headline"]
    assert (content["outcome"], content["exit_code"]) == ("regressed", 13)


def test_every_sample_is_there() -> None:
    evidence = examples.run_evidence()
    content = written(example_verdicts.six_outcomes(), evidence)
    points = [p["value"] for s in content["series"] for p in s["points"]]
    assert points == [
        s.value
        for launch in evidence.launches
        for key in dict.fromkeys((s.workload, s.metric) for s in launch.samples)
        for s in launch.samples
        if (s.workload, s.metric) == key
    ]


def test_unknown_is_null_and_not_zero() -> None:
    content = written((example_verdicts.hostile("x"),))
    (verdict,) = content["verdicts"]
    assert (verdict["value"], verdict["reference"]["value"]) == (None, None)
    assert content["fingerprint"]["facts"]["gpu.0.serial"] is None


def test_an_interval_with_an_open_end_is_no_interval() -> None:
    (one,) = (v for v in example_verdicts.six_outcomes() if v.outcome is Outcome.REGRESSED)
    content = written((one.model_copy(update={"interval": (-0.3, float("inf"))}),))
    assert content["verdicts"][0]["interval"] is None
    VALIDATOR.validate(content)


def test_environment_keeps_every_cell_that_is_open() -> None:
    erased = next(e for e in written(())["environment"] if e["launch"] == "02-eagle3-2step")
    assert erased["states"] == {"present": 14, "erased": 56}
    assert len(erased["open_cells"]) == 56


def test_differences_name_check_and_reference() -> None:
    (only,) = written(example_verdicts.six_outcomes())["differences"]
    assert only["check"] == "stored_baseline"
    assert only["difference"] == {"key": "gpu.0.driver", "before": "580.95.05", "now": "590.48.01"}


def test_a_launch_that_failed_has_its_cause_and_no_line() -> None:
    failed = written(())["launches"][2]
    assert (failed["line"], failed["failure"]["cause"], failed["generations"]) == (None, "does-not-fit", {})


def test_a_simulated_rig_is_simulated_whoever_says_so() -> None:
    content = build(examples.run_evidence(), (), examples.rig(simulated=True))
    assert content.simulated
    assert build(examples.run_evidence(simulated=True), (), examples.rig()).simulated


def test_a_version_that_is_none_does_not_swell_the_file() -> None:
    evidence = examples.run_evidence()
    server = evidence.launches[0].server
    assert server is not None
    long = evidence.launches[0].model_copy(
        update={"server": server.model_copy(update={"sglang_version": "9" * 10_000})}
    )
    content = written((), evidence.model_copy(update={"launches": (long,)}))
    assert content["launches"][0]["sglang_version"].startswith("9" * 50 + "… (10000 characters, sha256 ")
    assert len(content["launches"][0]["sglang_version"]) < 120


def test_a_diagnosis_that_fails_is_told_and_every_verdict_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("pass")

    monkeypatch.setattr(diagnosed, "diagnose", broken)
    file = build(examples.run_evidence(), example_verdicts.six_outcomes(), examples.rig())

    assert (file.outcome.value, len(file.verdicts)) == ("regressed", 6)
    assert file.diagnosis.causes == ()
    told = "the diagnosis failed (KeyError 'pass', test_verdict_json.py line "
    assert (file.diagnosis.note or "").startswith(told)
    for report in (render(file, "reports/x"), " ".join(lines(file, 200))):
        assert "the diagnosis failed" in report
        assert "stand" in report


@pytest.mark.parametrize(("node", "told"), [(0, set()), (1, {0, 1})])
def test_only_a_server_over_several_hosts_has_processes_numbered_by_node(node: int, told: set[int]) -> None:
    run = examples.run_evidence()
    launch = next(one for one in run.launches if one.environment is not None)
    assert launch.environment is not None
    row = launch.environment.rows[0].model_copy(update={"state": VariableState.ABSENT, "found": None})
    rows = (row, row.model_copy(update={"node": node}))
    environment = launch.environment.model_copy(update={"rows": rows})
    content = written(
        (), run.model_copy(update={"launches": (launch.model_copy(update={"environment": environment}),)})
    )
    VALIDATOR.validate(content)
    cells = content["environment"][0]["open_cells"]
    assert len(cells) == 2
    assert {cell["node"] for cell in cells if "node" in cell} == told
