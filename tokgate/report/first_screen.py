"""What stands first in report.html: the answer, why, on what evidence, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from tokgate.records import Verdict
from tokgate.verdicts.diagnosis.cause import Cause, Strength

from . import diagnosed
from .answer import against_the_baseline, answer, unminded
from .commands import commands, of_the_machine
from .conclusion import SessionOutcome, counted
from .given import with_given
from .leading import of_the_change
from .may_merge import MayMerge, may_merge
from .verdict_file import VerdictFile
from .visible import one_line

_MOST_EVIDENCE = 3
_MOST_COMMANDS = 4
_LONG = 60  # characters that are not read twice
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
    noted: tuple[str, ...]  # beside a yes: what no limit minds
    counted: str | None  # None where the headline is the count
    causes: tuple[ShownCause, ...]
    leads: bool  # whether the first cause is more than weak, and its step the next one
    excluded: tuple[str, ...]
    accounted: tuple[str, ...]  # what has become slower, and the causes that take it
    no_cause: str | None  # why none is named; None where one is, or none was looked for
    evidence: tuple[str, ...]  # of the leading verdict, where no cause leads
    do: str  # the next step, in words
    also: str | None  # the leading verdict's own next step, where the first cause's stands above it
    commands: tuple[str, ...]  # of these steps, as they may be pasted
    beside: tuple[str, ...]  # what must be known before one is pasted


def first_screen(file: VerdictFile, folder: str, given: str = "") -> FirstScreen:
    """Gather the first screen of a run that lies in `folder`. `given`: options of it that no evidence names."""
    causes = tuple(map(_shown, file.diagnosis.causes))
    # As in the terminal: what is weak is told, and leads nobody.
    strong = bool(causes) and file.diagnosis.causes[0].strength is not Strength.WEAK
    leads = strong and not of_the_change(file.verdicts)
    lead = file.verdicts[0] if file.verdicts else None
    own = _here(file.do, file, folder)
    do = with_given(causes[0].do if leads else own or "", given) or None
    also = with_given(own or "", given) or None if leads and file.do != causes[0].do else None
    told = counted(file.verdicts)
    found = dict.fromkeys(command for step in (do, also) for command in commands(step, folder))
    offered = tuple(c for c in found if not (file.simulated and of_the_machine(c)))
    shown = offered[:_MOST_COMMANDS] or tuple(_keep(file, folder))
    return FirstScreen(
        answer=may_merge(
            file.outcome,
            simulated=file.simulated,
            selection=file.run.asked,
            part=file.part,
            patch=file.patch,
        ),
        noted=tuple(unminded(file.verdicts)) if file.outcome in _KEPT else (),
        counted=told if told != file.headline else None,
        causes=causes,
        leads=leads,
        excluded=tuple(diagnosed.excluded(file.diagnosis)),
        accounted=tuple(diagnosed.accounted(file.diagnosis)),
        no_cause=None if causes else file.diagnosis.note,
        evidence=(*against_the_baseline(file.verdicts), *_evidence(file, lead))
        if lead is not None and not leads
        else (),
        do=do or _nothing_more(file),
        also=also,
        commands=shown,
        beside=tuple(_beside(shown, given, withheld=len(offered) < len(found))) if file.simulated else (),
    )


def _here(step: str | None, file: VerdictFile, folder: str) -> str | None:
    """Name the run by where it lies where it was carried away from the place that its steps name."""
    written = PurePath(file.run.report_dir or "reports") / file.run.run_id
    if step is None or Path(written).exists():
        return step
    return step.replace(shlex.quote(str(written)), shlex.quote(folder))


def _evidence(file: VerdictFile, lead: Verdict) -> Iterator[str]:
    """Yield why: what is known beside a baseline that is missing, else what the leading verdict rests on."""
    if file.outcome is not SessionOutcome.NO_BASELINE:
        yield from (*lead.evidence, *lead.warnings)
        return
    told = answer(file.verdicts)
    yield f"without a stored number: {told}" if told else "nothing here is judged without a stored number"
    for d in lead.differs[:_MOST_EVIDENCE]:
        before, now = ("unknown" if v is None else one_line(v, 80) for v in (d.before, d.now))
        yield f"the nearest stored one differs: {one_line(d.key, 80)}: {before} → {now}"
    if len(lead.differs) > _MOST_EVIDENCE:
        yield f"and {len(lead.differs) - _MOST_EVIDENCE} more settings: see Fingerprint below"


def _beside(commands: tuple[str, ...], given: str, *, withheld: bool) -> Iterator[str]:
    """Yield what holds of a simulated machine's commands. What was planted in it stands in no evidence."""
    if withheld:
        yield (
            "The machine is simulated: commands for its cards and processes are not offered to copy. "
            "Run here they would meet the real machine."
        )
    measuring = any(command.startswith(("pytest ", ".venv/bin/pytest ")) for command in commands)
    if measuring and given:
        yield f"The pytest commands play again what this machine was told to play: {given}."
    elif measuring:
        yield (
            "Nothing in this run's folder says that the simulated machine was told to play something; if it was, the pytest "
            "commands here measure another machine."
        )


def _shown(cause: Cause) -> ShownCause:
    # The first of the details is the sentence itself, and a piece of evidence may be no more than that again.
    lines = tuple(
        _once(
            cause.words,
            [line for line in diagnosed.details(cause) if line.removeprefix("for it: ") != cause.words],
        )
    )
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


def _once(words: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines; those that say again what `words` say, of another place, as one."""
    _, _, said = words.partition(": ")
    places = [line.removesuffix(f": {said}") for line in lines if said and line.endswith(f": {said}")]
    if len(said) < _LONG or not places:
        yield from lines
        return
    heads = [places[0], *(p.removeprefix("for it: ") for p in places[1:])]
    yield f"{', '.join(heads)}: the same"
    yield from (line for line in lines if not line.endswith(f": {said}"))


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
