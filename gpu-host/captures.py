"""What a running server and its host answer, byte for byte, for tests that run without a GPU (capture_data.py makes them at home).

FOLDER/http/NAME.body, index.jsonl   answers, with what was asked; secrets replaced
FOLDER/smi/WHEN-NAME.txt             nvidia-smi in the forms that the gate asks, and a few more
FOLDER/nvml/WHEN.json                both versions of NVML's memory call, and the processes it lists
FOLDER/processes.json                rows of the server's processes
FOLDER/profile/*                     a trace of a few decode steps, one a rank
"""

from __future__ import annotations

import json
import shutil
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from tokgate.client.exchange import Endpoint
from tokgate.client.prompts import payload, prompt
from tokgate.client.stream import Request, run_batch
from tokgate.errors import BenchFault, HostFault
from tokgate.hosts.connection import Host
from tokgate.hosts.nvml import load_nvml
from tokgate.hosts.processes import environ_of, processes
from tokgate.records.redactor import Redactor
from tokgate.rig.models import Rig
from tokgate.server.running import RunningServer

GETS = (
    *("server_info", "get_server_info", "model_info", "get_model_info", "v1/models"),
    *("health", "health_generate", "get_load", "metrics"),
)
# Each of these was answered, and none of them took the server down (an id beyond the vocabulary would).
ODD: tuple[tuple[str, bytes], ...] = (
    ("bad-json", b'{"text": '),
    ("no-input", b'{"sampling_params": {"max_new_tokens": 1}}'),
    ("wrong-type", b'{"input_ids": [5, 6], "sampling_params": {"max_new_tokens": "many"}}'),
    ("unknown-parameter", b'{"input_ids": [5, 6], "sampling_params": {"no_such_thing": 1}}'),
)
FIELDS = (
    *("index", "uuid", "name", "pci.bus_id", "driver_version", "memory.total", "memory.reserved"),
    *("memory.used", "memory.free", "mig.mode.current", "temperature.gpu", "power.draw"),
    *("clocks.current.sm", "clocks_event_reasons.active", "utilization.gpu", "pcie.link.gen.current"),
)
SMI = {
    "list": "nvidia-smi -L",
    "table": "nvidia-smi",
    "gpus": f"nvidia-smi --query-gpu={','.join(FIELDS)} --format=csv",
    "apps": "nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory,process_name --format=csv",
    "pmon": "nvidia-smi pmon -c 1 -s um",
    "topo": "nvidia-smi topo -m",
}
TELLING = ("NCCL_", "SGLANG_", "CUDA_", "TOKGATE_MARK", "SPT_", "PYTHON", "TORCH_", "NVSHMEM_", "OMP_")
STREAMS = 4
TOKENS = 48
PROFILED = 8  # decode steps
TRACES_S = 60.0


def http(server: RunningServer, rig: Rig, folder: Path, redactor: Redactor, *, root: Path) -> int:
    """Ask everything that a server may be asked, and keep the answers; return how many. Nothing here is timed."""
    place = folder / "http"
    place.mkdir(parents=True, exist_ok=True)
    headers = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
    if server.target.api_key is not None:
        headers["Authorization"] = f"Bearer {server.target.api_key}"
    ids = prompt(rig.prompt_sets[rig.workloads[0].prompts], 0, root=root)
    plain = payload("generate", ids, output_tokens=TOKENS, request_id=uuid.uuid4().hex, stream=False)
    bodies = [(f"generate-{name}", "generate", body) for name, body in ODD]
    bodies.append(("generate-plain", "generate", json.dumps(dict(plain)).encode()))

    def kept(name: str, method: str, path: str, body: bytes = b"") -> int:
        told = {"name": name, "method": method, "path": f"/{path}", "body": body.decode()}
        # A connection each: 0.5.16 resets one on which it has answered 500.
        with httpx.Client(
            base_url=server.run.base_url, headers=headers, trust_env=False, timeout=60.0
        ) as client:
            return _kept(place, client, told, redactor)

    done = sum(kept(path.replace("/", "-"), "GET", path) for path in GETS)
    done += sum(kept(name, "POST", path, body) for name, path, body in bodies)
    done += _streams(server, rig, place, redactor, root=root)
    return done + kept("metrics-after", "GET", "metrics")


def _kept(place: Path, client: httpx.Client, told: dict[str, Any], redactor: Redactor) -> int:
    began = time.monotonic()
    body = told["body"].encode() or None
    try:
        answer = client.request(told["method"], told["path"], content=body, follow_redirects=True)
    except httpx.HTTPError as error:
        told["error"] = redactor.clean(f"{type(error).__name__}: {error}")
    else:
        told |= {"status": answer.status_code, "type": answer.headers.get("content-type")}
        (place / f"{told['name']}.body").write_text(redactor.clean(answer.text), encoding="utf-8")
    told["seconds"] = round(time.monotonic() - began, 3)
    with (place / "index.jsonl").open("a", encoding="utf-8") as index:
        index.write(json.dumps(told) + "\n")
    return 1


