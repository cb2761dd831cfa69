"""Commands that measure once more, with what would settle a question changed for that run.

They name the rig as it is called; whoever tells a verdict puts the other options of the run in (`as_typed`).
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping
from itertools import pairwise

from tokgate.records import RunInfo
from tokgate.rig.models import Rig

MAIN_JOB, WITH_NCCL = "eagle3", "'eagle3 or nccl'"
PATCH_ALONE = "patch"
# As long as restarts of a server that loads its weights take: below it, doubling what a quick rig has buys nothing.
_LEAST_S = 600
_KEPT_OPTIONS = (
    "--rig", "--rig-set", "--baselines", "--report-dir", "--wait-for-lease", "--sglang-repo", "--base", "--head", "--patch",
)  # fmt: skip
_KEPT_FLAGS = ("--instrumented",)
_FOLLOWS = r"(?=[\s.,;:)`]|$)"
_BETWEEN = re.compile(r"\bpytest perf_tests\b|; ")  # one command of a step and the next
_SET = re.compile(r"--rig-set '?([^\s'=]+)=")  # the key


def measure(rig: Rig, marks: str = MAIN_JOB, changed: Mapping[str, float] | None = None) -> str:
    """Return "pytest perf_tests -m eagle3 --rig mybox --rig-set KEY=VALUE". `changed`: key of the rig -> value."""
    sets = "".join(f" --rig-set {key}={value:.10g}" for key, value in (changed or {}).items())
    return f"pytest perf_tests -m {marks} --rig {shlex.quote(rig.name)}{sets}"


def with_longer_restarts(rig: Rig, marks: str = MAIN_JOB) -> str:
    """Return the command that gives a session twice as long for restarts."""
    return measure(rig, marks, {"sampling.gpu_time_s": max(_LEAST_S, 2 * rig.sampling.gpu_time_s)})


def with_restarts(rig: Rig, of_an_arm: int) -> str:
    """Return the command that lets a session start an arm so many times again, with the time that as many take.

    Where the rig allows as many as that, time was what ran out.
    """
    spec = rig.sampling
    if of_an_arm <= spec.most_restarts:
        return with_longer_restarts(rig)
    # The rig's time was meant for its own number of restarts.
    share = of_an_arm / spec.most_restarts if spec.most_restarts else float(of_an_arm)
    seconds = max(_LEAST_S, 60 * math.ceil(spec.gpu_time_s * share / 60))
    return measure(rig, changed={"sampling.most_restarts": of_an_arm, "sampling.gpu_time_s": seconds})


def with_starts(rig: Rig, workload: str, least: int, marks: str = MAIN_JOB) -> str:
    """Return the command that takes `least` barrier starts of a workload in each launch, more than it takes now in any case."""
    now = next((w.repeats for w in rig.workloads if w.name == workload), 0)
    return measure(rig, marks, {f"workloads.{workload}.repeats": max(least, now + 1)})


def with_warm_up(rig: Rig, workload: str) -> str:
    """Return the command that warms up once more before a workload."""
    now = next((w.warmup for w in rig.workloads if w.name == workload), 0)
    return measure(rig, changed={f"workloads.{workload}.warmup": now + 1})


def as_typed(step: str, info: RunInfo) -> str:
    """Return a next step that can be typed where the run was made: its promises, its rig as named, its other options."""
    rig, options = options_given(info)
    if _marks_of(info) == PATCH_ALONE:  # what a change costs was all that was asked
        step = re.sub(rf"(\bpytest perf_tests -m ){MAIN_JOB}(?= --rig )", rf"\g<1>{PATCH_ALONE}", step)

    def with_options(found: re.Match[str]) -> str:
        rest = _BETWEEN.split(found.string[found.end() :], maxsplit=1)[0]
        own = set(_SET.findall(rest))  # what the step itself sets holds, and stands there once
        fresh = [
            option for option in options if not own & set(_SET.findall(option)) and f" {option}" not in rest
        ]
        return f"{found[1]}{shlex.quote(rig)}{''.join(f' {option}' for option in fresh)}"

    step = re.sub(
        rf"(\bpytest perf_tests -m (?:'[^']*'|\S+) --rig ){re.escape(shlex.quote(info.rig))}{_FOLLOWS}",
        with_options,
        step,
    )
    # Not what names one file: that is of a checkout, or the repository's own.
    return re.sub(r"\bpytest perf_tests(?=[\s`.,]|$)", lambda _: f"pytest {info.promises}", step)


def _marks_of(info: RunInfo) -> str | None:
    """Return what stood behind -m in the run's selection."""
    try:
        words = shlex.split(info.selection)
    except ValueError:
        return None
    return next((after for word, after in pairwise(words) if word == "-m"), None)


def options_given(info: RunInfo) -> tuple[str, list[str]]:
    """Return the rig as typed, and the other options of the recorded command that say what is measured and where."""
    rig, found = info.rig, []
    try:
        words = iter(shlex.split(info.command))
    except ValueError:  # recorded by somebody else's hand
        return rig, []
    for word in words:
        if word in _KEPT_FLAGS:
            found.append(word)
            continue
        option, joined, value = word.partition("=")
        if option not in _KEPT_OPTIONS:
            continue
        value = value if joined else next(words, "")
        if option == "--rig":
            rig = value
            continue
        told = f"{option} {shlex.quote(value)}"
        if option == "--rig-set":  # of one key the last value holds
            key = value.partition("=")[0]
            found = [one for one in found if key not in _SET.findall(one)]
        elif option != "--patch":
            found = [one for one in found if one.partition(" ")[0] != option]
        found.append(told)
    return rig, found
