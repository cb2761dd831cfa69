"""`python -m tokgate`: the same as `tokgate`, with a Python that is named."""

from __future__ import annotations

from tokgate.cli.main import main

main(prog_name="tokgate")
