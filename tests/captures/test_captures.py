"""The parsers read what real servers answered: whatever lies here, each kind of file by the same assertions."""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tokgate.client.exchange import RawResponse, Request
from tokgate.client.interpret import interpret
from tokgate.parsers.batch_lines import read_batch_lines
from tokgate.parsers.crashes import find_cause
from tokgate.parsers.meta_info import read_meta_info
from tokgate.parsers.nccl_info import read_nccl
from tokgate.parsers.nvidia_smi import read_gpus, read_holders
from tokgate.parsers.prometheus import delta, read_metrics, series
from tokgate.parsers.startup import read_startup
from tokgate.parsers.torch_trace import read_torch_trace
from tokgate.records import Generation, GenerationStatus

HERE = Path(__file__).parent
ALL = sorted(folder.parent for folder in HERE.glob("*/visit.json"))
TOKENS = 48  # of every stream; gpu-host/captures.py
VERIFY = "sglang:spec_verify_calls_total"


def named(folder: Path) -> str:
    return folder.name


def having(pattern: str) -> list[Path]:
    """Return what lies there in any capture; a kind of file that none has would be a test of nothing."""
    found = sorted(HERE.glob(f"*/{pattern}"))
    assert found, pattern
    return found


def where(path: Path) -> str:
    return str(path.relative_to(HERE))


@cache
def visit(folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / "visit.json").read_text(encoding="utf-8"))
    return told


