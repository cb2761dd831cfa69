"""`tokgate compare A B`: what two stored runs differ in, and what the change of each arm is made of."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from tokgate.cli.complete import runs_to_complete
from tokgate.cli.help import Taught, teach
from tokgate.cli.telling import tell, tell_as_it_is
from tokgate.records import EXIT_CODES, Difference, Outcome
from tokgate.report import figures, simulated, split_cells
from tokgate.report.compared import conclusion
from tokgate.report.comparison import Comparison, Given, compare_runs, shared_settings
from tokgate.report.phase_change import Moved, PhaseMoved, PhasesMoved
from tokgate.report.verdict_json import finite
from tokgate.report.visible import one_line
from tokgate.session.run_folder import load_run
from tokgate.stats.log_shares import Share
from tokgate.verdicts.decision_words import against, counts, why
from tokgate.verdicts.needs import needs_of
from tokgate.verdicts.split import Split

MOST_FACTS = 20  # in the terminal; --json has them all


@click.command(
    cls=Taught,
    **teach(
        examples=(
            "tokgate compare reports/A reports/B",
            "tokgate compare reports/A reports/latest --arm eagle3-2step --json",
        ),
        codes=(
            (0, "told, whatever it is"),
            (4, "a folder cannot be read, or one machine is simulated"),
            (11, "no number of the two could be compared"),
        ),
        then=("tokgate baseline diff reports/B",),
    ),
)
@click.argument("run_a", type=click.Path(path_type=Path), shell_complete=runs_to_complete)
@click.argument("run_b", type=click.Path(path_type=Path), shell_complete=runs_to_complete)
@click.option("--arm", help="Only this arm; every arm that both runs measured by default.")
@click.option("--workload", help="Only this workload; all that both have by default.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
@click.pass_context
def compare(
    context: click.Context, run_a: Path, run_b: Path, *, arm: str | None, workload: str | None, as_json: bool
) -> None:
    """Compare RUN_B with RUN_A, folders or the ids of runs in reports/: what differs first, then each arm's change.

    Of arms that were measured with instruments alone (-m verify) the phases are compared. Nothing is measured and nothing is judged: it tells, and ends with 0. With 11 where not one number of the two
    could be compared, with 4 where a folder cannot be read or one of the two machines is simulated.
    """
    root = context.find_object(Path)
    found = compare_runs(_load(run_a, root), _load(run_b, root), arm=arm, workload=workload)
    if as_json:
        tell_as_it_is(json.dumps(finite(found.model_dump(mode="python")), indent=1, allow_nan=False))
    else:
        for line in _lines(found):
            tell(line)
    if not found.changes and not found.phases:
        context.exit(EXIT_CODES[Outcome.INVALID])


def _load(named: Path, root: Path | None) -> Given:
    """Read a run folder; a bare name that is none here may be a run's id."""
    path = named
    if root is not None and len(named.parts) == 1 and not os.path.lexists(named):
        kept = root / "reports" / named
        path = kept if kept.is_dir() else named
    evidence, rig = load_run(path)
    return Given(str(path), evidence, rig)


def _lines(found: Comparison) -> Iterator[str]:
    if found.simulated:
        yield simulated.banner(found.before.rig)
    for letter, run in (("A", found.before), ("B", found.after)):
        yield f"{letter}  {one_line(run.path)}  run {one_line(run.run_id)}, rig {one_line(run.rig)}, {one_line(run.started_at)}"
    if found.before.run_id == found.after.run_id:
        yield "A and B are one run: whatever differs below is no change"
    yield from _settings(found)
    yield from _facts(found.facts)
    for change in found.changes:
        yield ""
        yield from _change(change)
    for phases in found.phases:
        yield ""
        yield from _phases(phases)
    if found.not_compared:
        yield ""
    for one in found.not_compared:
        where = one_line(" ".join(p for p in (one.arm, one.workload) if p))
        yield f"not compared: {where}: {one_line(one.why, 600)}"
    yield ""
    yield one_line(conclusion(found), 1000)


