"""The head of a first rig: what it is of, how its host is reached, which GPUs it has."""

from __future__ import annotations

from typing import Any

from tokgate.rig.commented import Page
from tokgate.rig.first.choices import Choices

# What a model's folder is often called, and says nothing.
_NAMELESS = ("model", "target", "base", "checkpoint", "weights")


def head(chosen: Choices, date: str) -> list[str]:
    name = chosen.name.value
    where = chosen.host["testinfra"].value
    asked = "described by hand, and not yet seen" if chosen.described else f"asked on {date}"
    return [
        ":schema ./schema.json",
        f"{description(chosen)}.",
        f"Written by `tokgate rig init`; the host {where} was {asked}. Beside each value stands where it came from:",
        "asked host, default, or you; where nothing stands it is a default. All of it may be edited.",
        "",
        *(f"  {command.ljust(len(name) + 36)}  {words}".rstrip() for command, words in _commands(name)),
    ]


def description(chosen: Choices) -> str:
    model = _short(chosen.model.value)
    gpus = chosen.gpus.value
    where = "the CPU" if not gpus.count else f"{gpus.count} x {' / '.join(gpus.names) or 'GPU'}"
    speculation = " with EAGLE-3" if chosen.draft is not None else ""
    return f"{model}{speculation} on {where}"[:200]


def host_table(page: Page, chosen: Choices) -> dict[str, Any]:
    for key, value in chosen.host.items():
        page.beside["host", key] = value.words
    return {key: value.value for key, value in chosen.host.items()}


def gpus_table(page: Page, chosen: Choices) -> dict[str, Any]:
    gpus = chosen.gpus.value
    table: dict[str, Any] = {"count": gpus.count}
    page.beside["gpus", "count"] = chosen.gpus.words
    if not gpus.count:
        return table
    if len(gpus.names) == 1:
        table["model"] = gpus.names[0]
        page.beside["gpus", "model"] = "each GPU's name must contain this"
    elif gpus.names:
        page.after["gpus",] = [
            "# no `model`: the GPUs differ, and together they wait for the slowest; each name is part of every baseline"
        ]
    table["tolerance_mib"] = 0
    page.beside["gpus", "tolerance_mib"] = "default: a clean GPU shows nothing but the driver's own"
    if chosen.simulated:
        table["reader"] = "nvidia-smi"
        page.beside["gpus", "reader"] = "asked host: NVML would show this machine's own"
    table["wait_s"] = 120
    page.beside["gpus", "wait_s"] = "default: for memory to come back, as long as it progresses"
    return table


def _commands(name: str) -> tuple[tuple[str, str], ...]:
    return (
        (f"tokgate rig check {name}", "is this file in order?"),
        (f"tokgate rig show {name} --arm baseline", "the lines that start the server"),
        (f"pytest perf_tests -m eagle3 --rig {name}", "the gate"),
    )


def _short(path: str) -> str:
    """Return the model's name: the folder's, or the repository's of a hub's cache."""
    parts = [p for p in path.split("/") if p]
    for part in parts:
        if part.startswith("models--"):
            return part[len("models--") :].replace("--", "/")
    # A folder that is called "model" says nothing without the one above.
    return "/".join(parts[-2:]) if len(parts) > 1 and parts[-1] in _NAMELESS else parts[-1] if parts else path
