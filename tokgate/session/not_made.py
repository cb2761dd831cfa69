"""A launch that is not made: why, written down as its evidence, and told in a line."""

from __future__ import annotations

from tokgate.records import Launch, LaunchEvidence, LeftOut, StartFailure
from tokgate.records.progress import LaunchEnded

from .launch_notes import LaunchNotes
from .site import Site


class NotMade:
    def __init__(self, site: Site, launch: Launch) -> None:
        self._site = site
        self._launch = launch
        self._notes = LaunchNotes(site.folder, launch)

    def for_a_shared_cause(self, cause: LaunchEvidence) -> None:
        """`cause` could not start, and this launch would not have either."""
        notes = (f"not tried: {cause.launch.id} failed for a shared cause",)
        self._end(
            f"not tried, for the cause that stopped {cause.launch.id}", failure=cause.failure, notes=notes
        )

    def for_nothing_to_conclude(self, reason: LeftOut, *, is_news: bool) -> None:
        """Nothing could be concluded from it. `is_news`: no other launch was left out for this very reason."""
        self._end(f"{reason.why} (told once)" if is_news else None, left_out=reason)

    def as_it_would_fail(self, failure: StartFailure) -> None:
        """What it would be started from could not be a server."""
        self._end(f"not started: {failure.headline}", failure=failure)

    def _end(self, words: str | None, **found: object) -> None:
        self._notes.note(**found)
        if words is not None:
            self._site.say(f"{self._launch.id}  {words}")
        self._site.progress(LaunchEnded(launch=self._launch.id, seconds=None, started=False))
