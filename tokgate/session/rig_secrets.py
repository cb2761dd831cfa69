"""The secrets that a rig has in writing: known before anything is looked at, so that no file of a run has them."""

from __future__ import annotations

from tokgate.records.redactor import Redactor
from tokgate.rig.models import Rig


def redactor_of(rig: Rig) -> Redactor:
    """Return one that knows the rig's variables and arguments that are secrets by their names."""
    redactor = Redactor()
    redactor.add_named(
        (
            *rig.server.environment.items(),
            *rig.host.environment.items(),
            *rig.server.args.items(),
            *(pair for arm in rig.arms for pair in (*arm.environment.items(), *arm.args.items())),
        )
    )
    return redactor
