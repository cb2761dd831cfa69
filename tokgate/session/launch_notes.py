"""What is known of one launch: launch.json is written anew with everything that is noted."""

from __future__ import annotations

from tokgate.records import Launch, LaunchEvidence

from .run_folder import RunFolder


class LaunchNotes:
    """The evidence of a launch as it grows, so that a session that is killed leaves what was known by then."""

    def __init__(self, folder: RunFolder, launch: Launch) -> None:
        self.folder = folder
        self.evidence = LaunchEvidence(launch=launch)

    def note(self, **found: object) -> None:
        """Add fields of LaunchEvidence, or replace them."""
        self.evidence = self.evidence.model_copy(update=found)
        self.folder.write_launch(self.evidence)

    def add_fault(self, fault: object) -> None:
        self.note(faults=(*self.evidence.faults, str(fault)))

    def add_note(self, words: str) -> None:
        self.note(notes=(*self.evidence.notes, words))
