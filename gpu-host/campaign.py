"""A job on its host, step by step, as far as one call's time goes; the rest is for the next call.

CAMPAIGN/ledger.json    steps and attempts (ledger.py)
CAMPAIGN/runs/STEP/     run folders, as pytest left them
CAMPAIGN/logs/          what each attempt printed
CAMPAIGN/baselines/     of the job `baselines`, once all its sessions are there
"""

from __future__ import annotations

import datetime as dt
import os
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

from host_install import Installed
from ledger import MEASURED, Attempt, Ledger, Step, worst
from planted import disturbed, disturber, slowed
from running import KILLED_AFTER_S, run
from telling import give_up, say

from tokgate.rig.models import Rig
from tokgate.session.plan import plan_launches

# Until a session on this host has told (docs/gpu-host.md): what a start takes beside its requests, clean slate, start, stop and
# all; what joining several GPUs adds; and how fast a stream is at least.
BESIDE_REQUESTS_S = 40.0
JOINING_S = 30.0
STREAM_TOK_S = 200.0
REFUSED_S = 25.0  # a session that never starts a server
DEARER_WITH_INSTRUMENTS = 0.5  # pairs of starts with the probe on and off, and a trace
COMPILING_S = 40.0  # of a machine's first start, where nobody has left JIT caches
SELFTEST_LAUNCHES = 4  # fewer are no self-test; it plans the rest itself, by its budget
PACKING_S = 25.0
HERE = Path(__file__).resolve().parent
MORE_TO_DO = 75  # EX_TEMPFAIL: everything so far is well, and steps are left
_LAUNCH = re.compile(r"\b(?:\d\d-[a-z0-9][a-z0-9._-]*|on\b|off\b)")  # on, off: with NCCL's block and without
_RUN = re.compile(r"\d{8}T\d{6}-")  # beside them lie `latest` and history/


@dataclass
class Budget:
    """Seconds of one call; `began` on time.monotonic's clock, `limit` None: as long as it takes."""

    began: float
    limit: float | None
    clock: Callable[[], float] = time.monotonic

    def left(self) -> float:
        """Return what a step may take, packing and stopping aside."""
        if self.limit is None:
            return float("inf")
        return self.limit - (self.clock() - self.began) - PACKING_S - KILLED_AFTER_S


