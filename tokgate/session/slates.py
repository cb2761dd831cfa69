"""The looks of one session at its machine: whether each waits, and what a person is told of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tokgate.hosts.clean_slate import look
from tokgate.hosts.connection import Host
from tokgate.records import CleanSlate, Finding
from tokgate.records.progress import Words
from tokgate.rig.models import Rig
from tokgate.server.port import written_port

from .progress import Progress

_MOST = 160  # characters of what was found: the rest is in the slate's file and in the verdict


class Slates:
    """A look that found the machine unclean has waited as long as it may.

    Those that follow look once and wait no more, until a server of this session has run: its memory comes back late.
    """

    def __init__(
        self, host: Host, rig: Rig, progress: Progress, *, look: Callable[..., CleanSlate] = look
    ) -> None:
        self._host = host
        self._rig = rig
        self._progress = progress
        self._look = look
        self._in_vain = False
        self._waited_for: str | None = None  # as it was told
        self._told = False

    def look(self, when: str, notes: Sequence[Finding] = ()) -> CleanSlate:
        slate = self._look(
            self._host,
            self._rig,
            when=when,
            port=written_port(self._rig),
            ours=frozenset(),
            notes=notes,
            wait=not self._in_vain,
            waiting=self._tell_waiting,
        )
        if not slate.clean and not self._in_vain:
            self._tell_unclean(slate)
        elif slate.clean and self._in_vain:
            self._progress(Words(text="the machine is clean now: it is measured from here on"))
        self._in_vain = not slate.clean
        self._told = self._told and self._in_vain
        return slate

    def is_news(self) -> bool:
        """Say whether nobody has been told of a launch yet that it was not made while the machine is not clean."""
        told, self._told = self._told, True
        return not told

    def server_starts(self) -> None:
        """Whatever it does, it may leave memory behind that is worth waiting for."""
        self._in_vain = False

    def _tell_waiting(self, slate: CleanSlate) -> None:
        self._waited_for = _found(slate)
        most = f"{self._rig.gpus.wait_s:.0f} s at most"
        self._progress(Words(text=f"waiting, {most}, until it is clean: {self._waited_for}"))

    def _tell_unclean(self, slate: CleanSlate) -> None:
        """Tell it when it is known: tests that fail for it come later, and ask for the same next steps."""
        found = _found(slate)
        what = "that is still so" if found == self._waited_for else found
        self._progress(
            Words(
                text=f"nothing is measured while the machine is not clean (Ctrl-C ends the session now): {what}",
                steps=tuple(finding.do for finding in _against(slate)),
            )
        )


def _against(slate: CleanSlate) -> list[Finding]:
    return [finding for finding in slate.findings if finding.severity != "note"]


def _found(slate: CleanSlate) -> str:
    """Return the first thing that stands against measuring, and how many there are besides."""
    first, *others = [finding.what for finding in _against(slate)] or ["nothing is known of why"]
    cut = first if len(first) <= _MOST else f"{first[: _MOST - 1]}…"
    return f"{cut}; and {len(others)} more" if others else cut
