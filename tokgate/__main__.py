"""`python -m tokgate`: the same as `tokgate`, with a Python that is named."""

from __future__ import annotations

from tokgate.cli.start import start

if __name__ == "__main__":
    start()
