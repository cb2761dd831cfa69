"""A program beside a gate: `python vouching.py PERIOD_S COMMAND...` runs COMMAND and tells it, as often, that the gate lives.

The gate's standard input to it ends with the gate, however that ends, and with nothing else: a gate that is stopped (SIGSTOP, Ctrl-Z)
lives, though its own heartbeats do not come. What the gate writes goes on to COMMAND first. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys

ALIVE = b"."


def main(period_s: float, command: list[str]) -> int:
    """Return the command's exit code."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert process.stdin is not None  # noqa: S101
    begun = False  # what the gate has to say comes before any word of ours
    with contextlib.suppress(BrokenPipeError):
        while process.poll() is None:
            piece = ALIVE
            if select.select([0], [], [], period_s if begun else None)[0]:
                piece = os.read(0, 1 << 16)
                if not piece:
                    break
            process.stdin.write(piece)
            process.stdin.flush()
            begun = True
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    return process.wait()


if __name__ == "__main__":
    raise SystemExit(main(float(sys.argv[1]), sys.argv[2:]))
