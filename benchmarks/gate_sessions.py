"""Whole gate sessions one after the other, each in a folder of its own, for benchmarks that count their outcomes.

A session that is over is never run again: its folder says what came of it, so a campaign goes on where it was broken off.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simbox.truth_reader import read as read_truth
from tokgate.stats.exact import clopper_pearson

ROOT = Path(__file__).resolve().parents[1]
DONE = "session.json"
ALARMS = ("regressed",)
TOLD = ("regressed", "inconclusive", "invalid")


@dataclass(frozen=True)
class Session:
    """One gate session that is over."""

    name: str
    outcome: str
    exit_code: int
    seconds: float
    headline: str
    restarts: int  # beyond the plan
    verdicts: tuple[tuple[str, str], ...]  # outcome, headline: of those that are not kept
    late: tuple[str, ...] = ()  # of a simulated box: why its times are worthless
    run: str = ""  # the run's folder, relative to the session's

    @property
    def judged(self) -> bool:
        """Whether it says anything of the gate: a simulated box that was late measured this machine."""
        return not self.late


@dataclass(frozen=True)
class Campaign:
    """How sessions are run. `prefix` goes in front of every command, `unshare -p -f --mount-proc` say."""

    out: Path
    rig: str
    select: Sequence[str] = ("-m", "eagle3")
    settings: Sequence[str] = ()
    more: Sequence[str] = ()
    prefix: Sequence[str] = field(default_factory=tuple)

    def done(self, name: str) -> Session | None:
        file = self.out / name / DONE
        if not file.is_file():
            return None
        told = json.loads(file.read_text(encoding="utf-8"))
        told["verdicts"] = tuple(map(tuple, told["verdicts"]))
        return Session(**told | {"late": tuple(told["late"])})

    def play(self, name: str, *more: str) -> Session:
        """Run one session; what an earlier attempt at it left behind is removed first."""
        folder = self.out / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        command = [*self.prefix, sys.executable, "-m", "pytest", "perf_tests", *self.select, "-q"]
        command += ["-p", "no:cacheprovider", "--rig", self.rig, "--report-dir", str(folder / "reports")]
        for setting in (f"host.work_dir={folder}/work", *self.settings):
            command += ["--rig-set", setting]
        command += [*self.more, *more]
        began = time.monotonic()
        code = exit_code_of(command, folder / "said.txt")
        session = self._read(name, code, time.monotonic() - began)
        (folder / DONE).write_text(json.dumps(vars(session), indent=1) + "\n", encoding="utf-8")
        return session

    def _read(self, name: str, code: int, seconds: float) -> Session:
        folder = self.out / name
        files = [
            p for p in (folder / "reports").glob("*/verdict.json") if not p.parent.is_symlink()
        ]  # `latest` is a link
        if len(files) != 1:
            sys.exit(f"{name} ended with {code} and left no verdict.json: see {folder / 'said.txt'}")
        told: dict[str, Any] = json.loads(files[0].read_text(encoding="utf-8"))
        if told["outcome"] in ("interrupted", "error"):
            # It says nothing of the rule, and would only count as no alarm.
            sys.exit(
                f"{name} ended as {told['outcome']}: see {folder / 'said.txt'}; it is run anew next time"
            )
        return Session(
            name=name,
            outcome=told["outcome"],
            exit_code=code,
            seconds=round(seconds, 1),
            headline=told["headline"],
            restarts=sum(one["role"] == "restart" for one in told["launches"]),
            verdicts=tuple((v["outcome"], v["headline"]) for v in told["verdicts"] if v["outcome"] in TOLD),
            late=tuple(run.late for run in read_truth(folder / "box") if run.late),
            run=str(files[0].parent.relative_to(folder)),
        )


def exit_code_of(command: Sequence[str], said_file: Path) -> int:
    """Run a command in the checkout, with all it says in a file."""
    with said_file.open("w", encoding="utf-8") as said:
        return subprocess.run(
            command,
            cwd=ROOT,
            env=closed(),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            check=False,
        ).returncode


def closed() -> dict[str, str]:
    """Return the environment of this shell without what pytest or a box of somebody's put into it."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "SIMBOX_", "PYTHONPATH"))}


def split(text: str) -> tuple[str, ...]:
    return tuple(shlex.split(text))


def bound(seen: int, of: int) -> str:
    """Return "0 of 20, at most 13.9 %" with Clopper-Pearson's bounds, each one-sided, 95 %."""
    low, high = clopper_pearson(seen, of)
    if not of:
        return "0 of 0"
    words = f"{seen} of {of}"
    if seen == 0:
        return f"{words}, at most {high:.1%}"
    return f"{words}, at least {low:.1%}" if seen == of else f"{words}, {low:.1%} to {high:.1%}"


def line(session: Session) -> str:
    late = f"  LATE: {session.late[0]}" if session.late else ""
    more = f", {session.restarts} restarts" if session.restarts else ""
    return f"{session.name:14} {session.outcome:12} {session.seconds:6.0f} s{more}  {session.headline[:110]}{late}"
