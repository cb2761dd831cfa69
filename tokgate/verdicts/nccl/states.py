"""The NCCL block in five states, per variable and rank: wanted, started with, accepted, effective, used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tokgate.records import EnvironmentTruth, LaunchEvidence, VariableTruth
from tokgate.records.nccl import (
    NcclCell,
    NcclMark,
    NcclProof,
    NcclRow,
    NcclStage,
    NcclTruth,
)
from tokgate.rig.models import Rig
from tokgate.rig.ranks import rank_count

from .cells import Rank, accepted_cell, effective_cell, exec_cell, used_cell
from .claims import Claim, Owner, claims

_SCHEDULER = re.compile(r"scheduler\b(?:.*?\bTP(?P<rank>[0-9]{1,4}))?")


def nccl_truth_of(rig: Rig, launch: LaunchEvidence) -> NcclTruth:
    """Return every state of every variable of the NCCL block in every rank of one launch.

    Anything but a proof start can show the first two states alone; the others then say why.
    """
    proof, truth = launch.nccl, launch.environment
    why = _why_no_proof(rig, launch)
    claimed = claims(truth, proof)
    ranks = _ranks(rig, truth, proof, claimed)
    overwritten = truth.overwritten if truth is not None else {}
    name = launch.launch.id
    return NcclTruth(
        launch=name,
        skipped=rig.nccl_proof.skip,
        ranks=tuple(rank.number for rank in ranks),
        rows=tuple(
            _row(
                variable,
                wanted,
                rank,
                proof,
                why=why,
                overwritten=overwritten.get(variable),
                claim=claimed.get(rank.number),
            )
            for variable, wanted in rig.server.nccl.items()
            for rank in ranks
        ),
        warnings=(
            *(f"NCCL warns, line {w.line}: {w.text}" for w in (proof.warnings if proof else ())),
            *(claim.warning for claim in claimed.values() if claim.warning is not None),
        ),
        raw=(
            f"launches/{name}/environment.json",
            *((f"launches/{name}/nccl-proof.json", f"launches/{name}/server.log") if proof else ()),
            *((f"launches/{name}/profile/",) if proof and proof.profiles else ()),
        ),
    )


def in_ranks(ranks: Sequence[int], of: Sequence[int]) -> str:
    """Say which ranks: "every rank", "rank 3 only", "ranks 2 and 5 only"."""
    if set(ranks) == set(of):
        return "every rank" if len(of) > 1 else "the one rank"
    if len(ranks) == 1:
        return f"rank {ranks[0]} only"
    *first, last = sorted(ranks)
    return f"ranks {', '.join(map(str, first))} and {last} only"


def condensed(truth: NcclTruth, stage: NcclStage, marks: Iterable[NcclMark]) -> tuple[tuple[str, str], ...]:
    """Return (variables, what is so in which ranks) for the cells of a stage that carry one of `marks`.

    Variables of which the same is so in the same ranks share one entry.
    """
    wanted = frozenset(marks)
    told: dict[tuple[str, str, NcclMark], list[int]] = {}
    for row in truth.rows:
        cell = row.cell(stage)
        if cell.mark in wanted:
            told.setdefault((row.variable, cell.words, cell.mark), []).append(row.rank)
    shared: dict[str, list[str]] = {}
    for (variable, words, mark), ranks in told.items():
        # What is not printed by nature needs no place, and what is as it should be no "only".
        places = in_ranks(ranks, truth.ranks)
        places = places.removesuffix(" only") if mark is NcclMark.PROVEN else places
        placed = words if mark is NcclMark.SILENT else _placed(words, places)
        shared.setdefault(placed, []).append(variable)
    return tuple((", ".join(variables), words) for words, variables in shared.items())


def _placed(words: str, ranks: str) -> str:
    """Put the ranks behind the first clause: "absent from the exec environment of rank 3 only"."""
    first, separator, rest = words.partition(": ")
    link = "of" if first.endswith("environment") else "in"
    return f"{first} {link} {ranks}{separator}{rest}"


def _why_no_proof(rig: Rig, launch: LaunchEvidence) -> str | None:
    if launch.nccl is not None:
        return None
    if rig.nccl_proof.skip is not None:
        return f"not proven: {rig.nccl_proof.skip}"
    if launch.failure is not None:
        return f"not proven: the server did not start ({launch.failure.headline})"
    if launch.launch.role == "nccl-proof":
        return "not proven: the proof start was never finished"
    return "not proven: this launch is no proof start"


def _ranks(
    rig: Rig,
    truth: EnvironmentTruth | None,
    proof: NcclProof | None,
    claimed: Mapping[int, Claim],
) -> tuple[Rank, ...]:
    rows: dict[Owner, dict[str, VariableTruth]] = {}
    of_name: dict[int, Owner] = {}
    for row in truth.rows if truth is not None else ():
        rows.setdefault((row.node, row.pid), {})[row.variable] = row
        named = _SCHEDULER.match(row.process)
        if named:
            of_name.setdefault(int(named["rank"] or 0), (row.node, row.pid))
    seen = {profile.rank: profile for profile in proof.profiles} if proof else {}
    found = []
    # A rank that must be there and that nobody saw is told as unknown, not left out.
    for number in sorted({*range(rank_count(rig)), *claimed, *of_name}):
        # NCCL's own pid first: a process name is only words, and tells among those that claim the rank.
        claim, by_name = claimed.get(number), of_name.get(number)
        told = [owner for owner in claim.owners if owner in rows] if claim is not None else []
        owner = by_name if by_name in told or not told else told[0]
        started = rows.get(owner, {}) if owner is not None else {}
        found.append(
            Rank(
                number,
                owner[1] if owner is not None else None,
                started,
                claim.said if claim is not None else None,
                seen.get(number),
            )
        )
    return tuple(found)


def _row(
    variable: str,
    wanted: str,
    rank: Rank,
    proof: NcclProof | None,
    *,
    why: str | None,
    overwritten: str | None,
    claim: Claim | None,
) -> NcclRow:
    taken = rank.taken(variable)
    started = rank.environment.get(variable)
    unclear = why or (claim.words if claim is not None else None)
    accepted = accepted_cell(variable, wanted, rank, started, why=unclear, overwritten=overwritten)
    if why is None and claim is not None and claim.refuted:
        accepted = accepted.model_copy(update={"mark": NcclMark.REFUTED})
    return NcclRow(
        variable=variable,
        rank=rank.number,
        pid=rank.pid,
        cells=(
            NcclCell(
                stage=NcclStage.WANTED,
                mark=NcclMark.PROVEN,
                value=wanted,
                words="wanted",
                evidence=f"rig: server.nccl.{variable}",
            ),
            exec_cell(started, taken, overwritten),
            accepted,
            effective_cell(variable, wanted, rank, taken, unclear),
            used_cell(rank, proof, why),
        ),
    )
