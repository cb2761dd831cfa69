"""All checks, in the order in which they are told."""

from __future__ import annotations

from . import (
    arguments,
    client,
    fitting,
    gpus,
    machine,
    models,
    patches,
    reach,
    rooms,
    settings,
    slate,
    software,
    stored,
)
from .check import Check

GROUPS = {
    "rig": "The rig",
    "host": "The host",
    "gpus": "Its GPUs",
    "sglang": "Its SGLang",
    "models": "The models",
    "nccl": "NCCL",
    "baselines": "What is stored",
    "client": "This machine, which measures",
}
CHECKS: tuple[Check, ...] = tuple(
    sorted(
        (
            reach.REACHED,
            *reach.CHECKS,
            *slate.CHECKS,
            *rooms.CHECKS,
            *machine.CHECKS,
            *gpus.CHECKS,
            *software.CHECKS,
            *patches.CHECKS,
            *arguments.CHECKS,
            *models.CHECKS,
            *fitting.CHECKS,
            *settings.CHECKS,
            *stored.CHECKS,
            *client.CHECKS,
            *client.LAST,
        ),
        key=lambda check: list(GROUPS).index(check.name.partition(".")[0]),
    )
)