def text_of(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode("utf-8", "surrogateescape")


def generation(path: Path, endpoint: str = "generate") -> Generation:
    request = Request("r", "completions" if endpoint == "completions" else "generate", {}, TOKENS)
    wire = path.read_bytes()
    raw = RawResponse(request, 0, 1, 2, ((1, wire),), 200, None, None)
    return interpret(raw, launch="l", workload="w", index=0)


@pytest.mark.parametrize("folder", ALL, ids=named)
def test_nothing_of_the_machine_is_left(folder: Path) -> None:
    for path in (p for p in folder.rglob("*") if p.is_file()):
        text = text_of(path) if path.suffix == ".gz" else path.read_text(encoding="utf-8")
        cards = set(re.findall(r"GPU-([0-9a-f-]{36})", text))
        assert cards <= {"00000000-0000-0000-0000-000000000000"}, where(path)
        assert not re.search(r"Bearer (?!\*)|api_key='(?!\*|\[redacted\])", text), where(path)


@pytest.mark.parametrize(
    "path", [*having("http/stream-one-*.sse"), *HERE.glob("*/http/stream-some-*.sse")], ids=where
)
def test_a_stream_is_a_whole_generation_with_its_counters(path: Path) -> None:
    read = generation(path)
    assert (read.status, read.why) == (GenerationStatus.GOOD, None)
    assert read.counters is not None
    assert read.counters.completion_tokens == TOKENS == len(read.output_ids or ())
    assert read.counters.contradictions == ()
    assert read.counters.unread == ()
    assert read.counters.decode_throughput is not None
    spec = read.counters.spec
    assert (spec is not None) is (visit(path.parents[1])["speculation"] == "eagle3")
    if spec is not None:
        assert spec.verify_ct
        assert spec.accept_length == pytest.approx(TOKENS / spec.verify_ct)


@pytest.mark.parametrize("path", having("http/stream-openai-*.sse"), ids=where)
def test_a_stream_of_the_openai_endpoint_is_read(path: Path) -> None:
    assert generation(path, "completions").chunk_ns


@pytest.mark.parametrize("path", having("http/stream-too-long-*.sse"), ids=where)
def test_a_prompt_that_is_too_long_is_an_error_inside_a_good_status(path: Path) -> None:
    read = generation(path)
    assert read.http_status == 200
    assert read.status is GenerationStatus.HTTP_ERROR


@pytest.mark.parametrize("path", having("http/generate-plain.body"), ids=where)
def test_what_was_not_streamed_has_the_same_counters(path: Path) -> None:
    counters = read_meta_info(json.loads(path.read_text(encoding="utf-8"))["meta_info"])
    assert counters.completion_tokens
    assert counters.contradictions == ()
    assert (counters.spec is not None) is (visit(path.parents[1])["speculation"] == "eagle3")


@pytest.mark.parametrize("path", having("http/index.jsonl"), ids=where)
def test_what_makes_no_sense_is_refused_with_a_status(path: Path) -> None:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    odd = [row for row in rows if row["name"].startswith("generate-") and "plain" not in row["name"]]
    # 0.5.16 resets a connection on which it has answered 500: what was asked next on it had no answer.
    behind = [before.get("status") for before in ({}, *odd)]
    assert all(
        400 <= row["status"] < 600 if "status" in row else status == 500
        for row, status in zip(odd, behind, strict=False)
    ), odd


@pytest.mark.parametrize("path", having("http/metrics*.body.gz"), ids=where)
def test_a_scrape_is_read_to_its_last_line(path: Path) -> None:
    scrape = read_metrics(text_of(path))
    assert scrape.complete
    assert scrape.unread == ()
    assert "sglang:generation_tokens_total" in scrape.families


@pytest.mark.parametrize("path", having("http/metrics.body.gz"), ids=where)
def test_counters_only_rise_between_two_scrapes(path: Path) -> None:
    before, after = (
        read_metrics(text_of(path)),
        read_metrics(text_of(path.with_name("metrics-after.body.gz"))),
    )
    made = delta(before, after, "sglang:generation_tokens_total")
    assert made.value is not None, made.why
    assert made.value > 0


@pytest.mark.parametrize("path", having("server.log.gz"), ids=where)
def test_a_log_tells_the_start_and_no_cause_of_a_crash(path: Path) -> None:
    told, log = visit(path.parent), text_of(path)
    start = read_startup(log)
    assert start.says_ready
    assert start.arguments is not None
    assert start.arguments.values["tp_size"] == max(told["gpus"], 1)
    assert (start.arguments.values["speculative_algorithm"] is not None) is (told["speculation"] == "eagle3")
    assert find_cause(log) is None


@pytest.mark.parametrize("path", having("server.log.gz"), ids=where)
def test_decode_lines_say_whether_they_ran_in_a_graph(path: Path) -> None:
    found = read_batch_lines(text_of(path))
    # NCCL's lines are written by another buffer, and one may stand before SGLang's without an end of its own.
    assert [line for line in found.unread if " NCCL INFO " not in line.text] == []
    graph = {line.graph for line in found.decode}
    assert graph == {"no-graph" not in path.parent.name and visit(path.parent)["gpus"] > 0}, graph


@pytest.mark.parametrize(
    "path", [p for p in having("smi/*-gpus.txt") if visit(p.parents[1])["gpus"]], ids=where
)
def test_a_card_is_empty_before_and_after_and_not_meanwhile(path: Path) -> None:
    answer = path.read_text(encoding="utf-8").partition("\n")[2].rpartition("[exit")[0]
    gpus = read_gpus(answer).gpus
    assert len(gpus) == visit(path.parents[1])["gpus"]
    held = {gpu.allocated_mib != 0 for gpu in gpus}
    assert held == {not path.name.startswith(("before", "after"))}


@pytest.mark.parametrize("path", having("nvml/*.json"), ids=where)
def test_the_second_memory_call_counts_no_reserve_and_the_first_one_does(path: Path) -> None:
    gpus = json.loads(path.read_text(encoding="utf-8")).get("gpus", [])
    for gpu in gpus:
        assert gpu["v1"]["used"] == gpu["v2"]["used"] + gpu["v2"]["reserved"]
        if path.name.startswith(("before", "after")):
            assert (gpu["v2"]["used"], gpu["processes"]) == (0, [])
        else:
            assert gpu["v2"]["used"] > 0


@pytest.mark.parametrize("path", having("smi/*-apps.txt"), ids=where)
def test_who_holds_memory_is_read(path: Path) -> None:
    answer = path.read_text(encoding="utf-8").partition("\n")[2].rpartition("[exit")[0]
    held = read_holders(answer)
    if path.name.startswith("load"):
        assert len(held.holders) == visit(path.parents[1])["gpus"]


@pytest.mark.parametrize("path", having("trace-*.json.gz"), ids=where)
def test_a_trace_has_its_steps_and_on_a_gpu_their_kernels(path: Path) -> None:
    reading = read_torch_trace([path.read_bytes()])
    assert reading.complete
    if visit(path.parent)["gpus"]:
        assert reading.steps
        assert sum(kernel.in_steps for kernel in reading.kernels) > 100
    if "nccl" in path.parent.name:
        assert any("AllReduce" in kernel.name for kernel in reading.kernels)


@pytest.mark.parametrize("folder", [f for f in ALL if "device-timer" in f.name], ids=named)
def test_a_device_timer_tells_the_phases_of_a_cycle(folder: Path) -> None:
    after = read_metrics(text_of(folder / "http" / "metrics-after.body.gz"))
    told = {
        sample.labels.get("category") for sample in series(after, "sglang:forward_execution_seconds_total")
    }
    assert {"target_verify", "eagle_draft", "eagle_draft_extend"} <= told


@pytest.mark.parametrize("folder", [f for f in ALL if "nccl-tuned" in f.name], ids=named)
def test_nccl_tells_of_every_rank_what_it_was_set_to(folder: Path) -> None:
    reading = read_nccl(text_of(folder / "server.log.gz"))
    assert reading.unread == ()
    for name, value in (("NCCL_PROTO", "LL"), ("NCCL_ALGO", "Ring"), ("NCCL_BUFFSIZE", "16777216")):
        said = reading.values(name)
        assert list(said) == [value], name
        assert len({process.pid for process in said[value]}) == visit(folder)["gpus"], name


@pytest.mark.parametrize("path", having("processes.json"), ids=where)
def test_a_server_is_a_tree_of_one_session(path: Path) -> None:
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert len({row["sid"] for row in rows}) == 1
    assert any("scheduler" in row["cmdline"] or "scheduler" in row["comm"] for row in rows)
