"""Read truth files back: `python -m simbox.truth_reader [STATE]` prints one line a server start.

A test that compares with the truth asks `late` first: a box that was later than its limit makes the run worthless,
which is the machine's fault and no finding.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simbox.box import default_state


@dataclass(frozen=True)
class Run:
    """One server start. `requests` leaves the server's own warm-up out."""

    path: Path
    start: dict[str, Any]
    steps: tuple[dict[str, Any], ...]
    requests: tuple[dict[str, Any], ...]
    lateness: dict[str, Any]
    warm_ns: int = 0  # when the server's own warm-up was over

    @property
    def late(self) -> str | None:
        """Say why the run's times are worthless; None when they are not."""
        if not self.lateness.get("beyond_limit"):
            return None
        told = self.lateness
        return f"{told['beyond_limit']} of {told['steps']} steps were later than {told['limit_ms']:g} ms, one by {told['max_ms']:.1f} ms"


def read(state: Path) -> tuple[Run, ...]:
    """Return every server start of a state folder, oldest first. A torn last line is left out."""
    runs = []
    for path in sorted(state.glob("runs/*/truth.jsonl")):
        lines = [_line(text) for text in path.read_text(encoding="utf-8").splitlines()]

        def of(kind: str, lines: list[dict[str, Any]] = lines) -> tuple[dict[str, Any], ...]:
            return tuple(line for line in lines if line.get("kind") == kind)

        starts, lateness = of("start"), of("lateness")
        if starts:
            served = tuple(r for r in of("request") if r["number"])
            warm = max((r.get("end_ns") or 0 for r in of("request") if not r["number"]), default=0)
            runs.append(Run(path, starts[0], of("step"), served, lateness[-1] if lateness else {}, warm))
    return tuple(runs)


def _line(text: str) -> dict[str, Any]:
    try:
        read_line = json.loads(text)
    except ValueError:
        return {}
    return read_line if isinstance(read_line, dict) else {}


def main() -> None:
    for run in read(Path(sys.argv[1]) if len(sys.argv) > 1 else default_state()):
        rates = [r["decode_tok_s"] for r in run.requests if r["decode_tok_s"]]
        mean = f"{sum(rates) / len(rates):.2f} tok/s" if rates else "-"
        played = ", ".join(run.start["scenarios"]) or "none"
        print(
            f"start {run.start['start']}: {len(run.requests)} requests, {mean}, scenarios {played}, {run.late or 'on time'}"
        )


if __name__ == "__main__":
    main()
