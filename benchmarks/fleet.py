"""Claim: a pool of hosts takes the time of its longest shift: eight arms on two and three hosts end as the plan reckons from one.

    python benchmarks/fleet.py            runs `pytest perf_tests -m eagle3 -n K` on 1, 2 and 3 hosts, prints a table
    python benchmarks/fleet.py 1 3        on these numbers of hosts alone; 1 has to be among them to reckon from

The hosts are network namespaces of this machine, each with its own sshd and simulated box (tests/fleet/stand.py; needs root). They
share its processors. What hosts with processors of their own would take is reckoned from the launches of the run on one host:
the control arm before and after, and the groups shared out (session/fleet_plan.py), with what that run took besides. The
difference between both is what sharing processors costs here, told as it was found. Ends with 1 where a host was lost, an arm could
not be judged, or more hosts took longer than fewer.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.fleet.namespaces import why_not
from tests.fleet.rig import MORE, write_rig
from tests.fleet.stand import ROOT, stand
from tokgate.rig.load import load_rig
from tokgate.session.fleet_plan import reckoned_s

ARMS = 8
# Of each generation: half of a launch is then waiting for a server, which no processor is spent on.
TOKENS = 48
NAMES = ("a", "b", "c")
LIMIT_S = 1500.0
# Judged or not: how long it took is the same.
MEASURED = {0, 10, 11, 12, 13}


class Took(NamedTuple):
    hosts: int
    seconds: float  # wall time of the whole command
    longest_s: float  # shift, from the first look at its host to the lease given back
    launches: int
    most: int  # launches of the host that made most
    lost: int  # shifts that are not measured to their end
    judged: int  # arms without an invalid verdict
    each: dict[str, float]  # launch -> wall time, of all hosts
    load: float  # processes that wanted a processor, of the last minute


def main() -> int:
    reason = why_not()
    if reason is not None:
        print(f"no hosts can be made here: {reason}")
        return 1
    wanted = [int(word) for word in sys.argv[1:]] or [1, 2, 3]
    began = time.monotonic()
    rows: list[Took] = []
    for count in wanted:
        rows.append(measure(count))
        print(
            f"{count} host{'s' if count > 1 else ''}: {rows[-1].seconds:.0f} s, load {rows[-1].load:.1f}",
            file=sys.stderr,
            flush=True,
        )
    print(table(rows))
    print(f"\nAll of it took {(time.monotonic() - began) / 60:.1f} min.")
    wrong = tuple(faults(rows))
    for line in wrong:
        print(line)
    return 1 if wrong else 0


def measure(count: int) -> Took:
    with tempfile.TemporaryDirectory(prefix="fleet-") as name, stand(Path(name), NAMES[:count]) as made:
        folder = Path(name)
        rig = write_rig(folder, made.pool_toml(more=MORE), arms(), tokens=TOKENS)
        began = time.monotonic()
        gate = made.start(
            sys.executable, "-m", "pytest", "perf_tests", "-m", "eagle3", "--rig", str(rig), "-p", "no:cacheprovider",
            "--report-dir", str(folder / "reports"), "-n", str(count),
            cwd=ROOT,
        )  # fmt: skip
        code = gate.finish(LIMIT_S)
        seconds = time.monotonic() - began
        load = os.getloadavg()[0]
        if code not in MEASURED:
            print(gate.said())
            raise SystemExit(f"on {count} hosts the gate ended with {code}")
        (run,) = (folder / "reports").glob("*-fleet")
        fleet: dict[str, Any] = json.loads((run / "fleet.json").read_text())
        shifts = fleet["shifts"]
        verdicts: list[dict[str, Any]] = json.loads((run / "verdict.json").read_text())["verdicts"]
        launches = [len(shift["measured"]) for shift in shifts]
        spoiled = {v["arm"].partition("@")[0] for v in verdicts if v["outcome"] == "invalid" and v["arm"]}
        return Took(
            hosts=count,
            seconds=seconds,
            longest_s=max(shift["seconds"] or 0.0 for shift in shifts),
            launches=sum(launches),
            most=max(launches),
            lost=sum(shift["state"] != "measured" for shift in shifts),
            judged=len({*arms()} - spoiled),
            each={
                path.parent.name: json.loads(path.read_text())["wall_s"] or 0.0
                for path in run.glob("hosts/*/launches/*/launch.json")
            },
            load=load,
        )


def arms() -> list[str]:
    return [f"arm-{number}" for number in range(1, ARMS + 1)]


def reckoned(one: Took, count: int) -> float:
    """Return what `count` hosts with processors of their own would take: as one host, but for the launches shared out."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as name:
        rig = load_rig(
            str(write_rig(Path(name), '[host]\ntestinfra = "local://"', arms(), tokens=TOKENS)), root=ROOT
        )
    _, all_of_them = reckoned_s(rig, one.each, 1)
    _, longest = reckoned_s(rig, one.each, count)
    return one.seconds - all_of_them + longest


def table(rows: Sequence[Took]) -> str:
    one = next((row for row in rows if row.hosts == 1), None)
    lines = [
        f"{ARMS} arms and a control arm on simulated boxes, {os.cpu_count()} processors for all hosts and the gate",
        "",
        "| hosts | wall time | of one host's | reckoned from one host | longest shift | server launches | most on one host | arms judged |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        share = f"{row.seconds / one.seconds:.0%}" if one is not None else "-"
        plan = (
            f"{reckoned(one, row.hosts):.0f} s, {reckoned(one, row.hosts) / one.seconds:.0%}"
            if one is not None
            else "-"
        )
        lines.append(
            f"| {row.hosts} | {row.seconds:.0f} s | {share} | {plan} | {row.longest_s:.0f} s | "
            f"{row.launches} | {row.most} | {row.judged} of {ARMS} |"
        )
    return "\n".join(lines)


def faults(rows: Sequence[Took]) -> list[str]:
    """Return what is not as it must be on any machine."""
    found = [
        f"{row.hosts} hosts: {row.lost} shifts were not measured to their end" for row in rows if row.lost
    ]
    found += [
        f"{row.hosts} hosts: {ARMS - row.judged} arms could not be judged"
        for row in rows
        if row.judged < ARMS
    ]
    ordered = sorted(rows, key=lambda row: row.hosts)
    found += [
        f"{more.hosts} hosts took {more.seconds:.0f} s, {fewer.hosts} took {fewer.seconds:.0f} s"
        for fewer, more in pairwise(ordered)
        if more.seconds > fewer.seconds
    ]
    return found


if __name__ == "__main__":
    raise SystemExit(main())
