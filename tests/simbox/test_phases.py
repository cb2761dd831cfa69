"""Every source of phases finds what the box really did: a plugin's clock, the device timer, traces, the truth."""

from __future__ import annotations

import gzip
import json
import statistics
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from simbox.truth_phases import Cycle, cycles
from simbox.truth_reader import Run, read

from .serving import EAGLE3, REPOSITORY, TUNED, Serving, serving

# Phases long enough that a hook's own microseconds are less than a hundredth.
LONG = "draft_ms = 2.0\ndraft_extend_ms = 4.0\nhost_ms = 3.0\n"
MOMENT_MS = 0.1  # what a busy machine takes between two looks at the clock
HOOKED = {
    "draft": "speculative.eagle_worker_v2.EagleDraftWorker.draft",
    "verify": "speculative.eagle_worker_v2.EAGLEWorkerV2.verify",
    "draft_extend": "speculative.eagle_worker_v2.EagleDraftWorker._draft_extend_for_decode",
    "decode": "managers.tp_worker.TpModelWorker.forward_batch_generation",
}
# A plugin as anybody might write one: a clock around each call.
PLUGIN = f"""
import json, os, sys, time

def register():
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType
    file = open(os.path.join(os.environ["CLOCK_OUT"], f"{{os.getpid()}}.jsonl"), "a", buffering=1)
    frame, stack = sys._getframe(), []
    while frame is not None:
        stack.append(frame.f_code.co_name)
        frame = frame.f_back
    file.write(json.dumps(["stack", stack]) + "\\n")

    def around(phase):
        def hook(original, *args, **kwargs):
            batch = next(a for a in args if hasattr(a, "reqs")) if phase != "decode" else None
            began = time.monotonic_ns()
            result = original(*args, **kwargs)
            took = (time.monotonic_ns() - began) / 1e6
            size = len(batch.reqs) if batch else None
            file.write(json.dumps([phase, took, size, getattr(result, "can_run_cuda_graph", None)]) + "\\n")
            return result
        return hook

    for phase, target in {HOOKED!r}.items():
        HookRegistry.register("sglang.srt." + target, around(phase), HookType.AROUND)
"""


def plugin(folder: Path, name: str, code: str) -> None:
    """Write an importable plugin with the entry point by which SGLang finds it."""
    (folder / f"{name}-1.dist-info").mkdir(parents=True)
    (folder / f"{name}.py").write_text(code)
    (folder / f"{name}-1.dist-info" / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"
    )
    entry = f"[sglang.srt.plugins]\n{name} = {name}:register\n"
    (folder / f"{name}-1.dist-info" / "entry_points.txt").write_text(entry)


@pytest.fixture
def clocked(tmp_path: Path) -> dict[str, str]:
    plugin(tmp_path / "plugins", "clock", PLUGIN)
    plugin(tmp_path / "plugins", "broken", "def register():\n    raise RuntimeError('out of order')\n")
    (tmp_path / "out").mkdir()
    return {
        "PYTHONPATH": f"{REPOSITORY}:{tmp_path / 'plugins'}",
        "CLOCK_OUT": str(tmp_path / "out"),
    } | TUNED


def clock_of(tmp_path: Path, pid: int) -> dict[str, list[list[Any]]]:
    found: dict[str, list[list[Any]]] = defaultdict(list)
    for line in (tmp_path / "out" / f"{pid}.jsonl").read_text().splitlines():
        name, *rest = json.loads(line)
        found[name].append(rest)
    return found


def truth_of(server: Serving, *, steps: int) -> Run:
    """Read the run once all its steps are on the record of every rank."""
    ranks = len(server.truth("start")[0]["ranks"])
    for _ in range(500):
        (run,) = read(server.state)
        if all(len(cycles(run, rank=rank)) >= steps for rank in range(ranks)):
            return run
        threading.Event().wait(0.02)
    raise AssertionError([len(cycles(run, rank=rank)) for rank in range(ranks)])


def p50(some: tuple[Cycle, ...], phase: str) -> float:
    return statistics.median(one.host_ms[phase] for one in some)


def test_a_plugins_clock_finds_in_every_rank_what_it_spent(tmp_path: Path, clocked: dict[str, str]) -> None:
    with serving(tmp_path / "box", "--tp-size", "2", *EAGLE3, knobs=LONG, **clocked) as server:
        server.await_line("Failed to execute general plugin: broken")
        server.generate(tokens=120)
        (request,) = server.truth("request", expected=1)
        run = truth_of(server, steps=request["verify_ct"])
        assert all(one.accepted for one in cycles(run, kind="verify"))
        children = server.children()
        for rank in (0, 1):
            seen = clock_of(tmp_path, children[f"sglang::scheduler_TP{rank}"])
            real = cycles(run, rank=rank, kind="verify")
            assert any(name.startswith("run_scheduler_process") for name in seen["stack"][0][0])
            for phase in ("draft", "verify", "draft_extend"):
                mine = seen[phase][-len(real) :]
                found = statistics.median(took for took, _, _ in mine)
                assert found == pytest.approx(p50(real, phase), rel=0.01, abs=MOMENT_MS), phase
                assert found > 0.99 * statistics.fmean(one.gpu_ms[phase] for one in real)
                assert {size for _, size, _ in mine} == {1}
            assert {graph for _, _, graph in seen["verify"]} == {True}
        for pid in (server.process.pid, children["sglang::detokenizer"]):
            elsewhere = clock_of(tmp_path, pid)
            assert list(elsewhere) == ["stack"]
            assert not any(name.startswith("run_scheduler_process") for name in elsewhere["stack"][0][0])


