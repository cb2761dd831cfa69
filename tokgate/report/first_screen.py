"""What stands first in report.html: the answer, why, on what evidence, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tokgate.verdicts.diagnosis.cause import Cause, Strength

from . import diagnosed
from .commands import commands, of_the_machine
from .conclusion import SessionOutcome, counted
from .may_merge import MayMerge, may_merge
from .verdict_file import VerdictFile

_MOST_EVIDENCE = 3
_MOST_COMMANDS = 4
_KEPT = (SessionOutcome.PASS, SessionOutcome.IMPROVED)


@dataclass(frozen=True)
class ShownCause:
    name: str
    strength: str
    words: str
    evidence: tuple[str, ...]  # the first lines of it
    more: tuple[str, ...]  # the rest, folded
    do: str


@dataclass(frozen=True)
class FirstScreen:
    answer: MayMerge
    counted: str | None  # None where the headline is the count
    causes: tuple[ShownCause, ...]
    leads: bool  # whether the first cause is more than weak, and its step the next one
    excluded: tuple[str, ...]
    no_cause: str | None  # why none is named; None where one is, or none was looked for
    evidence: tuple[str, ...]  # of the leading verdict, where no cause leads
    do: str  # the next step, in words
    also: str | None  # the leading verdict's own next step, where the first cause's stands above it
    commands: tuple[str, ...]  # of these steps, as they may be pasted
    beside: tuple[str, ...]  # what must be known before one is pasted


def first_screen(file: VerdictFile, folder: str) -> FirstScreen:
    """Gather the first screen of a run that lies in `folder`."""
    causes = tuple(map(_shown, file.diagnosis.causes))
    # As in the terminal: what is weak is told, and leads nobody.
    leads = bool(causes) and file.diagnosis.causes[0].strength is not Strength.WEAK
    lead = file.verdicts[0] if file.verdicts else None
    do = causes[0].do if leads else file.do
    also = file.do if leads and file.do != do else None
    told = counted(file.verdicts)
    found = dict.fromkeys(command for step in (do, also) for command in commands(step, folder))
    offered = tuple(c for c in found if not (file.simulated and of_the_machine(c)))
    shown = offered[:_MOST_COMMANDS] or tuple(_keep(file, folder))
    return FirstScreen(
        answer=may_merge(
            file.outcome, simulated=file.simulated, selection=file.run.selection, part=file.part
        ),
        counted=told if told != file.headline else None,
        causes=causes,
        leads=leads,
        excluded=tuple(diagnosed.excluded(file.diagnosis)),
        no_cause=None if causes else file.diagnosis.note,
        evidence=(*lead.evidence, *lead.warnings) if lead is not None and not leads else (),
        do=do or _nothing_more(file),
        also=also,
        commands=shown,
        beside=tuple(_beside(shown, withheld=len(offered) < len(found))) if file.simulated else (),
    )


def _beside(commands: tuple[str, ...], *, withheld: bool) -> Iterator[str]:
    """Yield what holds of a simulated machine's commands. What was planted in it stands in no record, so in none of them."""
    if withheld:
        yield (
            "The machine is simulated: commands for its cards and processes are not offered to copy. "
            "Run here they would meet the real machine."
        )
    if any(command.startswith(("pytest ", ".venv/bin/pytest ")) for command in commands):
        yield (
            "No record keeps what a simulated machine was told to play: if this run was given such options, add them to "
            "the pytest commands here, or they measure a healthy one. The last lines in the terminal have them."
        )


def _shown(cause: Cause) -> ShownCause:
    # The first of the details is the sentence itself, and a piece of evidence may be no more than that again.
    lines = tuple(line for line in diagnosed.details(cause) if line.removeprefix("for it: ") != cause.words)
    seen = [line for line in lines if line.startswith("for it: ")] or list(lines)
    first = tuple(seen[:_MOST_EVIDENCE])
    return ShownCause(
        name=cause.name,
        strength=diagnosed.strength(cause),
        words=cause.words,
        evidence=tuple(line.removeprefix("for it: ") for line in first),
        more=tuple(line for line in lines if line not in first),
        do=cause.do,
    )


def _nothing_more(file: VerdictFile) -> str:
    if file.part is not None and file.outcome in _KEPT:
        return (
            "nothing for this part. For the whole answer see the run's own report.html, in the folder above"
        )
    if file.outcome in _KEPT:
        return "nothing has to be done. These numbers may be kept as a baseline, beside those stored:"
    return "see the verdicts below, the worst stands first"


def _keep(file: VerdictFile, folder: str) -> Iterator[str]:
    if file.outcome in _KEPT and file.part is None:  # a part of a run is nothing to store
        yield from commands('tokgate baseline update RUN --append --why "…"', folder)
