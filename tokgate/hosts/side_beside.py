"""What lies beside the package sglang in a checkout: served by each side, or told; a difference that no server would see is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tokgate.errors import SideFault
from tokgate.hosts.connection import Host
from tokgate.hosts.fingerprint import with_servers_python
from tokgate.hosts.scripts.parts.neighbours import STARTUP
from tokgate.rig.models import Rig

# Where the server's Python finds a name, as scripts/import_places.py tells: nowhere, in the checkout itself, or where sglang comes from.
_SERVED = (None, "checkout", "sglang")


class Beside(NamedTuple):
    """`served`: as side_make.py takes it, {"name", "place", "elsewhere"}: whether another one would be found without the side's."""

    served: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()


def beside(host: Host, rig: Rig, told: dict[str, Any], *, tried: str) -> Beside:
    """Decide what a side serves beside sglang. `told`: by side_look.py. SideFault: the change is in what servers import from elsewhere."""
    rows = told.get("beside", [])
    if not rows:
        return Beside()
    names = [row["name"] for row in rows if row["name"] not in STARTUP]
    found = with_servers_python(host, rig, "import_places", {"names": names, "checkout": told["source"]})
    served, notes, lost = [], [], []
    for row in rows:
        name, place = row["name"], f"{told['prefix']}{row['place']}"
        kind, where = (found.get(name) or {}).get("kind"), (found.get(name) or {}).get("where")
        if name in STARTUP:
            why = "Python runs such a file when it starts, whoever starts it: a side has none"
        elif kind in _SERVED:
            served.append({"name": name, "place": row["place"], "elsewhere": kind is not None})
            continue
        else:
            why = f"servers import {name} from {where}"
        if row["differs"] and kind != "standard":
            lost.append(f"{', '.join(row['differs'])}: {why}")
        else:
            same = "what differs in it no server imports" if row["differs"] else "the same on both sides"
            notes.append(f"{place} is not served by the sides ({same}): {why}")
    if lost:
        raise SideFault(
            tried=tried,
            found=f"the change reaches what servers have from elsewhere: {'; '.join(lost)}",
            do="take that one out of the way of server.python (pip uninstall, or server.environment of the rig), so that the checkout's is "
            "imported; or leave those files out of the change",
        )
    if served:
        notes.insert(
            0, f"each side has its own of what lies beside sglang: {_listed([s['place'] for s in served])}"
        )
    return Beside(tuple(served), tuple(notes))


def _listed(names: Sequence[str]) -> str:
    most = 8
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
