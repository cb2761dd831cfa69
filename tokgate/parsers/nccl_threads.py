"""NCCL's tuning tables as far as they tell thread counts: three lines a table, each with its speaker.

    Algorithm   |   Tree   |   Ring   |  CollNetDirect  |
    Protocol    |  LL | LL128 | Simple |  LL | LL128 | Simple |  LL | LL128 | Simple |
    Max NThreads |  512 |  640 |  512 |  512 |  640 |  512 |    0 |    0 |  640 |

The seven algorithms come three to a table (NCCL 2.28, src/graph/tuning.cc); latencies and bandwidths follow, which
nothing here needs.
"""

from __future__ import annotations

import re

from .nccl_records import NcclProcess, NcclThreads

_ROW = re.compile(r" *(?P<title>Algorithm|Protocol|Max NThreads) *\|(?P<cells>[\w |]{1,1000})\|?")


class ThreadReader:
    """Fed with messages; a table whose three lines do not fit together is dropped."""

    def __init__(self) -> None:
        self._heads: dict[NcclProcess, dict[str, list[str]]] = {}
        self._found: dict[NcclProcess, tuple[int, dict[str, int]]] = {}

    def take(self, line: int, process: NcclProcess, message: str) -> bool:
        """Take one message; False where it belongs to no such table."""
        row = _ROW.fullmatch(message.rstrip())
        if row is None:
            return False
        cells = [cell.strip() for cell in row["cells"].split("|") if cell.strip()]
        head = self._heads.setdefault(process, {})
        if row["title"] != "Max NThreads":
            head[row["title"]] = cells
            return True
        names = _pairs(head.pop("Algorithm", []), head.pop("Protocol", []))
        if names and len(names) == len(cells) and all(cell.isdigit() and len(cell) < 10 for cell in cells):
            first, most = self._found.get(process, (line, {}))
            self._found[process] = (
                first,
                {**dict(zip(names, (int(cell) for cell in cells), strict=True)), **most},
            )
        return True

    def finished(self) -> tuple[NcclThreads, ...]:
        return tuple(
            NcclThreads(process=process, most=most, line=line)
            for process, (line, most) in self._found.items()
        )


def _pairs(algorithms: list[str], protocols: list[str]) -> list[str]:
    if not algorithms or len(protocols) % len(algorithms):
        return []
    each = len(protocols) // len(algorithms)
    return [f"{algorithms[number // each]}/{protocol}" for number, protocol in enumerate(protocols)]
