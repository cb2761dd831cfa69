"""How `tokgate rig init` comes by an answer: an option, what the host says, a question, or an error that names the option."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click

from tokgate.errors import UsageError
from tokgate.report.visible import one_line
from tokgate.rig.first.choices import Chosen

_GPUS = re.compile(r"\s*(\d{1,3})\s*(?:[xX\u00d7*]\s*(.+?)\s*)?")
_MOST_SHOWN = 12


@dataclass(frozen=True)
class Candidate:
    value: str
    label: str  # what the host says of it
    why: str  # where it was found, for the comment in the rig


@dataclass(frozen=True)
class Asking:
    """`yes`: take the first of several; `interactive`: somebody is there to be asked."""

    yes: bool
    interactive: bool
    say: Callable[[str], None]

    def one_of(
        self, what: str, option: str, found: Sequence[Candidate], *, nothing: str, optional: str | None = None
    ) -> Chosen[str] | None:
        """Return the only one, the first of several with --yes, or what a person answers; None for `optional`.

        UsageError: there is nobody to ask, and none or several. `nothing` says why there is none.
        """
        if not found:
            return self._named(what, option, nothing, optional)
        if len(found) == 1:
            return Chosen(found[0].value, "asked host", found[0].why)
        if self.yes:
            return Chosen(found[0].value, "asked host", f"{found[0].why}; the first of {len(found)}")
        if not self.interactive:
            listed = "".join(f"\n       {one_line(c.value, 200)}" for c in found[:_MOST_SHOWN])
            raise UsageError(
                tried=f"choosing the {what}",
                found=f"{len(found)} are there, and nobody to ask (no terminal):{listed}",
                do=f"name one: {option} …; or take the first: --yes",
            )
        self.say(f"\n{what}:")
        for number, one in enumerate(found[:_MOST_SHOWN], start=1):
            self.say(f"  {number}  {one_line(one.value, 200)}\n     {one_line(one.label, 200)}")
        answer = click.prompt("which", default="1", err=True)
        number = int(answer) if answer.isascii() and answer.isdigit() and len(answer) < 4 else 0
        if 0 < number <= len(found):
            return Chosen(found[number - 1].value, "asked host", f"{found[number - 1].why}; you chose it")
        return None if optional is not None and answer == optional else Chosen(answer, "you", "your answer")

    def _named(self, what: str, option: str, nothing: str, optional: str | None) -> Chosen[str] | None:
        if not self.interactive or self.yes:
            instead = f", or {option} {optional}" if optional is not None else ""
            raise UsageError(tried=f"choosing the {what}", found=nothing, do=f"name one: {option} …{instead}")
        self.say(f"\n{what}: {nothing}")
        answer = click.prompt("which", default=optional, err=True)
        return None if optional is not None and answer == optional else Chosen(answer, "you", "your answer")

    def text(self, what: str, default: Chosen[str]) -> Chosen[str]:
        """Ask for a text that has a sensible default; taken as it is where nobody is there."""
        if not self.interactive or self.yes:
            return default
        answer = click.prompt(what, default=default.value, err=True)
        return default if answer == default.value else Chosen(answer, "you", "your answer")


def somebody_is_there() -> bool:
    """Say whether questions can be asked and answered: both ends are terminals."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def read_gpus(text: str) -> tuple[int, str | None]:
    """Read `8`, or `8x"NVIDIA H200"` as a shell passes it on; quotes that came through it are no part of the name. UsageError."""
    found = _GPUS.fullmatch(text)
    name = (found[2] or "").strip("\"' ") if found is not None else ""
    if found is None or int(found[1]) < 1 or (found[2] and not name) or set(name) & set("\"'"):
        raise UsageError(
            tried="reading --gpus",
            found=repr(text[:80]),
            do='write number and name: --gpus 8x"NVIDIA H200"; without a GPU leave the option out',
        )
    return int(found[1]), name or None
