"""What one small all-reduce costs, by the NCCL variables a rank was started with.

The tuned box of the incident needs `all_reduce_us`; each variable that is not there as tuned costs what is written
in COSTS (together 37.8 us, which over 122 all-reduces turns 88.8 tok/s into 63). Odd values do what NCCL does with
them: an unknown algorithm or protocol ends the start, an unknown P2P level is ignored without a word, `4M` is 4.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

# Variable -> (tuned value, microseconds lost without it).
COSTS = {
    "NCCL_PROTO": ("LL", 17.0),
    "NCCL_P2P_LEVEL": ("SYS", 12.0),
    "NCCL_ALGO": ("Ring", 4.0),
    "NCCL_MAX_NCHANNELS": ("16", 2.4),
    "NCCL_NTHREADS": ("512", 1.6),
    "NCCL_BUFFSIZE": ("16777216", 0.8),
}
TINY_BUFFER_US = 240.0  # a buffer of a few bytes: every message in crumbs
FEW_CHANNELS_US = 6.0
_ALGOS = ("tree", "ring", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat")
_PROTOS = ("ll", "ll128", "simple")
P2P_LEVELS = ("LOC", "NVL", "PIX", "PXB", "PHB", "SYS")


class NcclRefusesError(Exception):
    """NCCL would not initialise with these variables."""


@dataclass(frozen=True)
class NcclView:
    """How NCCL understood its environment."""

    said: tuple[str, ...]  # "NAME set by environment to VALUE", in NCCL's words and order
    channels: int
    threads: int
    buffer: int
    algo: str  # the one the tuning table leaves for AllReduce
    proto: str
    restricted: bool  # algorithm or protocol were narrowed: NCCL prints its matrix then
    extra_us: float  # what an all-reduce costs above the tuned one


def understand(environment: Mapping[str, str]) -> NcclView:
    """Read NCCL_* as NCCL 2.28 does. NcclRefusesError for what ends its initialisation."""
    extra, said = 0.0, []
    cumem = environment.get("NCCL_CUMEM_ENABLE")
    if cumem is not None:
        said.append(f"NCCL_CUMEM_ENABLE set by environment to {cumem}.")
    level = environment.get("NCCL_P2P_LEVEL")
    if level in P2P_LEVELS or level in ("0", "1", "2", "3", "4", "5"):
        said.append(f"NCCL_P2P_LEVEL set by environment to {level}")
    if level not in ("SYS", "5"):
        extra += COSTS["NCCL_P2P_LEVEL"][1]
    if "NCCL_NVLS_ENABLE" in environment:
        said.append(f"NCCL_NVLS_ENABLE set by environment to {environment['NCCL_NVLS_ENABLE']}.")
    channels = _number(environment.get("NCCL_MAX_NCHANNELS"))
    if channels is not None:
        said.append(f"NCCL_MAX_NCHANNELS set by environment to {channels}.")
        extra += FEW_CHANNELS_US if channels < 8 else 0.0
    extra += COSTS["NCCL_MAX_NCHANNELS"][1] if channels != 16 else 0.0
    buffer = _number(environment.get("NCCL_BUFFSIZE"))
    if buffer is not None:
        said.append(f"NCCL_BUFFSIZE set by environment to {buffer}.")
        extra += TINY_BUFFER_US if buffer < 65536 else 0.0
    extra += COSTS["NCCL_BUFFSIZE"][1] if buffer != 16777216 else 0.0
    threads = _number(environment.get("NCCL_NTHREADS"))
    if threads is not None:
        said.append(f"NCCL_NTHREADS set by environment to {threads}.")
    extra += COSTS["NCCL_NTHREADS"][1] if threads != 512 else 0.0
    proto = _one_of("NCCL_PROTO", environment.get("NCCL_PROTO"), _PROTOS)
    algo = _one_of("NCCL_ALGO", environment.get("NCCL_ALGO"), _ALGOS)
    for name, word in (("NCCL_PROTO", proto), ("NCCL_ALGO", algo)):
        if word is not None:
            said.append(f"{name} set by environment to {environment[name]}")
        if word is None or word.lower() != COSTS[name][0].lower():
            extra += COSTS[name][1]
    return NcclView(
        said=tuple(said),
        channels=min(channels, 64) if channels and channels > 0 else 24,
        threads=threads if threads is not None and 64 <= threads <= 512 and threads % 32 == 0 else 512,
        buffer=buffer if buffer is not None else 4194304,
        algo=algo or "Ring",
        proto=proto or "LL",
        restricted=algo is not None or proto is not None,
        extra_us=extra,
    )


def _number(text: str | None) -> int | None:
    """As strtoll reads it: the digits in front, so that `4M` is 4."""
    found = re.match(r"\s*([+-]?\d+)", text or "")
    return int(found[1]) if found else None


def _one_of(name: str, text: str | None, known: tuple[str, ...]) -> str | None:
    """Return the first word that stays allowed; None: nothing was asked for."""
    if not text:
        return None
    kept = text.split(":")[-1] if ":" in text else text  # allreduce:ring
    without = kept.startswith("^")
    words = [w.strip() for w in kept.removeprefix("^").replace(";", ",").split(",") if w.strip()]
    unknown = [w for w in words if w.lower() not in known]
    if unknown:
        raise NcclRefusesError(f"Invalid value {unknown[0]!r} in {name}={text}")
    left = (
        [k for k in known if k not in [w.lower() for w in words]] if without else [w.lower() for w in words]
    )
    return {"ring": "Ring", "tree": "Tree", "ll": "LL", "ll128": "LL128", "simple": "Simple"}.get(
        left[0], left[0]
    )
