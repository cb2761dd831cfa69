"""Judge the simulated server, and our client, by two benchmark clients that are neither ours nor SGLang's.

    python -m benchmarks.peers.compare [--peers aiperf guidellm] [--arms plain eagle3] [--concurrency 1 8]

Per arm one simulated server; per concurrency every client in turn, in the same minutes. Each client's figures stand
beside what the box's truth file says of that client's own requests. README.md says what the figures mean. The first
run installs the clients (some gigabytes) into .peers/.

Exit code 1 when a client's time per token or throughput is farther than 1 % from the truth. Where the machine was so
busy that the box was late beyond its limit, the row says so.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.peers import aiperf, guidellm, ours
from benchmarks.peers.box import ARMS, Box, Figures, box
from benchmarks.peers.load import Load
from benchmarks.peers.tokenizer import lay_tokenizer

PEERS = {"aiperf": aiperf.run, "guidellm": guidellm.run}
LIMIT = 0.01


def measured(client: str, server: Box, load: Load, folder: Path) -> tuple[Figures, Figures, str | None]:
    """Return what the client says, what the truth says, and how late the box was, if beyond its limit."""
    folder.mkdir()
    server.forget()
    told = ours.run(server.port, load) if client == "tokgate" else PEERS[client](server.url, load, folder)
    truth, late = server.truth(load.requests)
    return told, truth, late


def cell(told: float | None, truth: float | None) -> str:
    if told is None or truth is None:
        return f"{'-':>26}"
    return f"{told:9.2f} {truth:9.2f} {told / truth - 1:+6.1%}"


def off(told: Figures, truth: Figures) -> bool:
    """Whether a figure that a client and the server mean alike differs by more than the limit."""
    pairs = ((told.itl_ms, truth.itl_ms), (told.tok_s, truth.tok_s))
    return any(a is None or b is None or abs(a / b - 1) > LIMIT for a, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--concurrency", nargs="+", type=int, default=[1, 8])
    for name, default in {"requests": 8, "input-tokens": 64, "output-tokens": 256}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    lay_tokenizer()
    missed = 0
    head = "".join(f"  {name:>26}" for name in ("TTFT ms", "ITL ms", "output tok/s", "chunk gap ms"))
    print(f"SIMULATED server; each figure: client, truth, difference\n{'':<22}{head}")
    for arm in asked.arms:
        with tempfile.TemporaryDirectory() as name, box(arm, Path(name) / "box") as server:
            for concurrency in asked.concurrency:
                requests = max(asked.requests // concurrency, 2) * concurrency
                load = Load(requests, concurrency, asked.input_tokens, asked.output_tokens)
                for client in (*asked.peers, "tokgate"):
                    told, truth, late = measured(client, server, load, Path(name) / f"{client}-{concurrency}")
                    cells = [
                        cell(getattr(told, key), getattr(truth, key))
                        for key in ("ttft_ms", "itl_ms", "tok_s", "gap_ms")
                    ]
                    print(f"{arm} x{concurrency:<3} {client:<10}", *cells, sep="  ", flush=True)
                    if late:
                        print(f"    the box was late: {late}", flush=True)
                    missed += off(told, truth)
    print(f"{missed} rows with ITL or throughput farther than {LIMIT:.0%} from the truth")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
