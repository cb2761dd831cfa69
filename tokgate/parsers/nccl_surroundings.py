"""What NCCL found around it: network, links between ranks, NVLS, a tuner plugin."""

from __future__ import annotations

import re
from collections import Counter

from .nccl_records import NcclProcess

_NETWORK = re.compile(r"Using network (?P<network>[\w ./-]{1,60})")
_LINK = re.compile(
    r"Channel \d{1,6}(?:/\d{1,6})? : \d{1,7}\[\w{1,16}\] -> \d{1,7}\[\w{1,16}\](?: \[\w{1,10}\])? via (?P<kind>[\w/().:-]{1,80})"
)
_NVLS = re.compile(r"NVLS multicast support is (?P<no>not )?available on dev \d")
_TUNER_NAME = re.compile(r"TUNER/Plugin: Using (?P<name>.{1,80}?)(?: \(v\d{1,2}\))?$")
_TUNER_NONE = re.compile(r"TUNER/Plugin: (?:Could not find|.*[Uu]sing internal tuner)")


class SurroundingsReader:
    """Fed with messages; what was found stands in its attributes."""

    def __init__(self) -> None:
        self.networks: dict[str, None] = {}
        self.links: Counter[str] = Counter()
        self.links_of: dict[NcclProcess, Counter[str]] = {}
        self.nvls: bool | None = None
        self.nvls_heads: set[tuple[NcclProcess, str]] = set()
        self.tuner: str | None = None

    def take(self, line: int, process: NcclProcess, message: str) -> bool:
        """Take one message; False where it is about something else."""
        del line
        if match := _NETWORK.fullmatch(message):
            self.networks[match["network"]] = None
        elif match := _LINK.match(message):
            self.links[match["kind"]] += 1
            self.links_of.setdefault(process, Counter())[match["kind"]] += 1
        elif match := _NVLS.match(message):
            self.nvls = not match["no"] and self.nvls is not False
        elif message.startswith("NVLS Head"):
            self.nvls_heads.add((process, message[:60]))
        elif match := _TUNER_NAME.fullmatch(message):
            self.tuner = match["name"]
        elif _TUNER_NONE.match(message):
            self.tuner = self.tuner or "internal"
        else:
            return False
        return True
