"""What a job is made of: steps, each a command that fits one call where it can be made to."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from host_install import SERVING
from ledger import Step
from telling import give_up

from tokgate.rig.models import Rig
from tokgate.session.plan import has_nccl, plan_launches

# What is stored of a session, and no other launch (as rigs/sim-8gpu/store_baselines.py).
STORED = ("perf_tests/test_stored_baseline.py", "perf_tests/test_verify_share.py")
GATE = ("perf_tests", "-m")
SPEED = "eagle3 and not verify and not nccl"
# Source patches of the bundle's SGLang, by name: what a session of two sides, or a search for the culprit, is tried with.
PATCHES = "rigs/sglang-gpu/patches"
# Jobs that start a server of their own (visit.py), and what they do with it.
VISITS = {
    "visit": "clients,captures,killed",
    "clients": "clients",
    "captures": "captures",
    "killed": "killed",
}
VISIT_STARTS = 2  # as long as two starts of a gate: one, and as much again on the running server

Fits = Callable[[Step], bool]


def steps_of(job: str, words: Sequence[str], rig: Rig, more: Sequence[str], fits: Fits) -> tuple[Step, ...]:
    """Return the steps of a job, in order. `more`: arguments for pytest, or for the self-test; `fits`: one call is enough.

    `more` begins with --rig and the rig as a user names it. Gives up on words that the job does not take.
    """
    if job == "gate":
        _none(job, words)
        return gate_steps(rig, more, fits)
    if job == "pytest":
        _none(job, words)
        if not more[2:]:
            give_up(
                tried="run pytest",
                found="no arguments",
                do="write them behind --: run.sh pytest -- perf_tests -m verify",
            )
        return (Step("pytest", "pytest", (*more[2:], *more[:2])),)
    if job == "selftest":
        _none(job, words)
        return (Step("selftest", "tokgate", ("selftest", *more)),)
    if job == "doctor":
        _none(job, words)
        return _looks(rig, more)
    if job in VISITS:
        return _visits(job, words, rig, more)
    if job in ("patch", "culprit"):
        return (_patched(job, words, rig, more),)
    count = _count(job, words)
    selection = STORED if job == "baselines" else (*GATE, SPEED)
    return tuple(Step(f"{job}-{n}", "pytest", (*selection, *more)) for n in range(1, count + 1))


def gate_steps(rig: Rig, more: Sequence[str], fits: Fits) -> tuple[Step, ...]:
    """The whole gate where it fits; else speed, NCCL and phases apart; else speed arm by arm, controls in each."""
    whole = Step("gate", "pytest", (*GATE, "eagle3 or nccl" if has_nccl(rig) else "eagle3", *more))
    if fits(whole):
        return (whole,)
    speed = Step("speed", "pytest", (*GATE, SPEED, *more))
    nccl = Step("nccl", "pytest", (*GATE, "nccl", *more))
    phases = Step("phases", "pytest", (*GATE, "verify", *more))
    steps: list[Step] = [speed] if fits(speed) else _arm_by_arm(rig, more)
    steps += [nccl] if has_nccl(rig) else []
    return (*steps, *([phases] if rig.instruments.skip is None else []))


def _arm_by_arm(rig: Rig, more: Sequence[str]) -> list[Step]:
    launches = plan_launches(rig)
    controls = [one.id for one in launches if one.role != "arm"]
    steps = []
    for launch in (one for one in launches if one.role == "arm"):
        chosen = " or ".join(["clean_slate", "drift", *controls, launch.id])
        steps.append(Step(f"speed-{launch.arm}", "pytest", (*GATE, SPEED, "-k", chosen, *more)))
    return steps


def _visits(job: str, words: Sequence[str], rig: Rig, more: Sequence[str]) -> tuple[Step, ...]:
    """Return one step an arm, of those named or of all."""
    known = [arm.name for arm in rig.arms]
    if unknown := [word for word in words if word not in known]:
        give_up(
            tried=f"begin {job}",
            found=f"no arm {', '.join(unknown)} in {rig.name}",
            do=f"name some of these, or none for all: {', '.join(known)}",
        )
    return tuple(
        Step(f"{job}-{arm}", "program", ("visit.py", "--arm", arm, "--do", VISITS[job], *more), VISIT_STARTS)
        for arm in words or known
    )


def _patched(job: str, words: Sequence[str], rig: Rig, more: Sequence[str]) -> Step:
    """One session with these patches, in order, on a copy of the installed SGLang, against it as it is."""
    files = [f"{rig.checkout}/{PATCHES}/{word}.patch" for word in words]
    known = sorted(path.stem for path in Path(str(rig.checkout), PATCHES).glob("*.patch"))
    if not words or any(word not in known for word in words):
        give_up(
            tried=f"begin {job}",
            found=f"{' '.join(words) or 'nothing'} behind it",
            do=f"name patches of {PATCHES}, in order: {', '.join(known)}",
        )
    options = [option for file in files for option in ("--patch", file)]
    culprit = ["--culprit"] if job == "culprit" else []
    return Step(f"{job}-{'+'.join(words)}", "pytest", (*GATE, job, *culprit, *options, *more))


def _looks(rig: Rig, more: Sequence[str]) -> tuple[Step, ...]:
    """What a newcomer would ask first, of the host as it is: nothing is started."""
    init = ("rig", "init", "seen", "--yes", "--print", "--python", rig.server.python, "--look-in", SERVING)
    return (Step("doctor", "look", ("doctor", *more), 0), Step("rig-init", "look", init, 0))


def _count(job: str, words: Sequence[str]) -> int:
    if len(words) != 1 or re.fullmatch(r"[1-9][0-9]{0,3}", words[0]) is None:
        give_up(
            tried=f"begin {job}",
            found=f"{' '.join(words) or 'nothing'} behind it",
            do=f"say how many sessions: {job} 5",
        )
    return int(words[0])


def _none(job: str, words: Sequence[str]) -> None:
    if words:
        give_up(
            tried=f"begin {job}",
            found=f"{' '.join(words)} behind it",
            do="arguments for pytest go behind --",
        )
