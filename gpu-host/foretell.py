"""What a call of run.sh would do on a GPU host, told at home: its steps, and what each is reckoned to take there.

    python gpu-host/foretell.py [--rig h200] [--time-limit S] JOB [N|NAME…] [-- ARGUMENTS FOR PYTEST]

The arguments are those of run.sh, which tells the same on the host with --dry-run. Reckoned is a machine on which everything
is installed; a fresh one takes FRESH_S more, and COMPILING_S of campaign.py where nobody has left JIT caches.
"""

from __future__ import annotations

import sys
from pathlib import Path

import arguments
from campaign import COMPILING_S, Budget, Campaign
from host_install import Installed
from jobs import steps_of
from ledger import Ledger
from planted import planted_steps
from telling import say

from tokgate.rig.load import load_rig

ROOT = Path(__file__).resolve().parents[1]
FRESH_S = 25.0  # one H200: installing 13 s, writing the 8B pair 9 s (docs/gpu-host.md)


class Here(Installed):
    """This checkout and this Python, as if they were an installation."""

    def __init__(self) -> None:
        super().__init__(ROOT)
        self.checkout = ROOT
        self.serving = ROOT / ".gpu-host-none"  # no server's Python: nothing to compile

    @property
    def python(self) -> Path:
        return Path(sys.executable)


def main() -> None:
    asked = arguments.read(sys.argv[1:])
    rig = load_rig(asked.rig, root=ROOT, overrides=asked.overrides)
    more = ("--rig", asked.rig, *asked.more)
    ledger = Ledger(asked.campaign or f"{rig.name}-{asked.job}", rig.name)
    budget = Budget(0.0, asked.time_limit, clock=lambda: 0.0)
    campaign = Campaign(ROOT / ".gpu-host-none", ledger, rig, Here(), budget, sys.executable)
    if asked.job == "planted":
        ledger.steps = planted_steps(asked.words, rig, more)
    else:
        ledger.steps = steps_of(asked.job, asked.words, rig, more, campaign.fits)
    campaign.foretell()
    say(f"a fresh machine: {FRESH_S:.0f} s more, and {COMPILING_S:.0f} s without JIT caches")


if __name__ == "__main__":
    main()
