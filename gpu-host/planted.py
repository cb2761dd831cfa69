"""Faults that are really there: overrides of the rig, and programs that disturb the GPU or the server meanwhile.

    run.sh planted NAME        NAMEs below; `planted all` for one after the other

Each is a session that the gate should call and name. A disturber runs beside the gate's pytest, as another process
of this host, and is gone when the session ends.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from host_install import Installed, make_pair
from jobs import GATE, SPEED
from ledger import Step
from telling import give_up, say

from tokgate.rig.models import ArmSpec, Rig
from tokgate.session.plan import has_nccl, is_pinned, plan_launches


@dataclass(frozen=True)
class Planted:
    """What is done to the rig, or beside the gate, and into which arm.

    `sets`: values of the rig, {arm} being the arm; `disturb`: what disturb.py does meanwhile. The arm is the first
    pinned one, if any, or the first natural one. `nccl`: the fault is NCCL's, and the proof start belongs to it.
    """

    what: str
    sets: tuple[str, ...] = ()
    disturb: str | None = None
    natural: bool = False
    nccl: bool = False

    def fits(self, rig: Rig) -> bool:
        """Say whether the rig has what is broken here."""
        arms = [arm for arm in rig.arms if arm.kind == "eagle3"]
        return (
            bool(arms)
            and not (self.nccl and not has_nccl(rig))
            and not (self.natural and all(map(is_pinned, arms)))
        )


WEAKER = (
    0.35  # accept length 1.47 with two steps instead of 1.85; the walk, and so the output, stays the same
)


def _slower(share: str) -> tuple[str, ...]:
    return (
        "arms.{arm}.environment.PYTHONPATH={root}/plant:{PYTHONPATH}",
        f"arms.{{arm}}.environment.TOKGATE_PLANT=verify:+{share}%",
    )


FAULTS = {
    "eager": Planted("verify without CUDA graphs", ("arms.{arm}.args.disable_cuda_graph=true",)),
    "acceptance": Planted(
        "a drafter that is right with p = 0.35 instead of 0.55",
        ("arms.{arm}.draft_model_path={root}/.sglang-gpu/weaker/draft",),
        natural=True,
    ),
    "verify-5": Planted("verify 5 % slower", _slower("5")),
    "verify-2": Planted("verify 2 % slower", _slower("2")),
    "verify-1": Planted("verify 1 % slower", _slower("1")),
    "nccl-dropped": Planted(
        "NCCL's variables dropped on the way to the server",
        ("server.python={root}/.sglang-gpu/bin/python3-without-nccl",),
        nccl=True,
    ),
    "leftover": Planted("a leftover process that holds 512 MiB", disturb="hold"),
    "foreign-load": Planted("a foreign GPU load in mid-run", disturb="load"),
    "server-killed": Planted("the server killed in mid-run", disturb="kill"),
}


def planted_steps(words: Sequence[str], rig: Rig, more: Sequence[str]) -> tuple[Step, ...]:
    """Return the sessions of these faults, each with as few launches as show it. Gives up on another name."""
    known = {name: fault for name, fault in FAULTS.items() if fault.fits(rig)}
    names = list(known) if list(words) == ["all"] else list(words)
    if not names or any(name not in known for name in names):
        give_up(
            tried=f"plant a fault into {rig.name}",
            found=" ".join(words) or "no name",
            do="name some of these, or all: " + ", ".join(known),
        )
    return tuple(_step(name, known[name], _arm(rig, known[name]), rig, more) for name in names)


def _arm(rig: Rig, fault: Planted) -> ArmSpec:
    arms = [arm for arm in rig.arms if arm.kind == "eagle3"]
    return next((arm for arm in arms if is_pinned(arm) is not fault.natural), arms[0])


def _step(name: str, fault: Planted, arm: ArmSpec, rig: Rig, more: Sequence[str]) -> Step:
    known = {
        "{arm}": arm.name,
        "{root}": str(rig.checkout),
        "{PYTHONPATH}": rig.server.environment.get("PYTHONPATH", ""),
    }
    sets = [word for text in fault.sets for word in ("--rig-set", _filled(text, known))]
    launches = [one.id for one in plan_launches(rig) if one.role != "arm" or one.arm == arm.name]
    chosen = " or ".join(["clean_slate", "drift", *launches])
    selection = (*GATE, "(eagle3 or nccl) and not verify") if fault.nccl else (*GATE, SPEED, "-k", chosen)
    return Step(f"planted-{name}", "pytest", (*selection, *sets, *more))


def _filled(text: str, known: dict[str, str]) -> str:
    for name, value in known.items():
        text = text.replace(name, value)
    return text


def prepare(steps: Sequence[Step], place: Installed, rig: Rig) -> None:
    """Make what some faults need on the host, once: a weaker drafter, a Python that loses NCCL's variables."""
    names = {step.name.removeprefix("planted-") for step in steps}
    if "acceptance" in names and not (place.serving / "weaker" / "truth.json").is_file():
        make_pair(place, place.serving / "weaker", "--layers", "0", "--p", str(WEAKER))
    if "nccl-dropped" in names:
        _write_dropper(place.server_python, rig)


def _write_dropper(python: Path, rig: Rig) -> None:
    lost = " ".join(shlex.quote(name) for name in rig.server.nccl)
    dropper = python.with_name("python3-without-nccl")
    dropper.write_text(f'#!/bin/sh\nunset {lost}\nexec {shlex.quote(str(python))} "$@"\n', encoding="utf-8")
    dropper.chmod(0o755)


@contextmanager
def disturbed(step: Step, runs: Path, python: str, script: Path) -> Iterator[subprocess.Popen[bytes] | None]:
    """Run the fault's disturber beside the block, where it has one, and say where it did not do its work."""
    fault = FAULTS.get(step.name.removeprefix("planted-"))
    if fault is None or fault.disturb is None:
        yield None
        return
    words = [python, str(script), fault.disturb, str(runs)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - for the type checker: it is a pipe
            if not process.stdout.readline():  # it holds its memory, or waits for the launch
                give_up(
                    tried=f"disturb {step.name}: {' '.join(words)}",
                    found=f"it ended with {process.wait()}, its words are above",
                    do="see that this Python has a torch that sees the GPU",
                )
            yield process
            # Who holds its memory does so to the end; the others have done their work by now, or the fault was not there.
            if fault.disturb != "hold" and process.poll() != 0:
                say(
                    f"{step.name}: the fault was not planted: {' '.join(words)} had not done it when the session ended"
                )
        finally:
            process.kill()
