"""One local subprocess, its input and its output, and never longer than a limit."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess


def exchange(argv: list[str], payload: bytes, limit_s: float) -> tuple[int | None, bytes, bytes]:
    """Run `argv` here with `payload` on stdin.

    Returns (rc, stdout, stderr); rc is None when the limit was reached. OSError: no such program.
    """
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(payload, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return None, *_end(process)
    except BaseException:
        # Ctrl-C above all: the child has a session of its own and did not hear it.
        _end(process)
        raise
    return process.returncode, out, err


def _end(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """End our own child and its group; return what it had written."""
    out = err = b""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            out, err = process.communicate(timeout=1.0)
            break
        except subprocess.TimeoutExpired as still:
            # A grandchild outside the group holds the pipe: what has come so far must do.
            out, err = still.stdout or b"", still.stderr or b""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    process.poll()
    return out, err
