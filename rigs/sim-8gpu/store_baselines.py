"""Measure and store the baselines of the simulated box anew: the day of 88.8 tok/s and that of 82.2.

    python rigs/sim-8gpu/store_baselines.py [--sessions 3] [pytest's options ...]       (make sim-baselines)

The good day's lie where the rig's baselines lie, in baselines/sim-8gpu/. Those of the later, patched tree lie in
baselines/eras/82.2/: `pytest perf_tests --baselines baselines/eras/82.2` compares with them. Each is several
sessions on a fresh box, so that the spread between server starts is in it, and holds nothing of the machine it was
made on.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RIG = "sim-8gpu"
# Where each era lies -> the scenario that was played, and why it is kept.
ERAS = {
    ROOT: ((), "the good day: tuned box, clean tree, 88.8 tok/s without speculation"),
    ROOT / "baselines" / "eras" / "82.2": (
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
    parser.add_argument("--sessions", type=int, default=3, help="sessions per era, four server starts each")
    asked, more = parser.parse_known_args()
    for root, (scenario, why) in ERAS.items():
        store(root, [*scenario, *more], why, asked.sessions)


def store(root: Path, more: list[str], why: str, sessions: int) -> None:
    """Replace the baselines below one root, once all of the new ones are there."""
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder, "new")
        (new / "baselines").mkdir(parents=True)
        for seed in range(1, sessions + 1):
            reports = Path(folder, str(seed))
            options = ["--rig", RIG, "--report-dir", str(reports), "--sim-seed", str(seed)]
            options += ["--baselines", str(new), *more]
            run([sys.executable, "-m", "pytest", *TESTS, *options], MEASURED)
            stored = ["--who", "rigs/sim-8gpu/store_baselines.py", "--why", why, "--portable", "--append"]
            update = ["--root", str(new), "baseline", "update", str(reports / "latest")]
            run([str(Path(sys.executable).with_name("tokgate")), *update, *stored], {0})
        shutil.rmtree(root / "baselines" / RIG, ignore_errors=True)
        shutil.copytree(new / "baselines" / RIG, root / "baselines" / RIG)


def run(command: list[str], fine: set[int]) -> None:
    ended = subprocess.run(command, cwd=ROOT, check=False).returncode
    if ended not in fine:
        sys.exit(f"{' '.join(command)}: it ended with {ended}, nothing more is stored")


if __name__ == "__main__":
    main()
