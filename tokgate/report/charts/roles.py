"""How launches are told apart in every chart: by colour, by mark, and in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tokgate.records import Role

from .drawing import Mark, Tone

# Of the arms beyond the first, in the order of their launch. The first has a colour of its own, as in the rest of the page.
_FURTHER: tuple[Tone, ...] = ("line-2", "line-3", "line-4", "line-5", "line-6", "line-7")
_MARKS: dict[Role, Mark] = {
    "control": "circle",
    "control-again": "square",
    "arm": "triangle",
    "restart": "diamond",
    "instrumented": "cross",
    "nccl-off": "plus",
    "sweep-control": "ring",
    "sweep": "triangle",
    "nccl-proof": "plus",
    "side": "ring",
    "side-phases": "cross",
    "culprit": "diamond",
}
WORDS: dict[Role, str] = {
    "control": "control before",
    "control-again": "control after",
    "arm": "arm",
    "restart": "restart",
    "instrumented": "with instruments, not counted",
    "nccl-off": "without its NCCL block",
    "sweep": "of the sweep",
    "sweep-control": "control of the sweep",
    "nccl-proof": "proof start",
    "side": "before the change",
    "side-phases": "before the change, with instruments, not counted",
    "culprit": "of the search for the part that costs",
}
CONTROLS: tuple[Role, ...] = ("control", "control-again")


def tones(arms: Iterable[tuple[str, Role]]) -> dict[str, Tone]:
    """Return a colour per arm: `arms` are arm and role of the launches, in their order."""
    pairs = list(arms)
    control = {arm for arm, role in pairs if role in CONTROLS}
    others = [arm for arm in dict.fromkeys(arm for arm, _ in pairs) if arm not in control]
    found: dict[str, Tone] = dict.fromkeys(control, "control")
    palette: tuple[Tone, ...] = ("arm", *_FURTHER)
    for i, arm in enumerate(others):
        found[arm] = palette[i % len(palette)]
    return found


def tone(colours: Mapping[str, Tone], arm: str) -> Tone:
    return colours.get(arm, "soft")


def mark(role: Role) -> Mark:
    return _MARKS[role]