@dataclass
class Campaign:
    folder: Path
    ledger: Ledger
    rig: Rig
    place: Installed
    budget: Budget
    serving_python: str
    launches: dict[str, int] = field(default_factory=dict)

    def run(self) -> int:
        """Run what is left and fits; return the worst exit code, MORE_TO_DO where steps are left of a good campaign."""
        codes: list[int] = []
        for step in self.ledger.left():
            needed = self.seconds(step)
            if needed > (room := self.budget.left()):
                say(f"{step.name} takes about {needed:.0f} s and {room:.0f} s are left: not begun")
                if not codes:
                    self._never_fits(step, needed)
                break
            codes.append(self._attempt(step, needed))
            if self.ledger.done(step.name) is None:
                break
        left = [step.name for step in self.ledger.left()]
        if left:
            say(f"left for the next call, {len(left)} of {len(self.ledger.steps)}: {', '.join(left[:8])}")
        return worst(codes) or (MORE_TO_DO if left else 0)

    def seconds(self, step: Step) -> float:
        """Estimate a step: its server starts, each as dear as the dearest so far."""
        launches = SELFTEST_LAUNCHES if step.tool == "tokgate" else self.count(step)
        compiles = self.place.server_python.exists() and not self.place.caches.is_dir()
        a_launch = self.ledger.seconds_a_launch(seconds_a_start(self.rig))
        if not launches:
            return REFUSED_S
        return launches * a_launch + (COMPILING_S if compiles else 0.0)

    def foretell(self) -> None:
        """Tell the steps that are left, what each is reckoned to take, and which of them this call would begin."""
        total, room = 0.0, self.budget.left()
        for step in self.ledger.left():
            needed = self.seconds(step)
            total += needed
            fits = "" if total <= room else "  not in this call"
            say(
                f"{step.name:28} {self.count(step) if step.tool != 'tokgate' else '4+':>3} starts {needed:6.0f} s, {total:6.0f} s in all{fits}"
            )
        say(
            f"{total:.0f} s"
            + _limit_words(room)
            + f"; {PACKING_S + KILLED_AFTER_S:.0f} s are kept for stopping and packing"
        )

    def fits(self, step: Step) -> bool:
        """Say whether a fresh call of this length is enough."""
        return self.seconds(step) <= self.budget.left()

    def count(self, step: Step) -> int:
        """Return how many server starts a step asks for, by the ids of its tests; one with instruments counts half more.

        Gives up where pytest selects none.
        """
        if step.starts is not None:
            return step.starts
        if step.name not in self.launches:
            listed = subprocess.run(
                [*self._command(step), "--collect-only", "-q"],
                cwd=self.place.checkout,
                env=self._environment(),
                capture_output=True,
                text=True,
                check=False,
            )
            if listed.returncode:
                give_up(
                    tried=f"select the tests of {step.name}: pytest {' '.join(step.words)}",
                    found="\n".join((listed.stdout + listed.stderr).strip().splitlines()[-8:]),
                    do="mend the rig or the arguments behind --",
                )
            ids = (line.split("[", 1)[1] for line in listed.stdout.splitlines() if "[" in line)
            named = {found for one in ids for found in _LAUNCH.findall(one.rstrip("]"))}
            timed = plan_launches(self.rig)
            asked = {timed[0].id if name == "on" else name for name in named}
            if timed[0].id in named:  # the arm's tests take all its runs
                asked |= {one.id for one in timed if one.role == "control-again"}
            dear = sum(name.endswith("-phases") for name in asked)
            self.launches[step.name] = len(asked) + ceil(dear * DEARER_WITH_INSTRUMENTS)
        return self.launches[step.name]

    def _never_fits(self, step: Step, needed: float) -> None:
        if self.budget.limit is not None and needed + PACKING_S + KILLED_AFTER_S > self.budget.limit:
            give_up(
                tried=f"fit {step.name} into {self.budget.limit:.0f} s",
                found=f"about {needed:.0f} s, {PACKING_S + KILLED_AFTER_S:.0f} s more for stopping and packing",
                do="allow more with --time-limit, or select less: arguments for pytest go behind --",
            )

    def _attempt(self, step: Step, needed: float) -> int:
        runs = self.folder / "runs" / step.name
        runs.mkdir(parents=True, exist_ok=True)
        began, at = self.budget.clock(), dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        before = set(runs.iterdir())
        words = [*self._command(step), *self._bounds(step, needed, runs)]
        say(f"{step.name}: about {needed:.0f} s" + _limit_words(self.budget.left()))
        log = self.folder / "logs" / f"{step.name}-{at.replace(':', '')}.log"
        log.parent.mkdir(exist_ok=True)
        disturbing = disturber(step, runs, self.rig, self.serving_python)
        with slowed(step, self.place), disturbed(step, disturbing, self.place):
            code, stopped = run(words, self.place.checkout, self._environment(), log, self.budget.left())
        seconds = self.budget.clock() - began
        made = sorted(p.name for p in set(runs.iterdir()) - before if _RUN.match(p.name))
        ended = stopped or ("done" if code in MEASURED[step.tool] else f"exit code {code}")
        launches = self.launches.get(step.name, 0)
        self.ledger.attempts.append(
            Attempt(step.name, at, ended, code, round(seconds, 1), launches, made[-1] if made else None)
        )
        self.ledger.write(self.folder)
        say(f"{step.name}: {ended}, exit code {code}, {seconds:.0f} s, run {made[-1] if made else 'none'}")
        return code

    def _command(self, step: Step) -> list[str]:
        if step.tool == "program":
            return [str(self.place.python), "-u", str(HERE / step.words[0]), *step.words[1:]]
        tool = ["-m", "pytest"] if step.tool == "pytest" else [str(self.place.gate / "bin" / "tokgate")]
        return [str(self.place.python), *tool, *step.words]

    def _bounds(self, step: Step, needed: float, runs: Path) -> list[str]:
        """Let restarts and the self-test take no more than is left of this call."""
        left = self.budget.left()
        if step.tool == "tokgate":
            store = ["--store", str(self.folder), "--report-dir", str(runs)]
            return [*store, *(["--budget", f"{left - 30:.0f}"] if left != float("inf") else [])]
        if step.tool == "look":
            return []
        if step.tool == "program":
            return ["--report-dir", str(runs)]
        if left == float("inf") or left - needed >= self.rig.sampling.gpu_time_s:
            return ["--report-dir", str(runs)]
        return ["--report-dir", str(runs), "--rig-set", f"sampling.gpu_time_s={max(0.0, left - needed):.0f}"]

    def _environment(self) -> dict[str, str]:
        """The caller's own, less what would reach into the gate's Python."""
        dropped = ("PYTHONPATH", "PYTHONHOME", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONDONTWRITEBYTECODE")
        kept = {k: v for k, v in os.environ.items() if k not in dropped}
        return kept | {"PYTHONUNBUFFERED": "1"}

    def store_baselines(self, why: str) -> None:
        """Make one baseline of all sessions of the job `baselines`, in CAMPAIGN/baselines.

        Where some were measured on an earlier machine and are not here, say how it is done at home.
        """
        done = [a for step in self.ledger.steps if (a := self.ledger.done(step.name)) and a.run]
        runs = [self.folder / "runs" / a.step / str(a.run) for a in done]
        if not all(run.is_dir() for run in runs):
            say("some sessions are not on this machine; at home: make gpu-collect FROM=…, then")
            say(f"tokgate baseline update reports/gpu-host/{self.ledger.campaign}/runs/*/2* --why …")
            return
        command = [
            str(self.place.python),
            str(self.place.gate / "bin" / "tokgate"),
            "--root",
            str(self.folder),
        ]
        command += ["baseline", "update", *map(str, runs), "--why", why]
        ended = subprocess.run(command, cwd=self.place.checkout, env=self._environment(), check=False)
        say(
            f"baselines of {len(runs)} sessions: exit code {ended.returncode}, in {self.folder / 'baselines'}"
        )


def seconds_a_start(rig: Rig) -> float:
    """Estimate one launch of a rig, from what it asks of a server."""
    tokens = sum((one.repeats + one.warmup) * one.output_tokens for one in rig.workloads)
    if rig.lossless is not None:
        tokens += rig.lossless.count * rig.lossless.output_tokens
    joining = JOINING_S if rig.gpus.count > 1 else 0.0
    return BESIDE_REQUESTS_S + joining + tokens / STREAM_TOK_S


def _limit_words(left: float) -> str:
    return "" if left == float("inf") else f" of the {left:.0f} s left"
