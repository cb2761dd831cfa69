"""nccl.conf and ~/.nccl.conf as NCCL reads them (2.30.7 src/misc/param.cc, setEnvFile)."""

from __future__ import annotations

import re
from typing import NamedTuple

from tokgate.records import Unread

from .foreign_json import writable

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHOWN = 200
_MOST_LINES = 10_000
_LONGEST = 1023  # NCCL copies no more of a name or a value


class ConfReading(NamedTuple):
    variables: dict[str, str]  # the first line that names one counts: the file does not overwrite
    unread: tuple[Unread, ...]  # lines that set nothing, or not what they seem to


def read_conf(text: str) -> ConfReading:
    """Return what the file sets where the environment has not set it before.

    A line is NAME=VALUE, `#` in its first column makes it a remark; blanks, quotation marks and a remark
    behind the value belong to the value. Never raises.
    """
    found: dict[str, str] = {}
    unread: list[Unread] = []
    for number, line in enumerate(writable(text).split("\n")[:_MOST_LINES], start=1):
        bare = line.removesuffix("\r")
        name, equals, value = bare.partition("=")
        if bare.startswith("#") or not bare.strip():
            continue
        if not equals:
            unread.append(Unread(line=number, text=bare[:_SHOWN], why="no = in it: NCCL passes over it"))
        elif not _NAME.fullmatch(name):
            why = "NCCL sets a variable of exactly this name, blanks and all, which nobody reads"
            unread.append(Unread(line=number, text=bare[:_SHOWN], why=why))
        elif name in found:
            why = "an earlier line of the file sets it: this one counts for nothing"
            unread.append(Unread(line=number, text=bare[:_SHOWN], why=why))
        else:
            found[name[:_LONGEST]] = value[:_LONGEST]
    return ConfReading(found, tuple(unread))
