"""What NCCL said under NCCL_DEBUG=INFO: version, settings it took, channels, what it may choose from.

A variable in a process's environment is what was asked for; "set by environment to" is what NCCL read.
Some are never confirmed because they were never taken: an unknown NCCL_P2P_LEVEL is passed over without a
word. Wordings from NCCL 2.30's src/misc/param.cc, src/graph/{paths,tuning}.cc, src/init.cc, src/enqueue.cc.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from tokgate.records import Unread

from .log_prefix import log_lines
from .nccl_matrix import MatrixReader
from .nccl_messages import nccl_messages
from .nccl_records import (
    NcclChannels,
    NcclChoice,
    NcclCommunicator,
    NcclProcess,
    NcclReading,
    NcclRefusal,
    NcclSetting,
    NcclSpeaker,
)
from .nccl_surroundings import SurroundingsReader
from .nccl_threads import ThreadReader

MAX_UNREAD = 200

_SETTING = re.compile(r"(?P<variable>NCCL_[A-Z0-9_]{1,60}) set (?:by environment )?to (?P<value>.{0,1000})")
# NCCL_PARAM prints a number and a full stop; text values are printed as they are.
_NUMBER_AND_STOP = re.compile(r"(-?[0-9]+)\.")
_REFUSED = (
    re.compile(
        r"Invalid value (?P<value>.{0,200}) for (?P<variable>NCCL_[A-Z0-9_]{1,60}), (?P<why>.{1,200})"
    ),
    re.compile(r"Invalid (?P<variable>NCCL_[A-Z0-9_]{1,60}) (?P<value>-?[0-9]{1,18}) (?P<why>\(.{1,200})"),
)
_CHANNELS = re.compile(
    r"(\d{1,6}) coll channels, (?:(\d{1,6}) collnet channels, )?(?:(\d{1,6}) nvls channels, )?"
    r"(\d{1,6}) p2p channels, (\d{1,6}) p2p channels per peer"
)
_VERSION = re.compile(
    r"(?P<who>NCCL version |sglang is using nccl==)(?P<version>\d{1,3}\.\d{1,3}\.[\w.+-]{1,40})"
)
_COMM = re.compile(
    r"comm (?P<address>0x[0-9a-f]{1,16}) rank (?P<rank>\d{1,7}) nRanks (?P<ranks>\d{1,7}) nNodes (?P<nodes>\d{1,7})\b"
)
_INIT = re.compile(
    r"ncclCommInit\w{0,40} comm (?P<address>0x[0-9a-f]{1,16}) rank (?P<rank>\d{1,7}) nranks (?P<ranks>\d{1,7})\b.{0,300}"
    r"Init (?P<state>START|COMPLETE)"
)
# What stands behind the protocol ends it: of a line torn by another writer "LL" might be the beginning of "LL128".
_CHOICE = re.compile(
    r"(?P<function>[A-Za-z]{1,30}): (?P<bytes>\d{1,18}) Bytes -> Algo (?P<algorithm>\w{1,30}) proto (?P<protocol>\w{1,30})"
    r" (?:channel|time)"
)
# What the readers above begin with: a message that starts so and fits none of them is unread, not foreign.
_BEGINNINGS = re.compile(
    r"NCCL_[A-Z0-9_]+ set\b|Invalid (?:value|NCCL_)|\d+ coll channels|comm 0x|ncclCommInit|Using network|"
    r"[A-Za-z]+: \d+ Bytes ->|Channel \d+/\d+ : \d+\["
)


class _CommFacts(NamedTuple):
    rank: int
    ranks: int
    nodes: int | None
    complete: bool


class _Collector:
    """Takes messages one by one; every `_on_…` returns whether the message was its kind."""

    def __init__(self) -> None:
        self.versions: dict[str, None] = {}
        self.sglang_says: str | None = None
        self.settings: list[NcclSetting] = []
        self.refusals: list[NcclRefusal] = []
        self.channels: list[NcclChannels] = []
        self.comms: dict[tuple[NcclProcess, str], _CommFacts] = {}
        self.choices: dict[tuple[str, str, str], tuple[int, int, int]] = {}
        self.spoken: Counter[NcclProcess] = Counter()
        self.threads = ThreadReader()
        self.around = SurroundingsReader()
        self._readers: tuple[Callable[[int, NcclProcess, str], bool], ...] = (
            self._on_setting,
            self._on_refusal,
            self._on_channels,
            self._on_communicator,
            self._on_choice,
            self.threads.take,
            self.around.take,
        )

    def on_version(self, version: str, *, by_nccl: bool) -> None:
        if by_nccl:
            self.versions[version] = None
        else:
            self.sglang_says = version

    def take(self, line: int, process: NcclProcess, message: str) -> bool:
        self.spoken[process] += 1
        return any(reader(line, process, message) for reader in self._readers)

    def _on_setting(self, line: int, process: NcclProcess, message: str) -> bool:
        match = _SETTING.fullmatch(message)
        if match is None:
            return False
        value = match["value"].strip()
        if number := _NUMBER_AND_STOP.fullmatch(value):
            value = number[1]
        self.settings.append(NcclSetting(process=process, variable=match["variable"], value=value, line=line))
        return True

    def _on_refusal(self, line: int, process: NcclProcess, message: str) -> bool:
        for pattern in _REFUSED:
            if match := pattern.fullmatch(message):
                self.refusals.append(NcclRefusal(process=process, line=line, **match.groupdict()))
                return True
        return False

    def _on_channels(self, line: int, process: NcclProcess, message: str) -> bool:
        match = _CHANNELS.fullmatch(message)
        if match is None:
            return False
        coll, collnet, nvls, p2p, per_peer = (int(group or 0) for group in match.groups())
        self.channels.append(
            NcclChannels(
                process=process,
                collective=coll,
                collnet=collnet,
                nvls=nvls,
                p2p=p2p,
                p2p_per_peer=per_peer,
                line=line,
            )
        )
        return True

    def _on_communicator(self, line: int, process: NcclProcess, message: str) -> bool:
        del line
        match = _COMM.match(message) or _INIT.match(message)
        if match is None:
            return False
        parts = match.groupdict()
        key = (process, parts["address"])
        known = self.comms.get(key)
        nodes = parts.get("nodes")
        self.comms[key] = _CommFacts(
            rank=int(parts["rank"]),
            ranks=int(parts["ranks"]),
            nodes=int(nodes) if nodes else known.nodes if known else None,
            complete=parts.get("state") == "COMPLETE" or bool(known and known.complete),
        )
        return True

    def _on_choice(self, line: int, process: NcclProcess, message: str) -> bool:
        del line, process
        match = _CHOICE.match(message)
        if match is None:
            return False
        key, size = (match["function"], match["algorithm"], match["protocol"]), int(match["bytes"])
        calls, smallest, largest = self.choices.get(key, (0, size, size))
        self.choices[key] = (calls + 1, min(smallest, size), max(largest, size))
        return True

    def speakers(self) -> tuple[NcclSpeaker, ...]:
        return tuple(
            NcclSpeaker(process=process, messages=n, links=dict(self.around.links_of.get(process, {})))
            for process, n in self.spoken.items()
        )


def read_nccl(text: str) -> NcclReading:
    """Read a server's log, or NCCL_DEBUG_FILE's content; never raises on odd input."""
    found = _Collector()
    matrix = MatrixReader()
    warnings: list[Unread] = []
    unread: list[Unread] = []
    messages = 0
    for number, line in log_lines(text):
        if match := _VERSION.search(line.text):
            found.on_version(match["version"], by_nccl=match["who"].startswith("NCCL"))
        spoken = nccl_messages(line.text)
        if not spoken:
            matrix.row(number, line.text)
        for message in spoken:
            messages += 1
            if message.level == "WARN":
                warnings.append(Unread(line=number, text=message.text[:500], why="NCCL WARN"))
            elif matrix.begins(number, message.process, message.text):
                continue
            elif not found.take(number, message.process, message.text) and _BEGINNINGS.match(message.text):
                unread.append(Unread(line=number, text=message.text[:500], why="torn, or another wording"))
    unread.extend(matrix.unread)
    return NcclReading(
        versions=tuple(found.versions),
        sglang_says=found.sglang_says,
        settings=tuple(found.settings),
        refusals=tuple(found.refusals),
        channels=tuple(found.channels),
        matrices=matrix.finished(),
        threads=found.threads.finished(),
        communicators=tuple(
            NcclCommunicator(process=process, address=address, **facts._asdict())
            for (process, address), facts in found.comms.items()
        ),
        speakers=found.speakers(),
        choices=tuple(
            NcclChoice(
                function=function,
                algorithm=algorithm,
                protocol=protocol,
                calls=n,
                smallest_bytes=low,
                largest_bytes=high,
            )
            for (function, algorithm, protocol), (n, low, high) in found.choices.items()
        ),
        networks=tuple(found.around.networks),
        links=dict(found.around.links),
        nvls=found.around.nvls,
        nvls_heads=len(found.around.nvls_heads),
        tuner=found.around.tuner,
        warnings=tuple(warnings[:MAX_UNREAD]),
        messages=messages,
        unread=tuple(unread[:MAX_UNREAD]),
    )
