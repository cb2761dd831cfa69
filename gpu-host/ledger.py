"""What a campaign has done: its steps, and every attempt at one. It travels between calls, and between machines.

Merging two ledgers of one campaign is a union: attempts are told apart by step and time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from telling import give_up

NAME = "ledger.json"
# Exit codes that measured something: what is not among them is tried again by the next call. A program's 1 is its
# own traceback, a gate's is a failure that no verdict explains.
MEASURED = {
    "pytest": (0, 1, 10, 11, 12, 13),
    "tokgate": (0, 10, 11, 12, 13),
    "program": (0, 10, 11, 13),
    "look": (0, 11),
}


@dataclass(frozen=True)
class Step:
    """One command of a campaign.

    `tool`: "pytest"; "tokgate", its self-test; "look", what `tokgate` only looks at; "program", one of this folder. `words`: what
    follows it. `starts`: server starts that it takes, where its tests do not tell.
    """

    name: str
    tool: str
    words: tuple[str, ...]
    starts: int | None = None


@dataclass(frozen=True)
class Attempt:
    """One run of a step. `ended`: "done", or why it does not count; `launches`: the server starts asked for."""

    step: str
    at: str
    ended: str
    exit_code: int | None
    seconds: float
    launches: int
    run: str | None = None  # the run folder's name


@dataclass
class Ledger:
    campaign: str
    rig: str
    steps: tuple[Step, ...] = ()
    attempts: list[Attempt] = field(default_factory=list)

    def done(self, step: str) -> Attempt | None:
        """Return the attempt that settled a step."""
        return next((a for a in self.attempts if a.step == step and a.ended == "done"), None)

    def left(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if self.done(step.name) is None)

    def seconds_a_launch(self, default: float) -> float:
        """Return the dearest launch so far, with its share of what a session spends beside launches."""
        known = [a.seconds / a.launches for a in self.attempts if a.ended == "done" and a.launches]
        return max(known, default=default)

    def merge(self, other: Ledger) -> None:
        """Take over what another copy of this campaign knows. ValueError: it is of another campaign."""
        if (other.campaign, other.rig) != (self.campaign, self.rig):
            raise ValueError(f"{other.campaign} on {other.rig} is not {self.campaign} on {self.rig}")
        if self.steps and other.steps and self.steps != other.steps:
            raise ValueError(f"two plans of {self.campaign}: their steps differ")
        self.steps = self.steps or other.steps
        known = {(a.step, a.at) for a in self.attempts}
        self.attempts += [a for a in other.attempts if (a.step, a.at) not in known]
        self.attempts.sort(key=lambda a: a.at)

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f"{NAME}.new"
        temporary.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        temporary.replace(folder / NAME)


def read(file: Path) -> Ledger | None:
    """Read a ledger; None where there is none. Gives up on one that cannot be read: it is not begun anew unasked."""
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        steps = tuple(Step(s["name"], s["tool"], tuple(s["words"]), s.get("starts")) for s in told["steps"])
        return Ledger(told["campaign"], told["rig"], steps, [Attempt(**a) for a in told["attempts"]])
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        give_up(
            tried=f"read {file}, what this campaign has done",
            found=f"{type(error).__name__}: {error}",
            do="bring back the copy that the last call left, or begin another campaign with --campaign NAME",
        )


def worst(codes: Iterable[int]) -> int:
    """Return the worst of exit codes, in the order of docs/verdicts.md."""
    order = (3, 2, 4, 5, 1, 13, 11, 10, 12, 0)
    return min(codes, key=lambda code: order.index(code) if code in order else -1, default=0)
