"""What becomes of the rig's words: its own advice, and NCCL's settings with the host's version and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tokgate.records.doctor import Remark
from tokgate.records.nccl import NcclLint
from tokgate.report.durations import words
from tokgate.rig.advice import advise
from tokgate.rig.models import Rig
from tokgate.rig.shipped import baselines_home
from tokgate.rig.spelling import spell
from tokgate.session.pace import pace_of
from tokgate.session.preamble import possible_launches
from tokgate.session.session_plan import session_plan

from .check import Case, Check, with_several_gpus
from .readings import facts, nccl


def advice(case: Case) -> Iterator[Remark]:
    found = advise(case.rig)
    yield from lint_remarks(found)
    if not found:
        arms, workloads = len(case.rig.arms), len(case.rig.workloads)
        yield Remark.ok(f"in order: {arms} arms, {workloads} workloads, starts enough for every interval")


def limits(case: Case) -> Iterator[Remark]:
    home = baselines_home(case.root, case.rig.name)
    planned = [e.id for e in possible_launches(case.rig) if not e.role.startswith("sweep")]
    plan = session_plan(case.rig, planned, pace_of(case.rig, root=home, reports=case.reports), samples=False)
    spans = {one.launch: one.seconds.likely for one in plan.launches if one.seconds.likely is not None}
    yield from judge_limits(case.rig, spans)


def judge_limits(rig: Rig, launches: Mapping[str, float]) -> Iterator[Remark]:
    """`launches`: launch -> seconds that it is likely to take; those of which nothing is known left out."""
    wrong = [*_too_short(rig)]
    longest = max(launches, key=lambda name: launches[name], default=None)
    if longest is not None and launches[longest] > rig.server.time_limit_s:
        wrong.append(
            Remark.fail(
                f"{longest} is likely to take {words(launches[longest])}, and the supervisor stops a server after "
                f"{words(rig.server.time_limit_s)}",
                "raise server.time_limit_s, or take fewer repeats",
            )
        )
    yield from wrong or [Remark.ok("generations and launches that keep the budgets end within their limits")]


def _too_short(rig: Rig) -> Iterator[Remark]:
    """Yield the workloads of which a generation at a budget's own speed would be timed out."""
    for w in rig.workloads:
        rates = [
            b.at_least
            for b in rig.budgets
            if b.metric == "decode_tok_s" and b.workload in ("*", w.name) and b.at_least is not None
        ]
        if rates and w.output_tokens / min(rates) > w.timeout_s:
            yield Remark.fail(
                f"workload {w.name} gives {w.output_tokens} tokens {w.timeout_s:g} s: at the {min(rates):g} tok/s of its "
                f"budget they take {w.output_tokens / min(rates):.0f} s, and every generation is timed out",
                f"raise workloads.{w.name}.timeout_s",
            )


def nccl_settings(case: Case) -> Iterator[Remark]:
    report = nccl(case)
    yield from lint_remarks(report.findings)
    for unread in report.sources.unread if report.sources else ():
        yield Remark.unknown(f"not looked at: {unread.text} ({unread.why})")
    if not report.findings:
        settings = case.rig.server.nccl
        yield Remark.ok(
            f"{len(settings)} settings, each as NCCL reads it" if settings else "the rig sets none"
        )


def nccl_version(case: Case) -> Iterator[Remark]:
    version = nccl(case).nccl
    if version is not None:
        yield Remark.ok(f"NCCL {version}")
    elif case.rig.simulated:
        yield Remark.note("a simulated server has no NCCL package")
    else:
        told = facts(case).facts.get("package.nccl")
        why = f"its package is {told}" if told else "the server's Python does not tell its packages"
        yield Remark.unknown(f"{why}; the settings were judged as by the newest release that was read")


def lint_remarks(findings: Sequence[NcclLint]) -> Iterator[Remark]:
    for one in findings:
        value = "" if one.value is None else f" = {spell(one.value)}"
        said = f"{one.variable}{value}: {one.what}"
        if one.severity == "error":
            yield Remark.fail(said, one.do)
        elif one.severity == "warning":
            yield Remark.warn(said, one.do)
        else:
            yield Remark.note(said, one.do)


CHECKS = (
    Check("rig.advice", "what the rig will not tell", "verdicts that end inconclusive", advice),
    Check(
        "rig.limits",
        "whether generations and launches can end within the rig's own time limits",
        "generations that are timed out, a server that is stopped while it is measured",
        limits,
    ),
    Check(
        "nccl.settings",
        "what NCCL and SGLang make of the NCCL block, with the files and plugins of the host",
        "exit 11 where NCCL would not come up; else settings that are not what runs",
        nccl_settings,
        limit_s=60.0,
        applies=with_several_gpus,
    ),
    Check(
        "nccl.version",
        "which NCCL the server would load",
        "settings judged by another version",
        nccl_version,
        limit_s=60.0,
        applies=with_several_gpus,
    ),
)
