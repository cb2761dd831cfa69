"""What a launch is one run of: an arm as written, an arm on another side of a change, either with the instruments of its phases.

"eagle3-2step", "eagle3-2step+base", "eagle3-2step+phases", "eagle3-2step+base+phases": no arm has such a name.
"""

from __future__ import annotations

from typing import NamedTuple

from tokgate.records import Launch

PHASES = "+phases"


class Subject(NamedTuple):
    arm: str
    side: str | None = None  # None: the head of a change, or the SGLang that the rig names
    phases: bool = False

    @property
    def text(self) -> str:
        side = f"+{self.side}" if self.side is not None else ""
        return f"{self.arm}{side}{PHASES if self.phases else ''}"


def subject_of(launch: Launch) -> str | None:
    """Return what a launch is one run of; None where it is never repeated."""
    if launch.stands_for_arm:
        return launch.arm
    if launch.role == "instrumented":
        return Subject(launch.arm, phases=True).text
    if launch.role in ("side", "side-phases") and launch.side is not None:
        return Subject(launch.arm, launch.side, phases=launch.carries).text
    return None


def read_subject(text: str) -> Subject:
    """Return the parts of what `subject_of` returned."""
    timed = text.removesuffix(PHASES)
    arm, _, side = timed.partition("+")
    return Subject(arm, side or None, phases=timed != text)


def on_side(arm: str, side: str) -> str:
    """Return the subject of an arm's timed runs on another side than the head."""
    return Subject(arm, side).text
