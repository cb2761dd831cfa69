"""Faults that are really there: overrides of the rig, and programs that disturb the GPU or the server meanwhile.

    run.sh planted NAME        NAMEs below; `planted all` for one after the other; NAME+NAME for two arms of one session

Each is a session that the gate should call and name. A disturber runs beside the gate's pytest, as another process
of this host, and is gone when the session ends.
"""

from __future__ import annotations

import os
import select
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from host_install import PAIRS, Installed, make_pair
from jobs import GATE, SPEED
from ledger import Step
from slower import planted_in_site, python_of, write_python
from telling import give_up, say

from tokgate.rig.models import ArmSpec, Rig
from tokgate.session.plan import has_nccl, instrumented_launches, is_pinned, plan_launches


@dataclass(frozen=True)
class Planted:
    """What is done to the rig, or beside the gate, and into which arm.

    `sets`: values of the rig, {arm} being the arm, {gpu} one in the middle; `disturb`: what disturb.py does meanwhile. The arm is the first
    pinned one, if any, or the first natural one. `nccl`: the fault is NCCL's, and the proof start belongs to it. `slower`:
    verify takes so much longer, whatever the arm, behind an @ in that rank alone; the launch with its instruments belongs to it, as it tells which
    phase has grown. `drafter`: one of DRAFTERS that it needs. `sweep`: it shows in a sweep of the arm's settings. `starts`: server starts that such a session takes, where it is over before those that its tests ask for.
    """

    what: str
    sets: tuple[str, ...] = ()
    disturb: str | None = None
    natural: bool = False
    nccl: bool = False
    slower: str | None = None
    drafter: str | None = None
    sweep: bool = False
    starts: int | None = None
    several: bool = False  # GPUs, or there is nothing to tell apart

    def fits(self, rig: Rig) -> bool:
        """Say whether the rig has what is broken here."""
        arms = [arm for arm in rig.arms if arm.kind == "eagle3"]
        return (
            bool(arms)
            and not (self.nccl and not has_nccl(rig))
            and not (self.several and rig.gpus.count < 2)
            and not (self.natural and all(map(is_pinned, arms)))
        )


THERE_S = 90.0  # torch without its .pyc files takes 15 s to import, on a slow disk
# How often a drafted token is right, by the drafter's folder; the walk, and so the output, stays the same.
DRAFTERS = {
    "weaker": 0.35,  # accept length 1.47 with two steps instead of 1.85
    "weakest": 0.1,  # 1.110 with two steps, 1.111 with three: the third one only costs
}


def _slower(what: str, order: str, *, several: bool = False) -> Planted:
    return Planted(what, (f"server.python={python_of(order)}",), slower=order, several=several)


FAULTS = {
    "eager": Planted("verify without CUDA graphs", ("arms.{arm}.args.disable_cuda_graph=true",)),
    "acceptance": Planted(
        "a drafter that is right with p = 0.35 instead of 0.55",
        ("arms.{arm}.draft_model_path={root}/.sglang-gpu/weaker/draft",),
        natural=True,
        drafter="weaker",
    ),
    "three-steps": Planted(
        "three steps where the third is hardly ever right: two are better",
        (
            "arms.{arm}.draft_model_path={root}/.sglang-gpu/weakest/draft",
            *("arms.{arm}.num_steps=3", "arms.{arm}.num_draft_tokens=4"),
            'sweep={arm="{arm}",num_steps=[2,3],workloads=["single"]}',
        ),
        natural=True,
        drafter="weakest",
        sweep=True,
        starts=4,  # both settings, between two of the control arm
    ),
    "verify-5": _slower("verify 5 % slower", "5%"),
    "verify-2": _slower("verify 2 % slower", "2%"),
    "verify-1": _slower("verify 1 % slower", "1%"),
    "rank-slower": _slower("verify 20 % slower in one rank of several", "20%@{gpu}", several=True),
    "nccl-dropped": Planted(
        "NCCL's variables dropped on the way to the server",
        ("server.python={root}/.sglang-gpu/bin/python3-without-nccl",),
        nccl=True,
    ),
    "leftover": Planted("a leftover process that holds 512 MiB", disturb="hold", starts=0),
    "foreign-load": Planted("a foreign GPU load in mid-run", disturb="load"),
    "server-killed": Planted("the server killed in mid-run", disturb="kill"),
}


def planted_steps(words: Sequence[str], rig: Rig, more: Sequence[str]) -> tuple[Step, ...]:
    """Return the sessions of these faults, each with as few launches as show it. Gives up on another name."""
    known = {name: fault for name, fault in FAULTS.items() if fault.fits(rig)}
    names = list(known) if list(words) == ["all"] else list(words)
    if not names or any(part not in known for name in names for part in name.split("+")):
        give_up(
            tried=f"plant a fault into {rig.name}",
            found=" ".join(words) or "no name",
            do="name some of these, or all: " + ", ".join(known),
        )
    return tuple(_step(name, rig, more) for name in names)


