"""The API key of one start."""

from __future__ import annotations

import secrets

from tokgate.records.redactor import Redactor
from tokgate.rig.models import Rig


def fresh_key(rig: Rig, *redactors: Redactor) -> str | None:
    """Return a key that nobody else has, known to every redactor; None where the rig wants none."""
    if rig.server.api_key == "none":
        return None
    # A first character that is never "-", or argparse takes the key for an option.
    key = f"tg{secrets.token_urlsafe(24)}"
    for redactor in redactors:
        redactor.add(key)
    return key
