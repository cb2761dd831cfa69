"""Run a job's campaign as far as this call's time goes, and leave what is worth bringing back.

Called by driver.py, under the gate's own Python.
"""

from __future__ import annotations

import re
import shutil
import sys

import arguments
import ledger
import packing
from arguments import BUNDLE, Asked
from campaign import Budget, Campaign
from host_install import Installed
from jobs import steps_of
from ledger import Ledger
from planted import planted_steps, prepare
from telling import give_up, say

from tokgate.errors import UsageError
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig


def main() -> int:
    asked = arguments.read(sys.argv[1:])
    place = Installed(asked.into)
    try:
        rig = load_rig(asked.rig, root=place.checkout, overrides=asked.overrides)
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        return 4
    # A name that is one on any file system, of what brings files back, too.
    name = re.sub(r"[^\w.-]+", "-", asked.campaign or "-".join([rig.name, asked.job, *asked.words]))
    folder = place.campaigns / name
    known = so_far(name, asked, place, rig)
    serving = place.server_python
    budget = Budget(asked.began, asked.time_limit)
    campaign = Campaign(
        folder, known, rig, place, budget, str(serving if serving.exists() else sys.executable)
    )
    more = ("--rig", asked.rig, *asked.more)
    if not known.steps and asked.job == "planted":
        known.steps = planted_steps(asked.words, rig, more)
    elif not known.steps:
        known.steps = steps_of(asked.job, asked.words, rig, more, campaign.fits)
    if asked.dry_run:
        campaign.foretell()
        return 0
    known.write(folder)
    say(
        f"campaign {name}: {len(known.steps) - len(known.left())} of {len(known.steps)} steps were done before"
    )
    if not known.left():
        say("nothing is left to do; --campaign NAME begins another")
    try:
        prepare(known.left(), place, rig)
        code = campaign.run()
        if asked.store and not known.left():
            campaign.store_baselines(f"{len(known.steps)} sessions of run.sh {asked.job}")
    finally:
        leave(campaign, asked)
    return code


def so_far(name: str, asked: Asked, place: Installed, rig: Rig) -> Ledger:
    """Return what is known of a campaign: here, from what came with the bundle, and from what lies in --out."""
    known = ledger.read(place.campaigns / name / ledger.NAME) or Ledger(name, rig.name)
    for file in (BUNDLE / "ledgers" / f"{name}.json", asked.out / f"{name}-{ledger.NAME}"):
        if (other := ledger.read(file)) is None:
            continue
        try:
            known.merge(other)
        except ValueError as error:
            give_up(
                tried=f"go on with {name}, with what {file} says of it",
                found=str(error),
                do="give this campaign another name (--campaign NAME), or take that file away",
            )
    return known


def leave(campaign: Campaign, asked: Asked) -> None:
    """Pack the campaign's folder, its ledger and the JIT caches into --out."""
    name = campaign.ledger.campaign
    pieces = packing.pack(
        campaign.folder, asked.out, name, file_mib=asked.file_mib, total_mib=asked.total_mib
    )
    shutil.copyfile(campaign.folder / ledger.NAME, asked.out / f"{name}-{ledger.NAME}")
    if asked.caches and campaign.place.caches.is_dir():
        packing.pack_caches(campaign.place.caches, asked.out)
    total = sum(piece.stat().st_size for piece in pieces) / 2**20
    say(f"left in {asked.out}: {', '.join(piece.name for piece in pieces)}, {total:.1f} MiB")


if __name__ == "__main__":
    raise SystemExit(main())