def _settings(found: Comparison) -> Iterator[str]:
    if not found.settings:
        yield "settings: the same, in everything that must be equal"
        return
    shared = shared_settings(found)
    yield "settings that differ: the numbers below are of different things"
    yield from _differing(shared)
    for one in found.settings:
        own = [d for d in one.differs if d not in shared]
        if own:
            yield f"  of {one_line(one.arm)} {one_line(one.workload)}:"
            yield from (f"  {line}" for line in _differing(own))


def _facts(facts: Sequence[Difference]) -> Iterator[str]:
    if not facts:
        return
    yield "facts of machine and software that differ:"
    yield from _differing(facts[:MOST_FACTS])
    if len(facts) > MOST_FACTS:
        yield f"  … and {len(facts) - MOST_FACTS} more: --json has them"


def _differing(found: Iterable[Difference]) -> Iterator[str]:
    for d in found:
        before, now = (one_line("not set" if v is None else v, 200) for v in (d.before, d.now))
        yield f"  {one_line(d.key, 100)}: {before} -> {now}"


def _change(one: Split) -> Iterator[str]:
    rates = " -> ".join(figures.number(v, "decode_tok_s") for v in one.tok_s)
    yield (
        f"{one_line(one.arm)} {one_line(one.workload)}: decode {rates} tok/s, "
        f"{split_cells.change(one)}, n={one.n[0]}+{one.n[1]}"
    )
    yield from (f"  {line}" for line in _decided(one))
    found = one.split
    if found is not None and found.whole is not None:
        source = f", phases by {one.source} ({one.clock} clock)" if one.source is not None else ""
        yield f"  tok/s in per cent, each share alone{source}:"
        yield from _aligned([_share(share) for share in (*found.shares, found.whole)])
    for note in split_cells.notes(one):
        yield f"  note: {one_line(note, 600)}"


def _decided(one: Split) -> Iterator[str]:
    """Yield what a verdict on B would say, were A its baseline and this the only comparison: none is made here."""
    found = one.decision
    if found is None:
        return
    needs = needs_of(found.wants, arm=one_line(one.arm), baseline="like A")
    yield f"{against(found)} A, {why(found, needs)}; {counts(found)}"


def _share(share: Share) -> tuple[str, ...]:
    unit = {"acceptance": "tokens", "whole": "tok/s"}.get(share.name, "ms")
    before, after = ("unknown" if v is None else f"{v:.3f}" for v in (share.before, share.after))
    low, high = ("", "") if share.interval is None else map(split_cells.part, share.interval)
    return share.name, split_cells.part(share.log), low, high, before, after, unit


def _phases(one: PhasesMoved) -> Iterator[str]:
    yield (
        f"{one_line(one.arm)} {one_line(one.workload)}: not timed in both; phases by {one.source} "
        f"({one.clock} clock), change of a call in per cent:"
    )
    yield from _aligned([row for phase in one.phases for row in _phase(phase)])
    for warning in one.warnings:
        yield f"  note: {one_line(warning, 600)}"


def _phase(one: PhaseMoved) -> Iterator[tuple[str, ...]]:
    """Yield a row for the middle call and one for the mean: two modes of a phase move the mean alone."""
    yield _moved(one.phase, one, one.of)
    if one.mean is not None:
        yield _moved("", one.mean, "mean")


def _moved(name: str, one: Moved, of: str) -> tuple[str, ...]:
    low, high = ("", "") if one.interval is None else map(split_cells.signed, one.interval)
    return (
        name,
        split_cells.signed(one.change),
        low,
        high,
        f"{one.before_ms:.3f}",
        f"{one.after_ms:.3f}",
        f"ms {of}",
    )


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield name, change, its interval, before, after and unit; every number stands right-aligned in its own column."""
    widths = [max(len(row[i]) for row in rows) for i in range(7)] if rows else []
    for row in rows:
        name, change, low, high, before, after, unit = (
            cell.ljust(w) if i in (0, 6) else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        interval = f"({low} … {high})" if row[2] else " " * (widths[2] + widths[3] + 5)
        yield f"    {name}  {change}  {interval}  {before} -> {after} {unit}".rstrip()