def _streams(server: RunningServer, rig: Rig, place: Path, redactor: Redactor, *, root: Path) -> int:
    """Keep streams as the wire had them: one alone, some at once, and one by the OpenAI endpoint."""
    prompts = rig.prompt_sets[rig.workloads[0].prompts]
    done = 0
    asked: tuple[tuple[str, Endpoint, int], ...] = (
        ("one", "generate", 1),
        ("some", "generate", STREAMS),
        ("openai", "completions", 1),
    )
    for name, endpoint, streams in asked:
        requests = []
        for number in range(streams):
            rid = uuid.uuid4().hex
            body = payload(endpoint, prompt(prompts, number, root=root), output_tokens=TOKENS, request_id=rid)
            requests.append(Request(rid, endpoint, body, TOKENS))
        for number, raw in enumerate(run_batch(server.target, requests, timeout_s=60.0).responses):
            text = redactor.clean(raw.wire.decode("utf-8", "backslashreplace"))
            (place / f"stream-{name}-{number}.sse").write_text(text, encoding="utf-8", newline="")
            done += 1
    return done


def smi(host: Host, folder: Path, when: str) -> None:
    """Keep what nvidia-smi and NVML say at this moment; where there is neither, that."""
    for place in ("smi", "nvml"):
        (folder / place).mkdir(parents=True, exist_ok=True)
    for name, command in SMI.items():
        try:
            asked = host.run(command)
            text = f"$ {command}\n{asked.stdout}{asked.stderr}[exit {asked.rc}]\n"
        except HostFault as fault:
            text = f"$ {command}\n{fault.found}\n"
        (folder / "smi" / f"{when}-{name}.txt").write_text(text, encoding="utf-8")
    (folder / "nvml" / f"{when}.json").write_text(json.dumps(_nvml(), indent=1) + "\n", encoding="utf-8")


def _nvml() -> dict[str, Any]:
    nvml = load_nvml()
    if nvml is None:
        return {"why": "no NVML binding in the gate's Python"}
    try:
        nvml.nvmlInit()
        handles = [nvml.nvmlDeviceGetHandleByIndex(n) for n in range(nvml.nvmlDeviceGetCount())]
        return {
            "driver": str(nvml.nvmlSystemGetDriverVersion()),
            "gpus": [_one(nvml, one) for one in handles],
        }
    except nvml.NVMLError as error:
        return {"why": str(error)}


def _one(nvml: Any, handle: Any) -> dict[str, Any]:
    first = nvml.nvmlDeviceGetMemoryInfo(handle)
    second = nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
    listed = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
    return {
        "v1": {"total": first.total, "used": first.used, "free": first.free},
        "v2": {"total": second.total, "reserved": second.reserved, "used": second.used, "free": second.free},
        "processes": [[one.pid, one.usedGpuMemory] for one in listed],
    }


def process_rows(host: Host, server: RunningServer, folder: Path, redactor: Redactor) -> None:
    """Keep a row a process of the server's tree, and what is left of its environment where it starts with TELLING."""
    mine = [p for p in processes(host) if p.mark == server.run.mark or p.sid == server.run.sid]
    raw = environ_of(host, [p.pid for p in mine])
    rows = []
    for one in mine:
        words = [word.decode("utf-8", "backslashreplace") for word in (raw.get(one.pid) or b"").split(b"\0")]
        kept = sorted(word for word in words if word.startswith(TELLING))
        more = {"environment": kept, "variables": sum("=" in word for word in words), "words": len(words)}
        rows.append({**one.model_dump(mode="json"), **more})
    told = redactor.clean_json({"rows": rows})
    (folder / "processes.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def profile(server: RunningServer, rig: Rig, folder: Path, *, root: Path) -> str | None:
    """Keep a trace of a few decode steps of each rank; return why there is none. For a server on this machine."""
    there = Path(server.folder, "captured")
    steps = rig.arm(server.run.launch.arm).num_steps or 0
    tokens = (PROFILED + 3) * (steps + 1)
    rid = uuid.uuid4().hex
    body = payload(
        "generate",
        prompt(rig.prompt_sets[rig.workloads[0].prompts], 0, root=root),
        output_tokens=tokens,
        request_id=rid,
    )
    try:
        server.control.flush_cache()
        server.control.start_profile(str(there), steps=PROFILED + 1, limit_s=TRACES_S)
    except BenchFault as fault:
        return fault.found
    run_batch(server.target, [Request(rid, "generate", body, tokens)], timeout_s=TRACES_S)
    (folder / "profile").mkdir(exist_ok=True)
    for trace in _whole(there):
        shutil.copyfile(trace, folder / "profile" / trace.name)
    return None if any((folder / "profile").iterdir()) else f"no trace came within {TRACES_S:.0f} s"


def _whole(folder: Path) -> Sequence[Path]:
    """Return the traces once they have stopped growing."""
    until = time.monotonic() + TRACES_S
    before: dict[Path, int] = {}
    while time.monotonic() < until:
        now = {path: path.stat().st_size for path in folder.glob("*.trace.json.gz")}
        if now and now == before and all(now.values()):
            return sorted(now)
        before = now
        time.sleep(0.5)
    return ()
