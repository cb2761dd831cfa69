"""summary.md: what a CI step summary or a pull request comment shows, never more than 60 KB."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence

from tokgate.records import Outcome

from . import arithmetic, diagnosed, figures, gain, phases, qualified, sampling, simulated, split_cells, sweep
from .arms import ArmRow
from .nccl_matrix import STAGES, StageCell, five_states, tells
from .since_baseline import changes
from .telemetry import line_of
from .verdict_json import VerdictFile
from .verdict_rows import RowGroup, VerdictRow, row_groups
from .visible import one_line

# GitHub cuts a comment at 65 536 characters; a step summary may share its 1 MiB with other steps.
LIMIT_BYTES = 60_000
_CELL = 160
# What could start markup; a colon only where it would make a link of a bare URL, or an emoji.
_SPECIAL = re.compile(r"([\\`*_{}\[\]#!|~@$]|:(?=//|[a-z0-9_+-]+:))")
_KEPT = (Outcome.PASS, Outcome.IMPROVED)


def render(file: VerdictFile, folder: str) -> str:
    """Return the markdown. What does not fit is counted and left to verdict.json."""
    word = f"{simulated.WORD} {file.outcome.value.upper()}" if file.simulated else file.outcome.value.upper()
    head = [f"# tokgate {word}: {text(file.headline, 400)}", ""]
    if file.simulated:
        head += [f"> **{simulated.WORD}**: {simulated.MEANING}.", ""]
    facts = (
        f"rig **{text(file.run.rig)}**",
        f"run {text(file.run.run_id)}",
        f"exit code {file.exit_code}",
        text(file.run.started_at),
        f"tokgate {text(file.run.tokgate_version)}",
    )
    head += [" · ".join(facts), ""]
    if file.do:
        head += [f"**Next:** {text(file.do, 1000)}", ""]
    for words in qualified.lines(file.qualification):
        head += [text(words, 600), ""]
    foot = ["", f"Raw data: {_code(folder)}", ""]
    room = LIMIT_BYTES - _size(head) - _size(foot)
    body: list[str] = []
    for section in (
        _diagnosis(file),
        _arm_table(file),
        _arithmetic(file),
        _phases(file),
        _gains(file),
        _since_baseline(file),
        _sweep(file),
        _verdict_table(file),
        _reasons(file),
        _sampling(file),
        _nccl(file),
        _telemetry(file),
        _differences(file),
        _tests(file),
    ):
        room -= _append(body, section, room)
    return "\n".join([*head, *body, *foot])


def text(foreign: str, limit: int = _CELL) -> str:
    """Escape foreign text for markdown and the HTML inside it; it stays on one line."""
    return _SPECIAL.sub(r"\\\1", html.escape(one_line(foreign, limit), quote=False))


def _verdict_table(file: VerdictFile) -> list[str]:
    groups = row_groups(file)
    if not groups:
        return []
    return [
        "",
        "## Verdicts",
        "",
        "| outcome | check | launch | workload | metric | value | reference | change | interval | n |",
        "|---|---|---|---|---|--:|--:|--:|--:|--:|",
        *(_row(_folded(g) if g.group.several else _verdict_cells(g.rows[0])) for g in groups),
    ]


def _folded(group: RowGroup) -> Iterable[str]:
    """Many kept promises of one check: how many of how many, and the largest change; each stands in report.html."""
    yield group.group.word
    yield f"{text(group.group.check)} {group.group.share()}"
    yield from (figures.NONE,) * 5
    yield text(group.group.span()) or figures.NONE
    yield from (figures.NONE,) * 2


def _verdict_cells(row: VerdictRow) -> Iterable[str]:
    yield row.outcome if row.kept else f"**{row.outcome}**"
    for foreign in (
        row.check,
        row.launch,
        row.workload,
        row.metric,
        row.value,
        row.reference,
        row.change,
        row.interval,
    ):
        yield text(foreign)
    yield row.n


def _diagnosis(file: VerdictFile) -> list[str]:
    causes = file.diagnosis.causes
    if not causes:
        return []
    lines = [
        *_headed("Likely causes", diagnosed.COLUMNS, diagnosed.numeric),
        *(_row(text(cell, 300) for cell in diagnosed.cells(cause)) for cause in causes),
    ]
    for cause in causes[: diagnosed.MOST]:
        lines += ["", f"**{text(cause.name)}**", *_bullets(diagnosed.details(cause))]
    lines += _bullets(f"not {line}" for line in diagnosed.excluded(file.diagnosis))
    return [*lines, "", text(diagnosed.NOTE, 600), ""]


def _arm_table(file: VerdictFile) -> list[str]:
    if not file.arms:
        return []
    return [
        "## Arms",
        "",
        "| launch | workload | tok/s a stream | total tok/s | cycle ms | break-even cycle ms | accept length | speed-up | n |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
        *(_row(_arm_cells(arm)) for arm in file.arms),
    ]


def _arm_cells(arm: ArmRow) -> Iterable[str]:
    yield text(arm.launch)
    yield text(arm.workload)
    yield figures.optional(arm.decode_tok_s, "decode_tok_s")
    yield figures.optional(arm.total_tok_s, "total_tok_s")
    yield figures.optional(arm.cycle_ms, "cycle_ms")
    yield figures.optional(arm.break_even_cycle_ms, "cycle_ms")
    yield figures.optional(arm.accept_length, "accept_length")
    yield figures.NONE if arm.speed_up is None else f"{arm.speed_up:.3f} {arm.compared}".rstrip()
    yield str(arm.n)


def _arithmetic(file: VerdictFile) -> list[str]:
    if not file.arithmetic:
        return []
    return [
        *_headed("Arithmetic", arithmetic.COLUMNS, arithmetic.numeric),
        *(_row(text(cell) for cell in arithmetic.cells(row)) for row in file.arithmetic),
        *_bullets(f"not told, {where}: {why}" for where, why in arithmetic.untold(file.arithmetic)),
    ]


def _gains(file: VerdictFile) -> list[str]:
    if not file.gains:
        return []
    levels = gain.tabled(file.gains)
    title = "Gain by concurrency"
    return [
        *(_headed(title, gain.COLUMNS, gain.numeric) if levels else ("", f"## {title}")),
        *(_row(text(cell) for cell in cells) for cells in levels),
        *_bullets(line for told, notes in gain.sentences(file.gains) for line in (told, *notes)),
    ]


def _since_baseline(file: VerdictFile) -> list[str]:
    if not file.since_baseline:
        return []
    found = tuple(changes(file.since_baseline))
    table = (
        *_headed("Since the stored baseline", split_cells.COLUMNS, split_cells.numeric),
        *(_row(text(cell) for cell in split_cells.cells(one)) for one in found),
    )
    untold = (f"{o.arm} {o.workload}: not compared: {o.why}" for o in file.since_baseline if o.change is None)
    notes = (f"{where}: {note}" for where, note in split_cells.noted(found))
    return [*(table if found else ("", "## Since the stored baseline")), *_bullets((*untold, *notes))]


def _headed(title: str, columns: Sequence[str], numeric: Callable[[int], bool]) -> list[str]:
    """Return the lines of a table from its title to the rule below its head."""
    rule = "".join("--:|" if numeric(i) else "---|" for i in range(len(columns)))
    return ["", f"## {title}", "", f"| {' | '.join(columns)} |", f"|{rule}"]


def _bullets(lines: Iterable[str]) -> list[str]:
    told = [f"- {text(line, 500)}" for line in lines]
    return ["", *told] if told else []


def _sweep(file: VerdictFile) -> list[str]:
    if file.sweep is None:
        return []
    return [
        "",
        f"## Sweep of {text(file.sweep.arm)}",
        "",
        f"| {' | '.join(sweep.COLUMNS)} |",
        f"|---|---|{'--:|' * (len(sweep.COLUMNS) - 2)}",
        *(_row(text(cell) for cell in cells) for cells, _ in sweep.rows_of(file.sweep)),
        "",
        *(f"- {text(line, 400)}" for line in sweep.lines_of(file.sweep)),
        "",
        text(sweep.NOTE, 600),
    ]


def _phases(file: VerdictFile) -> list[str]:
    rows, unknown = phases.phase_rows(file.phases), phases.unknown_of(file.phases)
    if not rows and not unknown:
        return []
    lines = ["", "## Phases of a cycle", ""]
    if rows:
        left = "---|" * 4 + "--:|" * (len(phases.COLUMNS) - 4)
        lines += [f"| {' | '.join(phases.COLUMNS)} |", f"|{left}"]
        lines += [_row(text(cell) for cell in phases.cells(row)) for row in rows]
    notes = [
        f"- **not agreed** {text(launch)}: {text(words, 400)}"
        for launch, words in phases.disputed(file.phases)
    ]
    notes += [
        f"- not told {text(launch)}, {text(source)}: {text(why, 400)}" for launch, source, why in unknown
    ]
    return [*lines, *([""] if rows and notes else []), *notes]


def _reasons(file: VerdictFile) -> list[str]:
    open_ones = [v for v in file.verdicts if v.outcome not in _KEPT]
    if not open_ones:
        return []
    lines = ["", "## Why, and what to do", ""]
    for verdict in open_ones:
        lines.append(f"- **{verdict.outcome.value}** {text(verdict.check)}: {text(verdict.headline, 600)}")
        lines += [f"  - {text(line, 300)}" for line in verdict.evidence[:5]]
        lines += [f"  - warning: {text(line, 300)}" for line in verdict.warnings[:5]]
        if verdict.do:
            lines.append(f"  - next: {text(verdict.do, 600)}")
    return lines


def _nccl(file: VerdictFile) -> list[str]:
    if file.nccl is None or not tells(file.nccl):
        return []
    told = five_states(file.nccl)
    reason = f"no proof start: {text(file.nccl.skipped)}" if file.nccl.skipped else ""
    return [
        "",
        "## NCCL truth",
        "",
        f"{text(file.nccl.launch)}, a sign per rank, {len(file.nccl.ranks)} ranks {reason}".rstrip(),
        "",
        f"| variable | wanted | {' | '.join(stage.value for stage in STAGES)} |",
        f"|---|---|{'---|' * len(STAGES)}",
        *(
            _row((text(row.variable), text(row.wanted), *(_nccl_cell(cell) for cell in row.cells)))
            for row in told.rows
        ),
    ]


def _nccl_cell(cell: StageCell) -> str:
    signs = "".join(sign.sign for sign in cell.signs)
    value = f" {text(cell.value, 60)}" if cell.value is not None else ""
    words = "".join(f" {text(words, 300)}" for words in cell.words)
    return f"{signs}{words or value}"


def _sampling(file: VerdictFile) -> list[str]:
    if file.sampling is None:
        return []
    return [
        "",
        "## Measured beyond the plan",
        "",
        f"| {' | '.join(sampling.COLUMNS)} |",
        "|---|---|---|--:|--:|",
        *(_row(text(cell, 400) for cell in cells) for cells in sampling.rows_of(file.sampling)),
        "",
        *(f"- {text(line, 600)}" for line in sampling.lines_of(file.sampling)),
        "",
        text(sampling.NOTE, 600),
    ]


def _telemetry(file: VerdictFile) -> list[str]:
    if not file.telemetry:
        return []
    lines = ["", "## While it was measured", ""]
    lines += [f"- {text(watched.launch)}: {text(line_of(watched), 600)}" for watched in file.telemetry]
    return lines


def _differences(file: VerdictFile) -> list[str]:
    if not file.differences:
        return []
    lines = ["", "## What differs from the reference", "", "| key | before | now |", "|---|---|---|"]
    seen = dict.fromkeys((d.difference.key, d.difference.before, d.difference.now) for d in file.differences)
    lines += [
        _row((text(key), text(before or figures.UNKNOWN), text(now or figures.UNKNOWN)))
        for key, before, now in seen
    ]
    return lines


def _tests(file: VerdictFile) -> list[str]:
    if not file.unclassified:
        return []
    return ["", "## Failed without a verdict", "", *(f"- {text(test, 300)}" for test in file.unclassified)]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _code(foreign: str) -> str:
    """Return a code span; backticks in it would end it."""
    clean = one_line(foreign, 1000).replace("`", "'")
    return f"`{clean}`"


def _append(body: list[str], section: Sequence[str], room: int) -> int:
    """Append as many lines of `section` as fit, with a note of how many did not; return the bytes used."""
    note_room = 100
    used = 0
    for position, line in enumerate(section):
        size = len(line.encode(errors="replace")) + 1
        if used + size > room - note_room:
            left = len(section) - position
            note = f"\n… {left} more lines did not fit: see verdict.json\n"
            if used + len(note.encode()) <= room:
                body.append(note)
                used += len(note.encode()) + 1
            return used
        body.append(line)
        used += size
    return used


def _size(lines: Sequence[str]) -> int:
    return sum(len(line.encode(errors="replace")) + 1 for line in lines)
