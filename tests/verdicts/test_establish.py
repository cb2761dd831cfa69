from __future__ import annotations

import pytest

from tests.verdicts.evidence import eagle3, make_generation, make_launch, make_rig, series
from tokgate.errors import UsageError
from tokgate.records import (
    Finding,
    GenerationStatus,
    LaunchEvidence,
    Liveness,
    NodeRun,
    Outcome,
    ProcessSeen,
    ServerCounters,
    StartCause,
    StartFailure,
    StopRecord,
    Verdict,
)
from tokgate.verdicts.establish import Established, establish, establish_workload

RIG = make_rig()


def refused(launch: LaunchEvidence, workload: str = "single") -> Verdict:
    found = establish_workload(RIG, launch, workload, check="decode_throughput")
    assert isinstance(found, Verdict)
    assert found.outcome is Outcome.INVALID
    return found


def accepted(launch: LaunchEvidence, workload: str = "single") -> Established:
    found = establish_workload(RIG, launch, workload, check="decode_throughput")
    assert isinstance(found, Established), found.headline
    return found


def test_a_healthy_launch_has_one_value_per_start() -> None:
    found = accepted(make_launch())

    assert found.series["decode_tok_s"].values == (44.6, 44.5, 44.7, 44.6, 44.4, 44.8)
    assert found.raw == ("launches/01-baseline/generations.jsonl",)


def test_a_series_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(UsageError) as caught:
        accepted(make_launch()).series["chunk_gap_ms"]
    assert "'chunk_gap_ms'" in caught.value.tried
    assert "decode_tok_s" in caught.value.found
    assert "docs/metrics.md" in caught.value.do


def test_generations_of_one_start_are_one_value() -> None:
    """Two streams share the machine and its moment: eight of them are four draws."""
    launch = make_launch(series((50.0, 51.0, 52.0, 53.0), workload="pair", concurrency=2))
    found = accepted(launch, "pair")

    assert found.series["decode_tok_s"].values == (50.0, 51.0, 52.0, 53.0)
    assert found.series["decode_tok_s"].by_start[0] == (50.0, 50.0)
    assert len(found.series["total_tok_s"].values) == 4


def test_prompts_may_come_again_in_another_start() -> None:
    again = tuple(make_generation(index=0, batch=batch) for batch in range(6))

    assert len(accepted(make_launch(again)).series["decode_tok_s"].values) == 6


def test_warm_ups_are_not_judged_but_must_not_fail() -> None:
    slow = make_generation(index=99, batch=0, tok_s=3.0, warmup=True)
    failed = slow.model_copy(update={"status": GenerationStatus.HTTP_ERROR, "why": "500"})

    assert 3.0 not in accepted(make_launch((slow, *series()))).series["decode_tok_s"].values
    assert "1 of 7 generations failed" in refused(make_launch((failed, *series()))).headline


def test_failed_generations_are_counted_by_kind_with_the_first_reason() -> None:
    planted = (
        make_generation(index=6, status=GenerationStatus.TIMED_OUT, why="no end before 120 s"),
        make_generation(index=7, status=GenerationStatus.CUT, why="connection reset"),
        make_generation(index=8, status=GenerationStatus.CUT, why="connection reset"),
    )
    verdict = refused(make_launch((*series(), *planted)))

    assert "3 of 9 generations failed (1 timed-out, 2 cut): no end before 120 s" in verdict.headline
    assert "01-baseline-single-7: cut, connection reset" in verdict.evidence


def test_a_failure_in_another_workload_is_not_ours() -> None:
    other = make_generation(workload="pair", status=GenerationStatus.CUT, why="cut")

    accepted(make_launch((*series(), other)))


def test_a_server_that_died_names_its_log() -> None:
    verdict = refused(make_launch(liveness=Liveness(alive=False, answered=False, why="exit code -9")))

    assert "dead after the last generation (exit code -9)" in verdict.headline
    assert verdict.do == "read launches/01-baseline/server.log"


def test_a_further_node_that_died_names_its_own_log() -> None:
    launch = make_launch(
        liveness=Liveness(
            alive=False,
            answered=False,
            why="node 1 (ssh://me@gpu8): its server process was ended by signal 9",
        )
    )
    assert launch.server is not None
    node = NodeRun(
        node=1, host="ssh://me@gpu8", line=launch.server.line, pid=201, start_ticks=1, sid=201, mark="m/node1",
        log_file="launches/01-baseline/server-node1.log",
    )  # fmt: skip
    server = launch.server.model_copy(update={"nodes": (node,)})

    assert (
        refused(launch.model_copy(update={"server": server})).do
        == "read launches/01-baseline/server-node1.log"
    )


