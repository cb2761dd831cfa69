"""The file that debugging patches."""


def run_batch() -> None:
    """Run one batch."""
