"""The one message of NCCL that spans lines: what may be chosen, as a table.

Its rows carry no speaker, and other ranks' messages may come between them.
"""

from __future__ import annotations

import re

from tokgate.records import Unread

from .nccl_records import NcclMatrix, NcclProcess

_TITLE = "Enabled NCCL Func/Proto/Algo Matrix:"
_HEADER = re.compile(r" *Function +\|(?P<protocols>(?: +\w{1,20})+) *\|(?P<algorithms>(?: +\w{1,20})+) *")
_ROW = re.compile(
    r" *(?P<function>[A-Za-z]{1,30}) +\|(?P<protocols>(?: +[0-9]{1,3})+) *\|(?P<algorithms>(?: +[0-9]{1,3})+) *"
)
_TORN_ROW = re.compile(r" *[A-Za-z]{1,30} +\|[ 0-9|]*")
# Five functions in 2.28; a few more lines for what later versions add and what comes between.
_MAX_LINES = 24


class MatrixReader:
    """Fed with every line that is no message; `finished` gives the tables that were whole enough."""

    def __init__(self) -> None:
        self.unread: list[Unread] = []
        self._done: list[NcclMatrix] = []
        self._open: tuple[int, NcclProcess] | None = None
        self._names: tuple[list[str], list[str]] | None = None
        self._rows: dict[str, tuple[list[int], list[int]]] = {}
        self._lines = 0

    def begins(self, line: int, process: NcclProcess, message: str) -> bool:
        """Take the title line; False where the message is something else."""
        if not message.startswith(_TITLE):
            return False
        self._close()
        self._open = (line, process)
        return True

    def row(self, line: int, text: str) -> None:
        """Take a line that is no message; nothing happens outside a table."""
        if self._open is None:
            return
        self._lines += 1
        if header := _HEADER.fullmatch(text):
            self._names = (header["protocols"].split(), header["algorithms"].split())
        elif row := _ROW.fullmatch(text):
            protocols = [int(cell) for cell in row["protocols"].split()]
            algorithms = [int(cell) for cell in row["algorithms"].split()]
            widths = (len(protocols), len(algorithms))
            if self._names and widths == (len(self._names[0]), len(self._names[1])):
                self._rows[row["function"]] = (protocols, algorithms)
            else:
                self.unread.append(Unread(line=line, text=text[:500], why="a matrix row of another width"))
        elif _TORN_ROW.fullmatch(text):
            self.unread.append(Unread(line=line, text=text[:500], why="a torn matrix row"))
        if self._lines >= _MAX_LINES:
            self._close()

    def finished(self) -> tuple[NcclMatrix, ...]:
        self._close()
        return tuple(self._done)

    def _close(self) -> None:
        if self._open is None:
            return
        line, process = self._open
        if self._names and self._rows:
            protocols, algorithms = self._names
            self._done.append(
                NcclMatrix(
                    process=process,
                    protocols={f: dict(zip(protocols, p, strict=True)) for f, (p, _) in self._rows.items()},
                    algorithms={f: dict(zip(algorithms, a, strict=True)) for f, (_, a) in self._rows.items()},
                    line=line,
                )
            )
        else:
            self.unread.append(Unread(line=line, text=_TITLE, why="a matrix without rows"))
        self._open = self._names = None
        self._rows, self._lines = {}, 0
