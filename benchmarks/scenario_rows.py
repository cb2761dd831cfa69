"""Claim: every scenario of docs/scenarios.md ends as its row says, and its cause is ranked first.

    python -m benchmarks.scenario_rows --out OUT [--prefix "nice -n -20 unshare -p -f --mount-proc"] [SCENARIO ...]

Each row is played by its own tests (tests/scenarios/test_scenarios.py), one row at a time. A row that is over is not played
again, unless it is named; the table of all of them is printed in the end. A row whose box was late twice
measured this machine: its tests fail and say so, and the table calls it late.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.gate_sessions import exit_code_of, split
from simbox.truth_reader import read
from tests.scenarios.expecting import Row
from tests.scenarios.rows import BY_NAME, ELSEWHERE, ROWS

TESTS = "tests/scenarios/test_scenarios.py"
HELD, FAILED, LATE = "as specified", "NOT AS SPECIFIED", "box late twice"


@dataclass(frozen=True)
class Played:
    """One row that is over. `seconds`: of its tests, with what was played a second time; `late`: why it was."""

    scenario: str
    held: str
    outcome: str
    ranked: tuple[str, ...]
    seconds: float
    late: tuple[str, ...]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenarios", nargs="*", choices=[*BY_NAME, []], metavar="SCENARIO")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--prefix", type=split, default=())
    asked = parser.parse_args()
    out = asked.out.resolve()
    for number, row in enumerate(ROWS, 1):
        file = out / f"{number:02d}.json"
        if row.scenario in asked.scenarios or (not asked.scenarios and not file.is_file()):
            # The folder's name must not tell what is played in it.
            played = play(row, out / f"{number:02d}", asked.prefix)
            file.write_text(json.dumps(asdict(played)) + "\n", encoding="utf-8")
            print(line(row, played), flush=True)
    print()
    report([Played(**json.loads(file.read_text(encoding="utf-8"))) for file in sorted(out.glob("??.json"))])


def play(row: Row, folder: Path, prefix: tuple[str, ...]) -> Played:
    """Run the tests of a row, and read what its last session said. Everything of it stays in `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    command = [*prefix, sys.executable, "-m", "pytest", TESTS, "-q", "-k", f"[{row.scenario}]"]
    command += ["-p", "no:cacheprovider", "--basetemp", str(folder)]
    began = time.monotonic()
    said_file = folder.with_suffix(".txt")
    code = exit_code_of(command, said_file)
    seconds = time.monotonic() - began
    reports = [path for path in folder.rglob("reports/*/verdict.json") if not path.parent.is_symlink()]
    if not reports:
        sys.exit(f"{row.scenario} ended with {code} and left no verdict.json: see {said_file}")
    told = json.loads(max(reports, key=lambda path: path.stat().st_mtime).read_text(encoding="utf-8"))
    boxes = sorted({path.parents[2] / "box" for path in reports})
    late = [[run.late for run in read(box) if run.late] for box in boxes]
    return Played(
        row.scenario,
        HELD if code == 0 else LATE if row.timed and len(late) > 1 and all(late) else FAILED,
        told["outcome"],
        tuple(cause["name"] for cause in told["diagnosis"]["causes"]),
        round(seconds, 1),
        tuple(why for box in late for why in box) if row.timed else (),
    )


def line(row: Row, played: Played) -> str:
    late = f"  LATE: {'; '.join(played.late)}" if played.late else ""
    first = ", ".join(played.ranked[: max(1, len(row.causes))]) or "-"
    return f"{played.scenario:24} {played.held:17} {played.outcome:10} {played.seconds:5.0f} s  {first}{late}"


def report(over: list[Played]) -> None:
    """Print the table: what was ranked first, and the scenarios of which it was."""
    print("| ranked first | of the scenarios (seconds) |\n|---|---|")
    groups: dict[str, list[str]] = {}
    for one in over:
        first = ", then ".join(one.ranked[: max(1, len(BY_NAME[one.scenario].causes))])
        wrong = "" if one.held == HELD else f" **{one.held}**"
        told = f"`{one.scenario}` {one.seconds:.0f}{wrong}"
        groups.setdefault(first or f"nothing: {one.outcome}", []).append(told)
    for first, scenarios in groups.items():
        print(f"| {first} | {', '.join(scenarios)} |")
    held, again = sum(one.held == HELD for one in over), sum(bool(one.late) for one in over)
    print(
        f"\n{held} of {len(over)} rows as specified ({len(ROWS)} in all), {again} of them played twice, "
        f"{sum(one.seconds for one in over) / 60:.0f} minutes"
    )
    for name, why in ELSEWHERE.items():
        print(f"no row: {name}: {why}")


if __name__ == "__main__":
    main()