def _middle(rig: Rig) -> str:
    """Return the GPU, and so the rank, that a fault of one of them is planted on: GPU 3 of eight, GPU 0 of one or two."""
    return str(max(rig.gpus.count - 1, 0) // 2)


def _arm(rig: Rig, fault: Planted) -> ArmSpec:
    arms = [arm for arm in rig.arms if arm.kind == "eagle3"]
    return next((arm for arm in arms if is_pinned(arm) is not fault.natural), arms[0])


def _step(name: str, rig: Rig, more: Sequence[str]) -> Step:
    faults = [FAULTS[part] for part in name.split("+")]
    arms = [_arm(rig, fault).name for fault in faults]
    alone = [fault for fault in faults if fault.disturb or fault.nccl or fault.slower or fault.sweep]
    if len(set(arms)) < len(arms) or (alone and len(faults) > 1):
        give_up(
            tried=f"plant {name} into one session of {rig.name}",
            found=f"{alone[0].what}: of the whole machine" if alone else f"both in the arm {arms[0]}",
            do="plant them one after the other, as names of their own",
        )
    sets = []
    for fault, arm in zip(faults, arms, strict=True):
        known = {"{arm}": arm, "{root}": str(rig.checkout), "{gpu}": _middle(rig)}
        sets += [word for text in fault.sets for word in ("--rig-set", _filled(text, known))]
    launches = [one.id for one in plan_launches(rig) if one.role != "arm" or one.arm in arms]
    chosen = " or ".join(["clean_slate", "drift", *launches])
    selection: tuple[str, ...] = (*GATE, SPEED, "-k", chosen)
    if faults[0].nccl:
        selection = (*GATE, "(eagle3 or nccl) and not verify")
    elif faults[0].sweep:
        selection = (*GATE, "sweep")
    elif faults[0].slower:
        instrumented = [one.id for one in instrumented_launches(rig) if one.arm in arms]
        selection = (*GATE, "eagle3 and not nccl", "-k", " or ".join([chosen, *instrumented]))
    return Step(f"planted-{name}", "pytest", (*selection, *sets, *more), faults[0].starts)


def _filled(text: str, known: dict[str, str]) -> str:
    for name, value in known.items():
        text = text.replace(name, value)
    return text


def prepare(steps: Sequence[Step], place: Installed, rig: Rig) -> None:
    """Make what some faults need on the host, once: weaker drafters, Pythons that lose NCCL's variables or order a slower verify."""
    names = {part for step in steps for part in step.name.removeprefix("planted-").split("+")}
    for drafter in {fault.drafter for name, fault in FAULTS.items() if name in names and fault.drafter}:
        if not (place.serving / drafter / "truth.json").is_file():
            shape = PAIRS[Path(rig.server.model_path).parent.name]
            make_pair(place, place.serving / drafter, *shape, "--layers", "0", "--p", str(DRAFTERS[drafter]))
    for order in (fault.slower for name, fault in FAULTS.items() if name in names and fault.slower):
        write_python(place, _filled(order, {"{gpu}": _middle(rig)}))
    if "nccl-dropped" in names:
        _write_dropper(place.server_python, rig)


def _write_dropper(python: Path, rig: Rig) -> None:
    lost = " ".join(shlex.quote(name) for name in rig.server.nccl)
    dropper = python.with_name("python3-without-nccl")
    dropper.write_text(f'#!/bin/sh\nunset {lost}\nexec {shlex.quote(str(python))} "$@"\n', encoding="utf-8")
    dropper.chmod(0o755)


def slowed(step: Step, place: Installed) -> AbstractContextManager[None]:
    """Have in the server's site what slows it, while a step that wants it runs."""
    fault = FAULTS.get(step.name.removeprefix("planted-"))
    return planted_in_site(place, wanted=fault is not None and fault.slower is not None)


def disturber(step: Step, runs: Path, rig: Rig, python: str) -> list[str] | None:
    """Return the command of what disturbs this step meanwhile; None: nothing does."""
    fault = FAULTS.get(step.name.removeprefix("planted-"))
    if fault is None or fault.disturb is None:
        return None
    arm = _arm(rig, fault).name
    launch = next(one.id for one in plan_launches(rig) if one.arm == arm)
    script = str(Path(__file__).with_name("disturb.py"))
    return [python, script, fault.disturb, str(runs), launch, rig.server.module, _middle(rig)]


@contextmanager
def disturbed(
    step: Step, command: list[str] | None, place: Installed
) -> Iterator[subprocess.Popen[bytes] | None]:
    """Run what disturbs the step beside the block, and say where it did not do its work.

    Whatever it compiles stays in the private folder.
    """
    if command is None:
        yield None
        return
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(place.serving / "pyc")}
    with subprocess.Popen(
        command,
        bufsize=0,  # a line read ahead would lie in a buffer that select does not see
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=environment,
    ) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - for the type checker: it is a pipe
            there, _, _ = select.select([process.stdout], [], [], THERE_S)
            if not there or not process.stdout.readline():  # it holds its memory, or waits for the launch
                how = (
                    f"it ended with {process.wait()}, its words are above"
                    if there
                    else f"nothing in {THERE_S:.0f} s"
                )
                give_up(
                    tried=f"disturb {step.name}: {shlex.join(command)}",
                    found=how,
                    do="see that this Python has a torch that sees the GPU",
                )
            yield process
            # Who holds its memory did so from the start; the others have said by now that they did it, or the fault was not there.
            if command[2] != "hold" and not _said_more(process.stdout):
                say(
                    f"{step.name}: the fault was not planted: {shlex.join(command)} had not done it when the session ended"
                )
        finally:
            process.kill()


def _said_more(output: IO[bytes]) -> bool:
    """Say whether another line can be read now."""
    there, _, _ = select.select([output], [], [], 0)
    return bool(there and output.readline())
