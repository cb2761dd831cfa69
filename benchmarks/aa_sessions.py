"""Claim: whole gate sessions of an unchanged server call no loss, at most one in a hundred.

    python -m benchmarks.aa_sessions --out OUT [--rig sim-8gpu] [--of 20] [--sessions 2] [--prefix "unshare -p -f --mount-proc"]

Each session is a gate as `make gate` runs it, on a simulated rig each with another seed on a fresh box. What lies in OUT is
not run again; `--sessions N` runs N more at most, 0 only prints the table. A session in which the simulated box was
late is counted apart: it measured this machine, not the box.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from benchmarks.gate_sessions import ALARMS, ROOT, Campaign, Session, bound, line, split
from tokgate.rig.load import load_rig


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rig", default="sim-8gpu")
    parser.add_argument("--of", type=int, default=20, help="sessions in all")
    parser.add_argument("--sessions", type=int, help="run this many more, at most")
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--select", type=split, default=split("-m eagle3"))
    parser.add_argument("--prefix", type=split, default=())
    parser.add_argument("--rig-set", action="append", default=[])
    asked = parser.parse_args()
    campaign = Campaign(
        asked.out.resolve(), asked.rig, asked.select, settings=asked.rig_set, prefix=asked.prefix
    )
    simulated = load_rig(asked.rig, root=ROOT).simulated
    over: list[Session] = []
    left = asked.of if asked.sessions is None else asked.sessions
    for number in range(asked.of):
        name = f"seed-{asked.first_seed + number}" if simulated else f"session-{number + 1:02d}"
        session = campaign.done(name)
        if session is None and left > 0:
            box = campaign.out / name / "box"
            more = (
                ("--sim-seed", str(asked.first_seed + number), "--sim-state", str(box)) if simulated else ()
            )
            session, left = campaign.play(name, *more), left - 1
            print(line(session), flush=True)
        over += [session] if session else []
    report(asked.rig, over, asked.of)


def report(rig: str, over: list[Session], wanted: int) -> None:
    judged = [one for one in over if one.judged]
    print(
        f"\n{rig}: {len(over)} of {wanted} A/A sessions, {len(over) - len(judged)} of them on a box that was late\n"
    )
    for outcome, count in Counter(one.outcome for one in judged).most_common():
        print(f"  {outcome:14} {count:4}")
    alarms = sum(one.outcome in ALARMS for one in judged)
    print(f"\nfalse alarms: {bound(alarms, len(judged))} (one-sided 95 %, Clopper-Pearson)")
    spent = sum(one.restarts for one in judged)
    print(
        f"restarts beyond the plan: {spent}; {sum(one.seconds for one in judged) / 60:.0f} minutes in all\n"
    )
    for one in over:
        for outcome, headline in one.verdicts:
            print(f"  {one.name}: {outcome}: {headline[:200]}{' (late)' if one.late else ''}")


if __name__ == "__main__":
    main()