def test_a_process_that_survived_the_stop_is_named() -> None:
    survivor = ProcessSeen(
        pid=4711, start_ticks=9, ppid=1, pgid=4711, sid=4711, state="D", comm="sglang::schedul", cmdline=""
    )
    stop = StopRecord(asked="term", killed=True, seconds=60.0, survivors=(survivor,))
    verdict = establish(make_launch(stop=stop), "single", at_least=1, check="x")
    assert isinstance(verdict, Verdict)
    assert verdict.outcome is Outcome.INVALID
    assert "survived the stop" in verdict.headline
    assert "4711" in (verdict.do or "")


def test_a_start_that_failed_says_what_to_do() -> None:
    failure = StartFailure(
        cause=StartCause.PORT_TAKEN,
        headline="port 8000 is taken",
        do="free the port",
        evidence=("[Errno 98]",),
    )
    verdict = refused(make_launch((), failure=failure, server=None))

    assert "the server did not start: port 8000 is taken" in verdict.headline
    assert verdict.do == "free the port"
    assert verdict.evidence == ("cause: port-taken", "[Errno 98]")


def test_an_unclean_machine_comes_before_the_server_that_was_not_started() -> None:
    dirty = make_launch().slate
    assert dirty is not None
    finding = Finding(severity="unclean", what="GPU 3 holds 512 MiB", do="kill pid 4711")
    slate = dirty.model_copy(update={"findings": (finding,)})
    verdict = refused(make_launch((), server=None, slate=slate))

    assert "GPU 3 holds 512 MiB" in verdict.headline
    assert verdict.do == "kill pid 4711"
    assert "no server was started" in verdict.evidence


def test_contradictory_counters_are_named() -> None:
    liar = ServerCounters(
        dialect="0.5.13", completion_tokens=256, contradictions=("9 of 8 prompt tokens cached",)
    )
    verdict = refused(make_launch((*series()[:5], make_generation(index=5, counters=liar))))

    assert "9 of 8 prompt tokens cached" in verdict.headline


def test_more_tokens_than_asked_for_are_not_the_work_declared() -> None:
    assert (
        "made 256 tokens where 128 were asked for" in refused(make_launch(series(asked_tokens=128))).headline
    )


def test_a_start_in_the_wrong_company_is_refused() -> None:
    lonely = series((50.0,) * 8, workload="pair", concurrency=1)

    assert "had 1 generations at concurrency 2" in refused(make_launch(lonely), "pair").headline


def test_a_server_that_runs_with_other_settings_is_no_evidence_for_its_arm() -> None:
    verdict = refused(eagle3(server_info={"speculative_algorithm": None}))

    assert "says it does no speculation" in verdict.headline


def test_a_metric_known_for_some_generations_only_is_unknown() -> None:
    """Else the slow ones might be those without a number."""
    mixed = (*series(verify_ct=138)[:5], *series()[5:])
    found = accepted(make_launch(mixed))

    assert "cycle_ms" not in found.series
    assert found.why_missing("cycle_ms").startswith("known for 5 of 6")


def test_numbers_of_two_sources_are_told_apart() -> None:
    silent = make_generation(
        index=5, counters=ServerCounters(dialect="0.5.9", completion_tokens=256, cached_tokens=0)
    )
    found = accepted(make_launch((*series()[:5], silent)))

    assert any("values of 2 sources are mixed" in w for w in found.series["decode_tok_s"].warnings)


def test_the_same_warning_on_every_sample_is_one_warning() -> None:
    off = tuple(
        g.model_copy(
            update={"counters": g.counters and g.counters.model_copy(update={"decode_throughput": rate})}
        )
        for g, rate in zip(series(), (50.0, 50.1, 50.2, 50.3, 50.4, 50.5), strict=True)
    )
    (warning,) = accepted(make_launch(off)).series["decode_tok_s"].warnings

    assert warning.startswith("6 of 6: the client saw")


@pytest.mark.parametrize("decode", [True, False])
def test_a_single_token_has_no_decode_rate(decode: bool) -> None:
    one = tuple(
        make_generation(
            index=i, tokens=1, counters=ServerCounters(dialect="openai-usage", completion_tokens=1)
        )
        for i in range(6)
    )
    found = establish(make_launch(one), "single", at_least=6, decode=decode)

    assert isinstance(found, Verdict) is decode
    if isinstance(found, Verdict):
        assert "no decode rate" in found.headline
