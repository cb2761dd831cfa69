"""The watching program on the host (scripts/telemetry.py) and the thread here that stamps what it says."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tokgate.hosts.telemetry_rows import RowKeeper
from tokgate.parsers.telemetry_lines import read_line

# An answer about many GPUs is a few hundred bytes each.
LONGEST_LINE = 1024 * 1024
_SAID = 500


class StreamWatch:
    """Owns the local process (the program itself, or the ssh that leads to it) and one thread.

    The program ends with its standard input, so it ends with this process too, however that ends.
    """

    def __init__(
        self,
        argv: Sequence[str],
        program: str,
        order: Mapping[str, Any],
        keeper: RowKeeper,
        *,
        fields: Mapping[str, str],
        index_of: Mapping[str, int],
    ) -> None:
        """Start it. OSError: there is no such program on this machine."""
        self._keeper = keeper
        self._fields = fields
        self._index_of = index_of
        self._ending = False
        self.cpu_s: float | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in end()
        try:
            # A session of its own: Ctrl-C in the gate's terminal is the gate's to handle.
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
            )
        except OSError:
            self._errors.close()
            raise
        with contextlib.suppress(BrokenPipeError):
            self._stdin.write(program.encode() + json.dumps(order).encode() + b"\n")
            self._stdin.flush()
        self._thread = threading.Thread(target=self._listen, daemon=True, name="tokgate-telemetry")
        self._thread.start()

    @property
    def _stdin(self) -> Any:
        return self._process.stdin

    def _listen(self) -> None:
        stdout: Any = self._process.stdout
        while raw := stdout.readline(LONGEST_LINE):
            at_ns = time.monotonic_ns()
            line = read_line(raw, at_ns, fields=self._fields, index_of=self._index_of)
            if line.row is not None:
                self._keeper.keep(line.row)
            self._keeper.lacks(line.missing)
            self._keeper.odd(line.unread)
            if line.ended is not None:
                self._keeper.problem(line.ended)
                # Whichever stream it was, the other one may still bring its first row.
                self._keeper.give_up("gpus")
            if line.problem is not None:
                self._keeper.problem(line.problem)
            if line.cpu_s is not None:
                self.cpu_s = line.cpu_s
        if not self._ending:
            self._keeper.problem(f"the watching program ended by itself: {self._said() or 'it said nothing'}")
        self._keeper.give_up("gpus")
        self._keeper.give_up("host")

    def end(self, limit_s: float) -> None:
        """End it; a program that does not end is killed, and what it leaves on its host ends with its pipe."""
        self._ending = True
        with contextlib.suppress(OSError):
            self._stdin.close()
        self._thread.join(limit_s)
        if self._thread.is_alive():
            self._keeper.problem(f"the watching program did not end within {limit_s:g} s and was killed")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._thread.join(limit_s)
        if self._process.stdout is not None and not self._thread.is_alive():
            self._process.stdout.close()
        self._errors.close()

    def _said(self) -> str:
        with contextlib.suppress(OSError, ValueError):
            size = self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, size - _SAID))
            return self._errors.read().decode("utf-8", "backslashreplace").strip()
        return ""
