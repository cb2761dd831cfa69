"""Runs one command under a time limit, on the machine where it runs.

stdin: one JSON line (argv, limit_s, stdin_bytes, keep_bytes, environment, path, nonce), then that many bytes
for the command. stdout: whatever noise the login shell makes, then one line `<nonce> {JSON}` with the
lengths, then the bytes of stdout and stderr.

The command gets a session of its own. When it ends, or at the limit, its whole process group goes: a
grandchild that holds the pipe open keeps nobody waiting, and nothing stays behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import IO, Any

# From TERM to KILL, then from KILL to "it cannot be killed" (uninterruptible sleep in a driver).
TERM_GRACE_S = 1.0
KILL_GRACE_S = 1.0
# How long the pipes may take to run dry once every writer in the group is dead. Only a process that
# has left the group can use it up.
DRAIN_S = 0.5


class Collector(threading.Thread):
    """Reads a pipe to its end; keeps the first `keep` bytes and counts the rest."""

    def __init__(self, pipe: IO[bytes], keep: int) -> None:
        super().__init__(daemon=True)
        self.pipe = pipe
        self.keep = keep
        self.pieces: list[bytes] = []
        self.kept = 0
        self.dropped = 0

    def run(self) -> None:
        while True:
            piece = os.read(self.pipe.fileno(), 65536)
            if not piece:
                return
            room = self.keep - self.kept
            if room > 0:
                self.pieces.append(piece[:room])
                self.kept += len(piece[:room])
            self.dropped += max(0, len(piece) - max(0, room))


def feed(pipe: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError):  # the command may not want all of it
        pipe.write(data)
        pipe.close()


def signal_group(leader: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def run(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes, bytes]:
    environment = dict(os.environ)
    environment.update(request.get("environment") or {})
    if request.get("path"):
        environment["PATH"] = os.pathsep.join([*request["path"], environment.get("PATH") or os.defpath])
    started = time.monotonic()
    try:
        child = subprocess.Popen(
            request["argv"],
            stdin=subprocess.PIPE if data else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=environment,
        )
    except OSError as error:
        return {"refused": str(error)}, b"", b""

    def give_up(number: int, _frame: object) -> None:
        signal_group(child.pid, signal.SIGKILL)
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, give_up)

    readers = [Collector(pipe, request["keep_bytes"]) for pipe in (child.stdout, child.stderr) if pipe]
    for reader in readers:
        reader.start()
    if child.stdin is not None:
        threading.Thread(target=feed, args=(child.stdin, data), daemon=True).start()

    ended = threading.Event()

    def watch() -> None:
        # WNOWAIT leaves the zombie in place: while it lies there its number cannot become another
        # process group, so that the signals below can only reach this command's own processes.
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        ended.set()

    threading.Thread(target=watch, daemon=True).start()
    timed_out = not ended.wait(request["limit_s"])
    if timed_out:
        signal_group(child.pid, signal.SIGTERM)
        ended.wait(TERM_GRACE_S)
    seconds = time.monotonic() - started
    signal_group(child.pid, signal.SIGKILL)
    stuck = not ended.wait(KILL_GRACE_S)
    rc = None if stuck else child.wait()
    deadline = time.monotonic() + DRAIN_S
    for reader in readers:
        reader.join(max(0.0, deadline - time.monotonic()))
    out, err = (b"".join(list(reader.pieces)) for reader in readers)
    head = {
        "rc": rc,
        "timed_out": timed_out,
        "stuck": stuck,
        "seconds": seconds,
        "dropped": sum(reader.dropped for reader in readers),
    }
    return head, out, err


def main() -> None:
    request = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read(request["stdin_bytes"])
    head, out, err = run(request, data)
    head["out_bytes"] = len(out)
    head["err_bytes"] = len(err)
    answer = sys.stdout.buffer
    answer.write(b"\n" + request["nonce"].encode() + b" " + json.dumps(head).encode() + b"\n" + out + err)
    answer.flush()
    # Threads may still sit in a read that never ends.
    os._exit(0)


if __name__ == "__main__":
    main()
