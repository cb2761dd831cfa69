"""The truth file: what the box really did, one JSON object a line.

    start      scenarios, seed, knobs, what each rank saw of NCCL, which mode this start landed in
    step       by phase what the GPU of rank 0 did, when it was due, when it was done, what each verify accepted
    request    counts, stamps, when every chunk was really sent and by how much too late
    lateness   a summary of the box's own lateness; written after each request, the last one counts

Stamps are time.monotonic_ns() of this machine, so that a client on it can be compared to the microsecond. Tests
compare with this file and never with the wall clock: a busy machine delays the box, and the box says so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from simbox.request import Request


class Truth:
    """Collects lines and writes them in bundles."""

    def __init__(self, folder: Path, *, late_limit_ms: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "truth.jsonl"
        self._file = self.path.open("a", encoding="utf-8")
        self._limit_ms = late_limit_ms
        self._late_ms: list[float] = []
        self._steps = 0
        self._done_ns = 0

    @property
    def next_step(self) -> int:
        """The number that the coming step will have."""
        return self._steps + 1

    def start(self, **facts: Any) -> None:
        self._write({"kind": "start", **facts})
        self._file.flush()

    def step(
        self, *, what: str, phases: dict[str, float], began_ns: int, due_ns: int, late_ns: int, done_ns: int, batch: int, graph: bool,
        sample_ms: float, accepted: dict[str, int], heat: float,
    ) -> None:  # fmt: skip
        self._steps += 1
        self._late_ms.append(late_ns / 1e6)
        self._write(
            {
                "kind": "step",
                "n": self._steps,
                "what": what,
                "phases_ms": {k: round(v, 4) for k, v in phases.items()},
                "due_ns": due_ns,
                "late_us": late_ns // 1000,
                "done_ns": done_ns,
                # What it really took: from the end of the step before, or from its own beginning after a pause.
                "took_ms": round((done_ns - max(began_ns, self._done_ns)) / 1e6, 4),
                "batch": batch,
                "graph": graph,
                "sample_ms": round(sample_ms, 4),  # of verify
                "accepted": accepted,
                "heat": heat,
            }
        )
        self._done_ns = done_ns

    def request(self, request: Request, ending: str) -> None:
        """`ending`: "length", "aborted", "cut"."""
        n, first, end = len(request.output), request.first_ns, request.end_ns
        decode_s = (end - first) / 1e9 if first and end and end > first else None
        verifies = len(request.accepted)
        self._write(
            {
                "kind": "request",
                "rid": request.rid,
                "number": request.number,
                "ending": ending,
                "prompt_tokens": len(request.prompt),
                "cached_tokens": request.cached,
                "completion_tokens": n,
                "verify_ct": verifies,
                "accepted": request.accepted,
                "accept_length": n / verifies if verifies else None,
                "received_ns": request.received_ns,
                "first_ns": first,
                "end_ns": end,
                "ttft_ms": (first - request.received_ns) / 1e6 if first else None,
                "e2e_ms": (end - request.received_ns) / 1e6 if end else None,
                # The first token is prefill's.
                "decode_tok_s": (n - 1) / decode_s if decode_s and n > 1 else None,
                "cycle_ms": decode_s * 1000 / verifies if decode_s and verifies else None,
                "chunk_ns": request.chunk_ns,
                "late_us": request.late_us,
            }
        )
        self._write({"kind": "lateness", **self.lateness()})
        self._file.flush()

    def lateness(self) -> dict[str, Any]:
        """Summarise how late the steps were, in ms; None without any."""
        late = sorted(self._late_ms)
        if not late:
            return {"steps": 0, "p50_ms": None, "p99_ms": None, "max_ms": None, "beyond_limit": 0}
        return {
            "steps": len(late),
            "p50_ms": round(late[len(late) // 2], 4),
            "p99_ms": round(late[min(len(late) - 1, len(late) * 99 // 100)], 4),
            "max_ms": round(late[-1], 4),
            "limit_ms": self._limit_ms,
            "beyond_limit": sum(1 for ms in late if ms > self._limit_ms),
        }

    def close(self) -> None:
        self._write({"kind": "lateness", **self.lateness()})
        self._file.close()

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