def test_plain_decoding_is_a_call_too(tmp_path: Path, clocked: dict[str, str]) -> None:
    with serving(tmp_path / "box", **clocked) as server:
        server.generate(tokens=40)
        run = truth_of(server, steps=39)
        real = cycles(run, kind="decode")
        seen = clock_of(tmp_path, server.children()["sglang::scheduler"])
        found = statistics.median(took for took, _, _ in seen["decode"][-len(real) :])
        assert found == pytest.approx(p50(real, "decode"), rel=0.01, abs=MOMENT_MS)


def test_before_0_5_11_there_were_no_plugins(tmp_path: Path, clocked: dict[str, str]) -> None:
    with serving(tmp_path / "box", *EAGLE3, "--sim-version", "0.5.9", **clocked) as server:
        assert server.generate(tokens=8)["meta_info"]["completion_tokens"] == 8
        assert list((tmp_path / "out").iterdir()) == []


def test_a_plugin_that_raises_in_a_step_ends_its_scheduler(tmp_path: Path) -> None:
    code = (
        "def register():\n    from sglang.srt.plugins.hook_registry import HookRegistry\n"
        f"    HookRegistry.register('sglang.srt.{HOOKED['draft_extend']}', lambda *_: 1 / 0)\n"
    )
    plugin(tmp_path / "plugins", "deadly", code)
    path = f"{REPOSITORY}:{tmp_path / 'plugins'}"
    with serving(tmp_path / "box", "--skip-server-warmup", *EAGLE3, PYTHONPATH=path) as server:
        with pytest.raises((ConnectionError, OSError)):
            server.generate(tokens=200)
        server.await_line("Scheduler hit an exception: Traceback")
        server.await_line("ZeroDivisionError")
        assert server.process.wait(20) == -9


@pytest.mark.parametrize("planted", [{}, {"draft": 1.05}, {"verify": 1.05, "draft_extend": 1.05}])
def test_the_device_timer_and_the_trace_tell_what_the_gpu_did(
    tmp_path: Path, planted: dict[str, float]
) -> None:
    factors = "".join(f"{phase}_factor = {factor}\n" for phase, factor in planted.items())
    quiet = "noise_step = 0.0\nnoise_request = 0.0\nnoise_start = 0.0\n"
    arguments = ("--tp-size", "2", "--enable-metrics", *EAGLE3)
    timer = TUNED | {"SGLANG_ENABLE_METRICS_DEVICE_TIMER": "1"}
    with serving(tmp_path / "box", *arguments, knobs=factors + quiet, **timer) as server:
        before = device_timer(server)
        server.ask("POST", "/start_profile", {"output_dir": str(tmp_path / "trace")})
        server.generate(tokens=60)
        assert server.ask("POST", "/stop_profile")[0] == 200
        counted = {name: s - before.get(name, 0.0) for name, s in device_timer(server).items()}
        (request,) = server.truth("request", expected=1)
        verifies = request["verify_ct"]
        real = cycles(truth_of(server, steps=verifies), kind="verify")
    healthy = {"draft": 0.25, "verify": 15.779 + 122 * 0.022 * 1.2, "draft_extend": 0.29}
    for phase, name in {
        "draft": "eagle_draft",
        "verify": "target_verify",
        "draft_extend": "eagle_draft_extend",
    }.items():
        told = statistics.fmean(one.gpu_ms[phase] for one in real)
        assert told == pytest.approx(healthy[phase] * planted.get(phase, 1.0), rel=1e-4)
        outside = real[0].sample_ms if phase == "verify" else 0.0
        assert counted[name] * 1000 / verifies == pytest.approx(told - outside, rel=1e-4)
        spans, kernels = traced(tmp_path / "trace", phase)
        assert len(spans) == verifies
        assert statistics.fmean(spans) == pytest.approx(told - outside, rel=1e-4)
        assert sum(kernels) / verifies == pytest.approx(told - outside, rel=1e-3)


def device_timer(server: Serving) -> dict[str, float]:
    page = server.ask("GET", "/metrics")[1].decode()
    (family,) = (
        f for f in text_string_to_metric_families(page) if f.name == "sglang:forward_execution_seconds"
    )
    assert {s.labels["tp_rank"] for s in family.samples} == {"0"}
    return {s.labels["category"]: s.value for s in family.samples}


def traced(folder: Path, phase: str) -> tuple[list[float], list[float]]:
    """Return a phase's spans on the GPU and the kernels that begin within them, in ms, on the last rank."""
    events = json.loads(gzip.decompress(max(folder.glob("*.gz")).read_bytes()))["traceEvents"]
    name = "step[TARGET_VERIFY bs=1]" if phase == "verify" else phase
    spans = [(e["ts"], e["dur"]) for e in events if e["cat"] == "gpu_user_annotation" and e["name"] == name]
    kernels = [(e["ts"], e["dur"]) for e in events if e["cat"] == "kernel"]
    inside = [dur for ts, dur in kernels if any(at - 0.01 <= ts < at + long - 0.01 for at, long in spans)]
    return [long / 1000 for _, long in spans], [dur / 1000 for dur in inside]
