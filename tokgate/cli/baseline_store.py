"""`tokgate baseline update` and `propose`: one way to draw up new baselines, stored at once or written for a review."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from tokgate.cli.against import against
from tokgate.cli.help import Taught, teach
from tokgate.cli.judged import judged
from tokgate.cli.storing import storing
from tokgate.cli.telling import tell
from tokgate.errors import BaselineError, UsageError
from tokgate.report import proposal_md, simulated
from tokgate.report.visible import one_line
from tokgate.rig.load import load_rig, rig_names
from tokgate.rig.models import Rig
from tokgate.session.fleet_stored import parts_of, session_of
from tokgate.session.run_folder import load_run
from tokgate.verdicts.baselines.draft import Draft, Given, Request
from tokgate.verdicts.baselines.load import find, refuse_mixture
from tokgate.verdicts.baselines.lock import writing
from tokgate.verdicts.baselines.patch import patch
from tokgate.verdicts.baselines.save import save_all, written
from tokgate.verdicts.baselines.update import drafts


@click.command(
    "update",
    cls=Taught,
    **teach(
        examples=(
            'tokgate baseline update reports/latest --why "first good run of driver 580"',
            'tokgate baseline update reports/latest --append --why "one more day"',
            'tokgate baseline update reports/A --arm eagle3-2step --replace --why "new drafter"',
        ),
        codes=((0, "stored"), (4, "refused: the error says why, and which option says otherwise")),
        then=("tokgate baseline show mybox", "git diff baselines/"),
    ),
)
@storing
def update(root: Path, /, **asked: Any) -> None:
    """Store what the RUNs (folders below reports/) measured, as one baseline; refused when one of them is invalid.

    A run that ended regressed is stored with --despite-doubts alone. All files are written before the first line.
    """
    with writing(root, _waiting):  # what is added to is what is written over
        _, found, _ = _drawn_up(root, **asked)
        _store(root, found)
    _tell(found, append=asked["append"], stored=True)


@click.command(
    "propose",
    cls=Taught,
    **teach(
        examples=(
            'tokgate baseline propose reports/A reports/B reports/C --why "driver 580, three days"',
            'tokgate baseline propose reports/latest --against origin/main --out /tmp/p --why "…"',
        ),
        codes=((0, "written"), (4, "refused: the error says why, and which option says otherwise")),
        then=("git apply reports/proposals/20260101T120000-mybox/baselines.patch",),
    ),
)
@click.option(
    "--against",
    "revision",
    help="The git revision that limits are compared with; by default where this branch left the default branch.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the proposal goes; a new folder below reports/proposals/ by default.",
)
@click.option("--write", is_flag=True, help="Store it as well, as `update` does.")
@storing
def propose(root: Path, /, revision: str | None, out: Path | None, *, write: bool, **asked: Any) -> None:
    """Write a proposal for a review: a patch of baselines/, and what it does to each number.

    baselines.patch is for `git apply`; proposal.md has metric, before, after, change with its interval, creep, what
    differs of machine and tree, and which limits are loosened in the same change. Nothing is stored without --write.
    """
    with writing(root, _waiting) if write else nullcontext():
        rig, found, request = _drawn_up(root, **asked)
        loose = against(root, revision, rig)
        page = proposal_md.render(rig, found, request, loose)
        diff = "".join(_patch(root, draft) for draft in found if draft.kept is None)
        folder = out if out is not None else _new_folder(root, rig, request)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "baselines.patch").write_text(diff, encoding="utf-8", newline="")
            (folder / "proposal.md").write_text(page, encoding="utf-8", errors="replace")
        except OSError as error:
            raise UsageError(
                tried=f"write the proposal {folder}",
                found=error.strerror or str(error),
                do="name another folder: --out FOLDER",
            ) from error
        if write:
            _store(root, found)
    _tell(found, append=asked["append"], stored=write)
    for one in (*loose.limits, *loose.baselines):
        tell(f"loosened in the same change: {one_line(one)}")
    if loose.revision is not None:
        tell(
            f"limits are compared with {one_line(loose.revision)}{f': {one_line(loose.narrow, 300)}' if loose.narrow else ''}"
        )
    if loose.unknown is not None:
        tell(f"whether a limit is loosened is not known: {one_line(loose.unknown)}")
    tell(f"read  {folder / 'proposal.md'}")
    if not write and diff:
        tell(f"apply git apply {folder / 'baselines.patch'}")


def _drawn_up(
    root: Path,
    *,
    runs: Sequence[Path],
    why: str,
    arm: str | None,
    append: bool,
    replace: bool,
    despite_doubts: bool,
    despite_creep: str | None,
    portable: bool,
    who: str,
) -> tuple[Rig, tuple[Draft, ...], Request]:
    for option, reason in (("--why", why), ("--despite-creep", despite_creep)):
        if reason is not None and not reason.strip():
            raise BaselineError(
                tried="store a baseline without a reason",
                found=f"{option} is empty",
                do=f'say why these numbers are right: {option} "new driver, checked against …"',
            )
    if append and replace:
        raise BaselineError(
            tried="store a baseline with --append and --replace",
            found="the one adds to what is stored, the other takes its place",
            do="leave one of them out",
        )
    given = []
    for part in (part for run in runs for part in parts_of(run)):
        evidence, rig = load_run(part)
        info = evidence.info.model_copy(update={"run_id": session_of(part, evidence)})
        given.append(Given(rig=rig, run=evidence.model_copy(update={"info": info}), judged=judged(part)))
    if not given:
        raise BaselineError(
            tried=f"store {', '.join(map(str, runs))}",
            found="no host of the pool measured to the end",
            do="see the hosts in its report for what each of them lacked",
        )
    given.sort(
        key=lambda one: one.run.info.started_at
    )  # the newest last: its machine and tree are the baseline's
    rig = given[-1].rig
    say_if_simulated(rig)
    _refuse_another_kind(root, rig)
    request = Request(
        who=who,
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        why=why,
        arm=arm,
        append=append,
        replace=replace,
        despite_doubts=despite_doubts,
        despite_creep=despite_creep,
        portable=portable,
    )
    found = drafts(given, lambda identity: find(root, rig.name, identity), request)
    if all(draft.kept is not None for draft in found):
        raise BaselineError(
            tried="raise what is stored",
            found="; ".join(f"{d.new.workload} on {d.new.arm}: {d.kept}" for d in found),
            do="measure more sessions and name all of them: tokgate baseline update RUN RUN … --why …; "
            "or hold later runs to it all the same: --despite-doubts",
        )
    return rig, found, request


def _store(root: Path, found: Sequence[Draft]) -> None:
    # All of them are drawn up before any is written, and written before any is told: nothing is left half done.
    save_all(root, [draft.new for draft in found if draft.kept is None])


def _waiting() -> None:
    click.echo("another command is writing baselines here: waiting for it", err=True)


def _tell(found: Sequence[Draft], *, append: bool, stored: bool) -> None:
    for draft in found:
        where = f"{draft.new.workload} on {draft.new.arm}: {draft.new.name}"
        if draft.kept is not None:
            tell(f"{where} (kept as it was: {one_line(draft.kept, 600)})")
            continue
        word = "replaced" if draft.old is not None and not append else "extended" if draft.old else "new"
        tell(f"{where} ({word if stored else f'would be {word}'})")
        for line in draft.changes():
            tell(f"  {one_line(line)}")
        if draft.phases is not None:
            tell(f"  {one_line(draft.phases)}")
        if draft.thinner is not None:
            tell(f"  {one_line(draft.thinner)}")
        if draft.thin is not None:
            tell(f"  {draft.thin}")
    for doubt in dict.fromkeys(doubt for draft in found for doubt in draft.doubts):
        tell(f"doubt: {one_line(doubt)}")


def _patch(root: Path, draft: Draft) -> str:
    path = root / draft.new.name
    if path.is_symlink():
        raise BaselineError(
            tried=f"propose a change of {path}",
            found="it is a link: of those git keeps where they point to, and a patch has no numbers of it",
            do="store it, which writes through the link: tokgate baseline update …",
        )
    before = None
    if draft.old is not None:
        try:
            before = path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BaselineError(
                tried=f"read {path} for its patch", found=str(error), do="restore it, then propose again"
            ) from error
    return patch(draft.new.name, before, written(draft.new))


def _new_folder(root: Path, rig: Rig, request: Request) -> Path:
    """Return a folder no other proposal has, even one of the same second."""
    stamp = "".join(c for c in request.when[:19] if c not in "-:")
    parent = root / "reports" / "proposals"
    name = f"{stamp}-{rig.name}"
    number = 1
    while (parent / name).exists():
        number += 1
        name = f"{stamp}-{rig.name}-{number}"
    return parent / name


def say_if_simulated(rig: Rig) -> None:
    if rig.simulated:
        tell(simulated.banner(rig.name))


def _refuse_another_kind(root: Path, rig: Rig) -> None:
    """A run's rig may have been overridden: its folder belongs to the rig of that name in this checkout."""
    if rig.name in rig_names(root) and load_rig(rig.name, root=root).simulated != rig.simulated:
        raise BaselineError(
            tried=f"store a run of {rig.name} in baselines/{rig.name}",
            found=f"the run says simulated = {str(rig.simulated).lower()}, rigs/{rig.name}.toml says otherwise",
            do="give the simulated machine a rig of its own name",
        )
    refuse_mixture(root, rig.name, simulated=rig.simulated)
