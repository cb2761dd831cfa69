"""The arguments of run.sh, read alike by the two programs behind it."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

BUNDLE = Path(__file__).resolve().parent
JOBS = (
    *(
        "gate",
        "selftest",
        "baselines",
        "aa",
        "planted",
        "patch",
        "culprit",
        "visit",
        "clients",
        "captures",
        "killed",
    ),
    *("doctor", "pytest", "install"),
)
BEGAN = "TOKGATE_GPU_HOST_BEGAN"  # on the host's monotonic clock: the time limit counts from there


@dataclass(frozen=True)
class Asked:
    """What a call of run.sh is to do. `rig` is a name, or the absolute path of a file."""

    job: str
    words: tuple[str, ...]
    more: tuple[str, ...]
    rig: str
    time_limit: float | None
    out: Path
    into: Path
    models: Path | None
    campaign: str | None
    file_mib: float
    total_mib: float
    caches: bool
    dry_run: bool
    store: bool
    began: float

    @property
    def overrides(self) -> list[str]:
        """What --rig-set says among the arguments for pytest: the plan is made for the rig as it will be."""
        one = "--rig-set="
        return [
            word.removeprefix(one) if word.startswith(one) else value
            for word, value in pairwise((*self.more, ""))
            if word == "--rig-set" or word.startswith(one)
        ]


def read(words: list[str]) -> Asked:
    """Read the arguments; what stands behind -- is for pytest, or for tokgate selftest. Exits 2 on others."""
    at = words.index("--") if "--" in words else len(words)
    found = _parser().parse_intermixed_args(words[:at])
    out = found.out or Path(os.environ.get("OUT") or "gpu-host-out")
    rig = str(Path(found.rig).resolve()) if found.rig.endswith(".toml") else found.rig
    return Asked(
        job=found.job,
        words=tuple(found.words),
        more=tuple(words[at + 1 :]),
        rig=rig,
        time_limit=found.time_limit,
        out=out.resolve(),
        into=found.into.resolve(),
        models=found.models.resolve() if found.models else None,
        campaign=found.campaign,
        file_mib=found.file_mib,
        total_mib=found.total_mib,
        caches=not found.no_caches,
        dry_run=found.dry_run,
        store=found.store or found.job == "baselines",
        began=float(os.environ.get(BEGAN, time.monotonic())),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run.sh",
        description="The gate on an offline GPU host. Arguments for pytest, or for tokgate selftest, go behind --.",
    )
    parser.add_argument("job", nargs="?", default="gate", choices=JOBS, metavar="JOB", help=", ".join(JOBS))
    parser.add_argument(
        "words", nargs="*", metavar="N|NAME", help="sessions, the faults to plant, or the arms to visit"
    )
    parser.add_argument(
        "--rig", default="h200", metavar="NAME|PATH", help="of the bundle, or a file (default: h200)"
    )
    parser.add_argument("--time-limit", type=float, metavar="S", help="of this call, all in all")
    parser.add_argument(
        "--out", type=Path, help="where what is worth bringing back goes (default: $OUT, else ./gpu-host-out)"
    )
    parser.add_argument(
        "--into",
        type=Path,
        default=Path(tempfile.gettempdir(), "tokgate-gpu-host"),
        help="the private folder (default: tokgate-gpu-host in the temporary folder)",
    )
    parser.add_argument("--models", type=Path, help="a folder on another disk for 15 GB of models")
    parser.add_argument("--campaign", metavar="NAME", help="what this call goes on with (default: RIG-JOB…)")
    parser.add_argument(
        "--store",
        action="store_true",
        help="make a baseline of the sessions, once all are done (of baselines: always)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="tell the steps and what each is reckoned to take, and do none"
    )
    parser.add_argument("--file-mib", type=float, default=15.0, help="the largest file to leave")
    parser.add_argument("--total-mib", type=float, default=45.0, help="of the campaign's folder when packed")
    parser.add_argument("--no-caches", action="store_true", help="leave no cache.tar.xz for the next machine")
    return parser
