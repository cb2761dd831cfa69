"""Measure and store the baselines of the simulated box anew: the day of 88.8 tok/s and that of 82.2.

    python rigs/sim-8gpu/store_baselines.py [--sessions 6] [--add] [pytest's options ...]       (make sim-baselines)

The good day's lie where the rig's baselines lie, in baselines/sim-8gpu/. Those of the later, patched tree lie in
baselines/eras/82.2/: `pytest perf_tests --baselines baselines/eras/82.2` compares with them. Each is several
sessions on a fresh box, so that the spread between server starts and between sessions is in it, and holds nothing of the
machine it was made on. With --add the sessions join those stored, with seeds that were not played for them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tokgate.verdicts.baselines.lock import writing

ROOT = Path(__file__).resolve().parents[2]
RIG = "sim-8gpu"
# Era -> where it lies, the scenario that is played, and why it is kept.
ERAS = {
    "88.8": (ROOT, (), "the good day: tuned box, clean tree, 88.8 tok/s without speculation"),
    "82.2": (
        ROOT / "baselines" / "eras" / "82.2",
        ("--sim-scenario", "patched-tree"),
        "the later day: debugging patches left in the tree, 82.2 tok/s without speculation",
    ),
}
# These need every launch of which something is stored, and no other; of the second's the phases of a cycle are.
TESTS = ("perf_tests/test_stored_baseline.py", "perf_tests/test_verify_share.py")
# Without a baseline the first session cannot end as a pass; what ends worse is not stored.
MEASURED = {0, 10, 12}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sessions", type=int, default=6, help="sessions per era, four server starts each")
    parser.add_argument(
        "--add", action="store_true", help="add them to what is stored, with seeds of their own"
    )
    parser.add_argument("--era", choices=list(ERAS), help="only this one; both by default")
    asked, more = parser.parse_known_args()
    for era, (root, scenario, why) in ERAS.items():
        if asked.era in (None, era):
            store(root, [*scenario, *more], why, sessions=asked.sessions, add=asked.add)


def store(root: Path, more: list[str], why: str, *, sessions: int, add: bool) -> None:
    """Replace or extend the baselines below one root, once all sessions are there: one decision, one anchor."""
    kept = root / "baselines" / RIG
    with writing(root), tempfile.TemporaryDirectory() as folder:
        new = Path(folder, "new")
        (new / "baselines").mkdir(parents=True)
        if add:
            shutil.copytree(kept, new / "baselines" / RIG)
        first = 1 + (sessions_in(kept) if add else 0)
        runs = []
        for seed in range(first, first + sessions):
            reports = Path(folder, str(seed))
            options = ["--rig", RIG, "--report-dir", str(reports), "--sim-seed", str(seed)]
            options += ["--baselines", str(new), *more]
            run([sys.executable, "-m", "pytest", *TESTS, *options], MEASURED)
            runs.append(str((reports / "latest").resolve()))
        stored = ["--who", "rigs/sim-8gpu/store_baselines.py", "--why", why, "--portable"]
        update = ["--root", str(new), "baseline", "update", *runs, *stored, *(["--append"] if add else [])]
        run([str(Path(sys.executable).with_name("tokgate")), *update], {0})
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(new / "baselines" / RIG, kept)


def sessions_in(folder: Path) -> int:
    """Return how many sessions the fullest baseline of a folder holds: seeds from there on have not been played."""
    counts = [
        len({launch["run_id"] for launch in json.loads(path.read_text(encoding="utf-8"))["launches"]})
        for path in folder.glob("*.json")
    ]
    return max(counts, default=0)


def run(command: list[str], fine: set[int]) -> None:
    ended = subprocess.run(command, cwd=ROOT, check=False).returncode
    if ended not in fine:
        sys.exit(f"{' '.join(command)}: it ended with {ended}, nothing more is stored")


if __name__ == "__main__":
    main()
