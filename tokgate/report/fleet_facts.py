"""Facts about machine and software of several hosts as one fingerprint: what is whose stands in the key."""

from __future__ import annotations

from collections.abc import Mapping

from tokgate.records import Fingerprint
from tokgate.records.record import Unread

OF = "facts are of"


def fingerprint_of(hosts: Mapping[str, Fingerprint | None]) -> Fingerprint | None:
    """Return the first host's facts, and behind them what the others have otherwise, as "gpu8: gpu.driver"; None where nobody looked."""
    known = {host: found for host, found in hosts.items() if found is not None}
    if not known:
        return None
    (name, first), *others = known.items()
    own = {
        f"{host}: {key}": found.facts.get(key)
        for host, found in others
        for key in sorted({*found.facts, *first.facts})
        if found.facts.get(key) != first.facts.get(key)
    }
    return Fingerprint(
        facts={OF: name, **first.facts, **own},
        notes=tuple(
            note.model_copy(update={"what": f"{host}: {note.what}"})
            for host, found in known.items()
            for note in found.notes
        ),
        unread=tuple(
            Unread(text=f"{host}: {unread.text}", why=unread.why)
            for host, found in known.items()
            for unread in found.unread
        ),
    )
