"""What the probe costs: one server, the probe switched off and on in turn, request by request.

    python benchmarks/probe_cost.py [--rig sglang-cpu] [--arm eagle3-2step] [--pairs 40] [--tokens 64]
    python benchmarks/probe_cost.py --url http://127.0.0.1:30000 --switch /path/to/switch [--pairs 200]

The first form starts the rig's arm with the probe loaded. The second asks a server that runs already, on this machine,
with probe/ on its PYTHONPATH, TOKGATE_PROBE_OUT a folder and TOKGATE_PROBE_SWITCH the file given here.

Printed: how long one hooked call takes by itself, measured here around a function that does nothing; tok/s with and
without, as the server tells it; and the interval of the median ratio of a pair. A pair asks the same prompt twice,
and every other pair begins with the probe on. The cost is resolved no finer than the interval is wide.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from urllib.parse import urlsplit

from tokgate.client.exchange import Request, Target
from tokgate.client.interpret import interpret
from tokgate.client.stream import run_batch
from tokgate.hosts.connection import connect
from tokgate.records import Launch
from tokgate.records.redactor import Redactor
from tokgate.rig.load import load_rig
from tokgate.server.launch import start
from tokgate.stats.summary import summarise

ROOT = Path(__file__).parents[1]
PROBE = ROOT / "probe"
CALLS = 4_000  # five turns of two spans: fewer than the queue holds, whatever the disk does


def hook_ns(switch: Path, out: Path) -> dict[str, float]:
    """Return what a call of each kind takes longer than without its hook, ns: least of five turns."""
    sys.path.insert(0, str(PROBE))  # as a server finds it
    from tokgate_probe.clocks import HostClock  # noqa: PLC0415
    from tokgate_probe.hooks import Hooks  # noqa: PLC0415
    from tokgate_probe.line_file import LineFile  # noqa: PLC0415
    from tokgate_probe.recorder import Recorder  # noqa: PLC0415
    from tokgate_probe.switch import Switch  # noqa: PLC0415

    recorder = Recorder(LineFile(out, os.getpid()))
    recorder.begin({"probe": 1})
    recorder.start()
    hooks = Hooks(HostClock(), Switch(str(switch)), recorder)
    step, verify = hooks.around("step"), hooks.around("verify")
    mode = SimpleNamespace(is_decode=lambda: True)
    batch = SimpleNamespace(forward_mode=mode, reqs=[None], is_extend_in_batch=False)

    def nothing(*_: object) -> None:
        return None

    def nested(*_: object) -> None:
        verify(nothing, None, batch)

    def per_call(hooked: bool, inner: bool) -> float:
        call = nested if inner else nothing
        began = time.thread_time_ns()  # of this thread alone: others may be busy
        for _ in range(CALLS):
            if hooked:
                step(call, None, batch)
            else:
                nothing(None, batch)
        return (time.thread_time_ns() - began) / CALLS

    def cost(inner: bool) -> float:
        return min(per_call(True, inner) for _ in range(5)) - min(per_call(False, inner) for _ in range(5))

    told: dict[str, float] = {}
    for name, byte in (("off", b"0"), ("on", b"1")):
        flip(switch, byte)
        cycle = cost(False)
        told |= {f"cycle, {name}": cycle, f"phase in it, {name}": cost(True) - cycle}
    recorder.end()
    return told


def flip(switch: Path, byte: bytes) -> None:
    """Write into the file: the probe has it open."""
    handle = os.open(switch, os.O_WRONLY)
    os.pwrite(handle, byte, 0)
    os.close(handle)


def tok_s(target: Target, index: int, tokens: int) -> float:
    """Return the decode tok/s that the server tells of one generation."""
    sampling = {"max_new_tokens": tokens, "temperature": 0, "ignore_eos": True}
    prompt = [4 + (index * 131 + i * 17) % 2000 for i in range(16)]
    request = Request(
        uuid.uuid4().hex,
        "generate",
        {"input_ids": prompt, "sampling_params": sampling, "stream": True},
        tokens,
    )
    (raw,) = run_batch(target, (request,), timeout_s=120).responses
    generation = interpret(raw, launch="cost", workload="cost", index=index)
    if not generation.good or generation.counters is None or not generation.counters.decode_throughput:
        sys.exit(f"request {index}: {generation.status.value}, {generation.why}")
    return generation.counters.decode_throughput


@contextmanager
def rig_server(options: argparse.Namespace, folder: Path, switch: Path) -> Iterator[Target]:
    rig = load_rig(options.rig, root=ROOT)
    out = folder / "probe"
    out.mkdir()
    environment = {
        **rig.server.environment,
        "PYTHONPATH": ":".join(filter(None, (rig.server.environment.get("PYTHONPATH"), str(PROBE)))),
        "TOKGATE_PROBE_OUT": str(out),
        "TOKGATE_PROBE_SWITCH": str(switch),
    }
    rig = rig.model_copy(update={"server": rig.server.model_copy(update={"environment": environment})})
    redactor = Redactor()
    server = start(
        connect(rig.host, redactor=redactor),
        rig,
        Launch(id=f"01-{options.arm}", arm=options.arm, role="arm"),
        mark=f"probe-cost/{uuid.uuid4().hex[:8]}",
        redactor=redactor,
        folder=folder,
    )
    try:
        yield server.target
    finally:
        server.stop()
    files = list(out.iterdir())
    if not files:
        sys.exit(f"{out}: the probe wrote nothing, so it was not at work; the server's log says why")
    print(f"the probe wrote {sum(file.stat().st_size for file in files)} bytes in {len(files)} file(s)")


def compare(target: Target, switch: Path, *, pairs: int, tokens: int) -> None:
    tok_s(target, 0, tokens)  # a server's first request is slow
    speed: dict[bytes, list[float]] = {b"0": [], b"1": []}
    for pair in range(pairs):
        for byte in (b"0", b"1") if pair % 2 else (b"1", b"0"):
            flip(switch, byte)
            speed[byte].append(tok_s(target, pair, tokens))
    flip(switch, b"1")
    ratios = [on / off for on, off in zip(speed[b"1"], speed[b"0"], strict=True)]
    interval = summarise(ratios).interval
    print(f"\n{pairs} pairs of {tokens} tokens, tok/s as the server tells\n")
    print(f"{'probe':<8} {'tok/s':>9}")
    print(f"{'off':<8} {median(speed[b'0']):>9.2f}\n{'on':<8} {median(speed[b'1']):>9.2f}")
    print(f"\non/off {median(ratios):.4f}", end="")
    if interval is None:
        sys.exit(", too few pairs for an interval")
    low, high = (1 - bound for bound in reversed(interval))
    print(f", 95 % interval {interval[0]:.4f} … {interval[1]:.4f}: ", end="")
    print(f"it costs {low:.2%} to {high:.2%}" if low > 0 else f"it costs less than {max(high, 0.0):.2%}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rig", default="sglang-cpu")
    parser.add_argument("--arm", default="eagle3-2step")
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument(
        "--url", help="a running SGLang server without an API key, its probe switched by --switch"
    )
    parser.add_argument("--switch", type=Path)
    options = parser.parse_args()
    if bool(options.url) != bool(options.switch):
        parser.error("--url and --switch belong together")
    with tempfile.TemporaryDirectory(prefix="probe-cost-") as name:
        folder = Path(name)
        own = folder / "switch"
        own.write_bytes(b"1")
        print("one hooked call, beside its own work, host clock\n")
        for what, ns in hook_ns(own, folder).items():
            print(f"{what:<18} {ns:>7.0f} ns")
        if options.url:
            place = urlsplit(options.url)
            compare(
                Target(place.hostname or "127.0.0.1", place.port or 80),
                options.switch,
                pairs=options.pairs,
                tokens=options.tokens,
            )
            return
        flip(own, b"1")
        with rig_server(options, folder, own) as target:
            compare(target, own, pairs=options.pairs, tokens=options.tokens)


if __name__ == "__main__":
    main()
