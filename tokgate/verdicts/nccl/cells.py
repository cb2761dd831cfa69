"""The four states after the wish, each as a cell: what it says, in words, and where that is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tokgate.records import VariableState, VariableTruth
from tokgate.records.nccl import (
    NcclCell,
    NcclMark,
    NcclProof,
    NcclRank,
    NcclStage,
    NcclTaken,
    RankProfile,
)

from .values import ON_NETWORK, SILENT, difference, effect, same

_REDUCES = re.compile("AllReduce|ReduceScatter")


class Rank(NamedTuple):
    """What is known of one rank."""

    number: int
    pid: int | None
    environment: Mapping[str, VariableTruth]
    nccl: NcclRank | None
    profile: RankProfile | None

    def taken(self, variable: str) -> tuple[NcclTaken, ...]:
        return self.nccl.accepted.get(variable, ()) if self.nccl else ()


def exec_cell(started: VariableTruth | None, taken: Sequence[NcclTaken], overwritten: str | None) -> NcclCell:
    evidence = f"/proc/{started.pid}/environ: {_shown(started)}" if started is not None else None

    def cell(mark: NcclMark, words: str) -> NcclCell:
        return NcclCell(
            stage=NcclStage.EXEC,
            mark=mark,
            value=started.found if started is not None else None,
            words=words,
            evidence=evidence,
        )

    if started is None:
        return cell(NcclMark.UNKNOWN, "no process of it was looked at")
    if started.state is VariableState.PRESENT:
        return cell(NcclMark.PROVEN, "in the exec environment")
    if started.state is VariableState.DIFFERENT:
        if overwritten is not None:
            return cell(NcclMark.REFUTED, f"overwritten by SGLang: {overwritten}")
        return cell(
            NcclMark.REFUTED,
            f"another value in the exec environment: {started.found!r} instead of {started.wanted!r}",
        )
    if started.state is VariableState.ABSENT:
        if taken:
            return cell(
                NcclMark.REFUTED,
                f"set at run time only, after exec: NCCL took {taken[0].value!r} all the same",
            )
        return cell(NcclMark.REFUTED, "absent from the exec environment")
    if started.state is VariableState.ERASED:
        return cell(NcclMark.UNKNOWN, "erased by setproctitle: absence cannot be told from presence")
    return cell(NcclMark.UNKNOWN, "unreadable: the environment cannot be read")


def accepted_cell(
    variable: str,
    wanted: str,
    rank: Rank,
    started: VariableTruth | None,
    *,
    why: str | None,
    overwritten: str | None,
) -> NcclCell:
    def cell(mark: NcclMark, words: str, told: NcclTaken | None = None, said: str = "") -> NcclCell:
        return NcclCell(
            stage=NcclStage.ACCEPTED,
            mark=mark,
            value=told.value if told else None,
            words=words,
            evidence=f"server.log line {told.line}: {said or f'{variable} set to {told.value}'}"
            if told
            else None,
        )

    if why is not None:
        return cell(NcclMark.UNKNOWN, why)
    if variable in SILENT:
        return cell(NcclMark.SILENT, "NCCL prints no line for it")
    if rank.nccl is None or not rank.nccl.messages or not rank.nccl.complete:
        return cell(NcclMark.UNKNOWN, "no whole initialisation of NCCL in the log")
    taken, refused = rank.nccl.accepted.get(variable, ()), rank.nccl.refused.get(variable)
    if refused is not None:
        return cell(NcclMark.REFUTED, f"refused by NCCL: {refused.text}", refused, refused.text)
    if len(taken) > 1:
        values = " and ".join(t.value for t in taken)
        return cell(NcclMark.REFUTED, f"two values, by communicator: {values}", taken[0])
    if taken and same(variable, wanted, taken[0].value):
        return cell(NcclMark.PROVEN, "accepted", taken[0])
    text = started.found if started is not None and started.found is not None else wanted
    if taken and overwritten is not None and text == wanted:
        return cell(NcclMark.REFUTED, f"overwritten by SGLang: {overwritten}", taken[0])
    if taken:
        return cell(NcclMark.REFUTED, difference(variable, text, taken[0].value), taken[0])
    if variable.startswith(ON_NETWORK) and not any(k.startswith("NET") for k in rank.nccl.links):
        return cell(NcclMark.SILENT, "not read: no connection leaves the machine")
    if started is not None and started.found is not None:
        return cell(NcclMark.REFUTED, f"ignored by NCCL without a word: {started.found!r}")
    return cell(NcclMark.REFUTED, "not accepted: no line of NCCL names it")


def effective_cell(
    variable: str, wanted: str, rank: Rank, taken: Sequence[NcclTaken], why: str | None
) -> NcclCell:
    if why is not None or rank.nccl is None:
        words = why or "no NCCL line of it in the log"
        return NcclCell(stage=NcclStage.EFFECTIVE, mark=NcclMark.UNKNOWN, words=words)
    if variable in SILENT:
        return NcclCell(
            stage=NcclStage.EFFECTIVE, mark=NcclMark.SILENT, words="it changes what is printed only"
        )
    mark, value, words = effect(variable, wanted, rank.nccl, taken[0] if taken else None)
    if mark is NcclMark.UNKNOWN and variable.startswith(ON_NETWORK):
        mark, words = NcclMark.SILENT, "not read: no connection leaves the machine"
    return NcclCell(
        stage=NcclStage.EFFECTIVE,
        mark=mark,
        value=value,
        words=words,
        evidence=_line(variable, rank.nccl, taken),
    )


def _line(variable: str, rank: NcclRank, taken: Sequence[NcclTaken]) -> str | None:
    lines = {
        "NCCL_ALGO": rank.matrix_line,
        "NCCL_PROTO": rank.matrix_line,
        "NCCL_NTHREADS": rank.threads_line,
        "NCCL_MAX_NCHANNELS": rank.channels_line,
        "NCCL_MIN_NCHANNELS": rank.channels_line,
        "NCCL_MAX_CTAS": rank.channels_line,
        "NCCL_MIN_CTAS": rank.channels_line,
    }
    line = lines.get(variable, taken[0].line if taken else None)
    return None if line is None else f"server.log line {line}"


def used_cell(rank: Rank, proof: NcclProof | None, why: str | None) -> NcclCell:
    def cell(mark: NcclMark, words: str, value: str | None = None) -> NcclCell:
        evidence = rank.profile.file if rank.profile else None
        return NcclCell(stage=NcclStage.USED, mark=mark, value=value, words=words, evidence=evidence)

    profile = rank.profile
    if why is not None or proof is None:
        return cell(NcclMark.UNKNOWN, why or "not proven")
    if profile is None:
        return cell(NcclMark.UNKNOWN, f"not profiled: {proof.why_no_profile or 'no trace of it came back'}")
    inside = {k.name.split("(")[0]: k.in_steps if profile.steps else k.calls for k in profile.nccl}
    steps = f"{profile.steps} decode steps" if profile.steps else "the profiled steps, prefill among them"
    instead = ", ".join(k.name.split("(")[0] for k in profile.instead if k.in_steps or not profile.steps)
    names, total = ", ".join(name for name, n in inside.items() if n), sum(inside.values())
    reducing = any(n and _REDUCES.search(name) for name, n in inside.items())
    if total and (reducing or not instead):
        each = f"{total / profile.steps:.4g} a step" if profile.steps else f"{total} in all"
        return cell(NcclMark.PROVEN, f"NCCL kernels on the decode path: {total} in {steps}, {names}", each)
    if not profile.kernels or not profile.complete:
        return cell(NcclMark.UNKNOWN, "not told by its trace: torn, or without any GPU kernel")
    as_with = f", as with custom all-reduce ({instead})" if instead else ""
    others = f"; NCCL does no more than {names}" if total else ""
    words = f"accepted but unused: no NCCL kernel reduces in {steps}{as_with}{others}"
    return cell(NcclMark.UNUSED, words, "0 a step")


def _shown(row: VariableTruth) -> str:
    return row.state.value if row.found is None else f"{row.variable}={row.found}"
