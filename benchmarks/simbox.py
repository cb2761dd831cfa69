"""Claim: the simulated server streams 128 x 50 events a second on one core, each chunk on time.

    python benchmarks/simbox.py [STREAMS] [TOKENS]

The server's process tree is kept on one core and the client on the others. What counts is the server's own truth
file: when each chunk was due and when it left.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    streams, tokens = (
        (int(sys.argv[1]) if len(sys.argv) > 1 else 128),
        (int(sys.argv[2]) if len(sys.argv) > 2 else 256),
    )
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        held.close()
        state, log = Path(folder), Path(folder) / "server.log"
        cores = sorted(os.sched_getaffinity(0))
        command = [
            sys.executable,
            "-m",
            "simbox.launch_server",
            "--model-path",
            "/nowhere",
            "--port",
            str(port),
        ]
        command += ["--sim-scenario", "fast-streams", "--sim-state", folder]
        # The children inherit the core; ours is set back below.
        os.sched_setaffinity(0, cores[:1])
        with log.open("wb") as out:
            server = subprocess.Popen(command, cwd=REPOSITORY, stdout=out, stderr=out, start_new_session=True)
        os.sched_setaffinity(0, cores[1:] or cores)
        try:
            while b"fired up" not in log.read_bytes():
                if server.poll() is not None:
                    sys.exit(log.read_text())
                time.sleep(0.05)
            before = cpu_s(server.pid)
            begun = time.monotonic()
            received = asyncio.run(load(port, streams, tokens))
            seconds = time.monotonic() - begun
            used = cpu_s(server.pid) - before
            # A request's line is written when it ends; the server is still up, so all of them are there.
            truth = [
                json.loads(line) for line in next(state.glob("runs/*/truth.jsonl")).read_text().splitlines()
            ]
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()
    requests = [t for t in truth if t["kind"] == "request" and t["number"]]
    late = sorted(us / 1000 for r in requests for us in r["late_us"])
    rates = sorted(r["decode_tok_s"] for r in requests)
    print(f"{'streams':<34}{streams}")
    print(f"{'events sent':<34}{len(late)}")
    print(f"{'events received':<34}{received}")
    print(f"{'events a second, all streams':<34}{len(late) / seconds:.0f}")
    print(f"{'events a second a stream':<34}{rates[0]:.2f} .. {rates[-1]:.2f}")
    print(f"{'server CPU, share of one core':<34}{100 * used / seconds:.0f} %")
    print(f"{'CPU an event':<34}{1e6 * used / len(late):.0f} us")
    print(f"{'chunk sent after due, p50':<34}{late[len(late) // 2]:.2f} ms")
    print(f"{'                      p99':<34}{late[len(late) * 99 // 100]:.2f} ms")
    print(f"{'                      max':<34}{late[-1]:.2f} ms")


async def load(port: int, streams: int, tokens: int) -> int:
    """Start all streams at once and count the events that arrive."""

    async def one(number: int) -> int:
        body = json.dumps(
            {
                "text": f"stream {number}",
                "stream": True,
                "sampling_params": {"max_new_tokens": tokens, "ignore_eos": True},
            }
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        writer.write(
            f"POST /generate HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()
        )
        seen = 0
        while piece := await reader.read(1 << 18):
            seen += piece.count(b'data: {"text"')
        writer.close()
        return seen

    return sum(await asyncio.gather(*(one(n) for n in range(streams))))


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process and its children still running."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    total = (int(fields[11]) + int(fields[12])) / TICKS
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return total + sum(cpu_s(int(child)) for child in children)


if __name__ == "__main__":
    main()
