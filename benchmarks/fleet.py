"""Claim: a pool of hosts divides a session's time; eight arms take three hosts about half the time of one.

    python benchmarks/fleet.py            runs `pytest perf_tests -m eagle3 -n K` on 1, 2 and 3 hosts, prints a table
    python benchmarks/fleet.py 1 3        on these numbers of hosts alone

The hosts are network namespaces of this machine, each with its own sshd and simulated box (tests/fleet/stand.py; needs root). They
share its processors: what the table shows is a lower bound of what hosts with processors of their own save.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.fleet.rig import MORE, write_rig
from tests.fleet.stand import ROOT, stand, why_not

ARMS = 8
TOKENS = 160  # of each generation: a launch measures 15 s and more, which no processor spends
NAMES = ("a", "b", "c")
LIMIT_S = 1500.0
# Judged or not: how long it took is the same.
MEASURED = {0, 10, 11, 12, 13}
CLAIM = 0.65  # of the time of one host


class Took(NamedTuple):
    hosts: int
    seconds: float
    measuring_s: float  # from the first lease to the last one given back
    launches: int
    most: int  # launches of the host that made most
    lost: int  # shifts
    judged: int  # arms without an invalid verdict


def main() -> int:
    reason = why_not()
    if reason is not None:
        print(f"no hosts can be made here: {reason}")
        return 1
    wanted = [int(word) for word in sys.argv[1:]] or [1, 2, 3]
    rows: list[Took] = []
    for count in wanted:
        rows.append(measure(count))
        print(
            f"{count} hosts: {rows[-1].seconds:.0f} s, load {os.getloadavg()[1]:.1f}",
            file=sys.stderr,
            flush=True,
        )
    print(table(rows))
    one = next((row.seconds for row in rows if row.hosts == 1), None)
    if one is None:
        return 0
    best = min(row.seconds for row in rows) / one
    print(f"\n{best:.0%} of the time of one host; claimed: at most {CLAIM:.0%}")
    return 0 if best <= CLAIM else 1


def measure(count: int) -> Took:
    with tempfile.TemporaryDirectory(prefix="fleet-") as name, stand(Path(name), NAMES[:count]) as made:
        folder = Path(name)
        rig = write_rig(
            folder, made.pool_toml(more=MORE), [f"arm-{n}" for n in range(1, ARMS + 1)], tokens=TOKENS
        )
        began = time.monotonic()
        gate = made.start(
            sys.executable, "-m", "pytest", "perf_tests", "-m", "eagle3", "--rig", str(rig), "-p", "no:cacheprovider",
            "--report-dir", str(folder / "reports"), "-n", str(count),
            cwd=ROOT,
        )  # fmt: skip
        code = gate.finish(LIMIT_S)
        seconds = time.monotonic() - began
        if code not in MEASURED:
            print(gate.said())
            raise SystemExit(f"on {count} hosts the gate ended with {code}")
        (run,) = (folder / "reports").glob("*-fleet")
        fleet: dict[str, Any] = json.loads((run / "fleet.json").read_text())
        shifts = fleet["shifts"]
        verdicts: list[dict[str, Any]] = json.loads((run / "verdict.json").read_text())["verdicts"]
        launches = [len(shift["measured"]) for shift in shifts]
        return Took(
            hosts=count,
            seconds=seconds,
            measuring_s=max(shift["seconds"] for shift in shifts),
            launches=sum(launches),
            most=max(launches),
            lost=sum(shift["state"] != "measured" for shift in shifts),
            judged=ARMS
            - len({v["arm"].partition("@")[0] for v in verdicts if v["outcome"] == "invalid" and v["arm"]}),
        )


def table(rows: list[Took]) -> str:
    first = rows[0]
    lines = [
        f"{ARMS} arms and a control arm on simulated boxes, {os.cpu_count()} processors for all hosts",
        "",
        "| hosts | wall time | of one host's | longest shift | server launches | most on one host | arms judged |",
        "|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {row.hosts} | {row.seconds:.0f} s | {row.seconds / first.seconds:.0%} | {row.measuring_s:.0f} s | "
        f"{row.launches} | {row.most} | {row.judged} |"
        for row in rows
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
