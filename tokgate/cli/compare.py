"""`tokgate compare A B`: what two stored runs differ in, and what the change of each arm is made of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from tokgate.cli.telling import tell
from tokgate.errors import UsageError
from tokgate.records import EXIT_CODES, Difference, Outcome
from tokgate.report import figures, simulated, split_cells
from tokgate.report.comparison import Comparison, Given, compare_runs, shared_settings
from tokgate.report.verdict_json import finite
from tokgate.report.visible import one_line
from tokgate.session.run_folder import load_run
from tokgate.stats.decompose import Share
from tokgate.verdicts.split import Split

MOST_FACTS = 20  # in the terminal; --json has them all


@click.command()
@click.argument("run_a", type=click.Path(path_type=Path))
@click.argument("run_b", type=click.Path(path_type=Path))
@click.option("--arm", help="Only this arm; every arm that both runs measured by default.")
@click.option("--workload", help="Only this workload; all that both have by default.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
@click.pass_context
def compare(
    context: click.Context, run_a: Path, run_b: Path, *, arm: str | None, workload: str | None, as_json: bool
) -> None:
    """Compare RUN_B with RUN_A (folders below reports/): what differs first, then the change of each arm.

    Nothing is measured and nothing is judged: it tells, and ends with 0. With 11 where not one number of the two
    could be compared, with 4 where a folder cannot be read or one of the two machines is simulated.
    """
    found = compare_runs(_load(run_a), _load(run_b), arm=arm, workload=workload)
    if as_json:
        tell(json.dumps(finite(found.model_dump(mode="python")), indent=1, allow_nan=False))
    else:
        for line in _lines(found):
            tell(line)
    if not found.changes:
        context.exit(EXIT_CODES[Outcome.INVALID])


def _load(path: Path) -> Given:
    evidence, rig = load_run(path)
    if evidence.info.schema_number != 1:
        raise UsageError(
            tried=f"reading the run folder {path}",
            found=f"run.json has schema_number {evidence.info.schema_number}, this tokgate reads 1",
            do="use the tokgate that wrote it",
        )
    return Given(str(path), evidence, rig)


def _lines(found: Comparison) -> Iterator[str]:
    if found.simulated:
        yield simulated.banner(found.before.rig)
    for letter, run in (("A", found.before), ("B", found.after)):
        yield f"{letter}  {one_line(run.path)}  run {one_line(run.run_id)}, rig {one_line(run.rig)}, {one_line(run.started_at)}"
    yield from _settings(found)
    yield from _facts(found.facts)
    for change in found.changes:
        yield ""
        yield from _change(change)
    if found.not_compared:
        yield ""
    for one in found.not_compared:
        where = one_line(" ".join(p for p in (one.arm, one.workload) if p))
        yield f"not compared: {where}: {one_line(one.why)}"


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
    found = one.split
    if found is not None and found.whole is not None:
        source = f", phases by {one.source} ({one.clock} clock)" if one.source is not None else ""
        yield f"  log shares in per cent{source}:"
        yield from (_share(share) for share in (*found.shares, found.whole))
    for note in split_cells.notes(one):
        yield f"  note: {one_line(note, 600)}"


def _share(share: Share) -> str:
    unit = {"acceptance": "tokens", "whole": "tok/s"}.get(share.name, "ms")
    values = " -> ".join("unknown" if v is None else f"{v:.3f}" for v in (share.before, share.after))
    return f"    {share.name:<11}{split_cells.with_interval(share):>24}   {values} {unit}"
