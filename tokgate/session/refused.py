"""A server argument that SGLang refuses: which key of the rig it is, and what may have been meant."""

from __future__ import annotations

import re

from tokgate.records import StartCause, StartFailure
from tokgate.rig.arguments.lint import known_arguments
from tokgate.rig.models import Rig
from tokgate.rig.nearest import nearest_names

_OPTION = re.compile(r"(?<![\w-])--([A-Za-z][\w-]*)")
_UNKNOWN = "unrecognized arguments"


def named(rig: Rig, arm: str, failure: StartFailure) -> StartFailure:
    """Return the failure with the rig's own name of the refused argument first, and the nearest known one.

    It is as it was where it tells of no argument that the rig gives to this arm.
    """
    name = _refused(rig, arm, failure)
    if name is None:
        return failure
    key = f"server.args.{name}" if name in rig.server.args else f"{arm}: args.{name}"
    known = sorted(frozenset().union(*known_arguments().values()))
    near = nearest_names(name, known) if _UNKNOWN in failure.headline and name not in known else ()
    meant = f"; nearest known name: {near[0]}" if near else ""
    do = f"write {' or '.join(near)} for {name} in the rig" if near else failure.do
    return failure.model_copy(
        update={"headline": f"SGLang refuses {key}{meant} ({failure.headline})", "do": do}
    )


def by_every_server(rig: Rig, arm: str, failure: StartFailure) -> bool:
    """Say whether the refused argument is the server's own, so that every other launch of the rig has it too.

    An arm of its own value for it, or without it, is another line: that one may start.
    """
    name = _refused(rig, arm, failure)
    return name is not None and name in rig.server.args and all(name not in one.args for one in rig.arms)


def _refused(rig: Rig, arm: str, failure: StartFailure) -> str | None:
    if failure.cause is not StartCause.BAD_ARGUMENT:
        return None
    given = {**rig.server.args, **rig.arm(arm).args}
    told = (match[1].replace("-", "_") for match in _OPTION.finditer(failure.headline))
    return next((name for name in told if name in given), None)
