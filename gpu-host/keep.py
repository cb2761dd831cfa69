"""Keep what a GPU host measured in the checkout: its baselines, or the report of a good run as an example in docs/.

    python gpu-host/keep.py baselines CAMPAIGN      of run.sh baselines: into baselines/RIG/, to be looked at and committed
    python gpu-host/keep.py example RUN             verdict.json and report.html into docs/examples/RIG/

CAMPAIGN and RUN are folders as `make gpu-collect` laid them out. Baselines that stand there already are left alone unless
--replace is given: `tokgate baseline update` compares and appends. An example is a run that ended `pass` or `improved`; of it
GPUs' UUIDs are replaced, verdict.json loses its blanks, and a file above --most-mib is refused.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from capture_data import cleaner
from telling import give_up, say

ROOT = Path(__file__).resolve().parents[1]
GOOD = ("pass", "improved")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("baselines", "example"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--replace", action="store_true")
    parser.add_argument("--most-mib", type=float, default=1.5)
    asked = parser.parse_args()
    if asked.what == "baselines":
        kept = keep_baselines(asked.folder, asked.root, replace=asked.replace)
    else:
        kept = keep_example(asked.folder, asked.root, most_mib=asked.most_mib)
    for file in kept:
        say(f"{file.relative_to(asked.root)}, {file.stat().st_size / 1024:.0f} KiB")


def keep_baselines(campaign: Path, root: Path, *, replace: bool = False) -> list[Path]:
    """Copy a campaign's baselines into the checkout; return them."""
    files = sorted((campaign / "baselines").glob("*/*.json"))
    targets = [root / "baselines" / file.parent.name / file.name for file in files]
    there = [target for target in targets if target.exists()]
    if not files or (there and not replace):
        give_up(
            tried=f"keep the baselines of {campaign}",
            found=f"{there[0]} stands there already" if there else "no baselines/RIG/*.json in it",
            do="append its runs to them with tokgate baseline update --append, or --replace them"
            if there
            else "finish the campaign, or make them of its runs: tokgate baseline update …/runs/*/2* --why …",
        )
    for file, target in zip(files, targets, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return targets


def keep_example(run: Path, root: Path, *, most_mib: float) -> list[Path]:
    """Copy a good run's verdict.json and report.html into docs/examples; return them."""
    try:
        verdict: dict[str, Any] = json.loads((run / "verdict.json").read_text(encoding="utf-8"))
        page = (run / "report.html").read_text(encoding="utf-8")
        rig = json.loads((run / "rig.json").read_text(encoding="utf-8"))["name"]
    except (OSError, ValueError, KeyError) as error:
        give_up(
            tried=f"keep {run} as an example",
            found=str(error),
            do="name the folder of one run, with verdict.json and report.html in it",
        )
    if verdict["outcome"] not in GOOD or verdict["simulated"]:
        what = "simulated" if verdict["simulated"] else verdict["outcome"]
        give_up(
            tried=f"keep {run} as an example",
            found=f"it is {what}: {verdict['headline'][:200]}",
            do="name a run of a real host that ended pass or improved",
        )
    clean = cleaner({})
    texts = {
        "verdict.json": clean(json.dumps(verdict, separators=(",", ":"), ensure_ascii=False)) + "\n",
        "report.html": clean(page),
    }
    heavy = {name: len(text.encode()) / 2**20 for name, text in texts.items()}
    if (most := max(heavy.values())) > most_mib:
        give_up(
            tried=f"keep {run} as an example",
            found=f"{max(heavy, key=lambda name: heavy[name])} has {most:.1f} MiB, above {most_mib:g}",
            do="name a run of fewer workloads (--rig h200-quick), or allow more: --most-mib",
        )
    folder = root / "docs" / "examples" / rig
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


if __name__ == "__main__":
    main()
