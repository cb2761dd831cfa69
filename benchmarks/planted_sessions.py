"""Claim: whole gate sessions on the CPU rig see a planted loss of throughput, and nothing where nothing is planted.

    python -m benchmarks.planted_sessions --out OUT [--aa 10] [--each 4] [--plant 0.05,0.10,0.20] [--sessions 2]
        [--prefix "flock /tmp/engine.lock"] [--select "-m eagle3"] [--rig-set KEY=VALUE]

First `--baseline` unplanted sessions are stored as the baseline in OUT, one appended to the other. Then come sessions with
nothing planted and with each loss, in turn, so that a change of the machine meets all of them. The plant (plant/tokgate_plant.py) is
loaded in every session, those of the baseline included, and reads what to do from a file: identities are equal, and
nothing but the slowness differs. What lies in OUT is not run again; `--sessions N` runs N more at most.

A loss counts as seen where the session ends `regressed` by its stored baseline. A loss below the rig's floor is never called
(rigs/sglang-cpu.toml: 20 % unless --rig-set floors.decode_tok_s.relative=0.03 and the like say otherwise).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.gate_sessions import ROOT, Campaign, Session, bound, closed, line, split
from tokgate.rig.load import load_rig
from tokgate.session.selftest_plan import order_of

ORDER = "order"
STORED = "stored.json"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rig", default="sglang-cpu")
    parser.add_argument("--baseline", type=int, default=3, help="sessions stored as the baseline")
    parser.add_argument("--aa", type=int, default=10, help="sessions with nothing planted")
    parser.add_argument("--each", type=int, default=4, help="sessions of each planted loss")
    parser.add_argument("--plant", default="0.05,0.10,0.20")
    parser.add_argument("--sessions", type=int, help="run this many more, at most")
    parser.add_argument("--select", type=split, default=split("-m eagle3"))
    parser.add_argument("--prefix", type=split, default=())
    parser.add_argument("--rig-set", action="append", default=[])
    asked = parser.parse_args()
    out = asked.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    levels = [float(part) for part in asked.plant.split(",")]
    rig = load_rig(asked.rig, root=ROOT, overrides=asked.rig_set)
    before = rig.server.environment.get("PYTHONPATH")
    paths = ":".join([str(ROOT / "plant"), *([before] if before else [])])
    campaign = Campaign(
        out,
        asked.rig,
        asked.select,
        settings=(
            f"server.environment.PYTHONPATH={paths}",
            f"server.environment.TOKGATE_PLANT=@{out / ORDER}",
            *asked.rig_set,
        ),
        prefix=asked.prefix,
    )
    left = sys.maxsize if asked.sessions is None else asked.sessions
    over: dict[float | None, list[Session]] = {}
    refused = 0
    for name, planted in plan(asked.baseline, asked.aa, asked.each, levels):
        session = campaign.done(name)
        if session is None and left > 0:
            arms = {order for arm in rig.arms if (order := order_of(arm, planted or 0.0))}
            (out / ORDER).write_text(",".join(sorted(arms)), encoding="utf-8")
            compared = campaign if planted is None else replace(campaign, more=("--baselines", str(out)))
            session, left = compared.play(name), left - 1
            print(line(session), flush=True)
        if session is None:
            continue
        if planted is None and not store(out, session):
            refused += 1
            continue
        over.setdefault(planted, []).append(session)
    report(asked.rig, over, out)
    if refused:
        print(f"{refused} sessions more were not fit to be stored: remove their folders to play them again")


def plan(baseline: int, aa: int, each: int, levels: list[float]) -> Iterator[tuple[str, float | None]]:
    """Yield names of sessions and what is planted in them; None: it becomes part of the baseline."""
    for number in range(1, baseline + 1):
        yield f"baseline-{number:02d}", None
    for number in range(1, max(aa, each) + 1):
        if number <= aa:
            yield f"nothing-{number:02d}", 0.0
        if number <= each:
            for level in levels:
                yield f"loss-{level:g}-{number:02d}", level


def store(out: Path, session: Session) -> bool:
    """Append a session to the baseline, once; return False where it is not fit for it, and `tokgate` has said why."""
    file = out / STORED
    stored: list[str] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    if session.name in stored:
        return True
    (out / "rigs").mkdir(exist_ok=True)  # what makes a folder a checkout to `tokgate --root`
    command = [str(Path(sys.executable).parent / "tokgate"), "--root", str(out), "baseline", "update"]
    command += [str(out / session.name / session.run)]
    command += ["--why", "an unplanted session of this campaign", "--who", "benchmark", "--despite-doubts"]
    command += ["--append"] if stored else []
    if subprocess.run(command, cwd=ROOT, env=closed(), check=False).returncode:
        return False
    file.write_text(json.dumps([*stored, session.name]) + "\n", encoding="utf-8")
    return True


def report(rig: str, over: dict[float | None, list[Session]], out: Path) -> None:
    print(f"\n{rig}: {len(over.get(None, []))} sessions are the baseline\n")
    print(f"{'planted':>8}  {'called':>30}  {'inconclusive':>12}  {'invalid':>7}  {'restarts':>8}")
    for planted in sorted(key for key in over if key is not None):
        sessions = over[planted]
        called = sum(against_baseline(out, one) for one in sessions)
        counts = [sum(one.outcome == word for one in sessions) for word in ("inconclusive", "invalid")]
        spent = sum(one.restarts for one in sessions)
        told = bound(called, len(sessions))
        print(f"{planted:8.0%}  {told:>30}  {counts[0]:12}  {counts[1]:7}  {spent:8}")
    print("\n95 %, one-sided, Clopper-Pearson; called: regressed by the stored baseline\n")
    for sessions in over.values():
        for one in sessions:
            for outcome, headline in one.verdicts:
                print(f"  {one.name}: {outcome}: {headline[:180]}")


def against_baseline(out: Path, session: Session) -> bool:
    """Say whether a stored baseline called a loss in this session."""
    file = out / session.name / session.run / "verdict.json"
    told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return any(v["check"] == "stored_baseline" and v["outcome"] == "regressed" for v in told["verdicts"])


if __name__ == "__main__":
    main()
