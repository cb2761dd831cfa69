"""The server of a first rig: how many GPUs it takes, its arguments, its NCCL block, how long it may take to start."""

from __future__ import annotations

import math
from typing import Any

from tokgate.records.doctor import State
from tokgate.records.inventory import ModelSeen
from tokgate.records.model import ModelConfig
from tokgate.rig.commented import Page
from tokgate.rig.first.choices import Choices, Chosen, Gpus
from tokgate.rig.fit.heads import heads_divide

# Of the GPUs' memory: the weights' share that leaves room for a cache and graphs in a first gate; and more than what
# SGLang leaves for weights by default (0.5.23, server_args.py: mem_fraction_static, some 0.85 to 0.9).
_ROOMY = 0.6
_TOO_MUCH = 0.9
# A cold network disk reads 350 MB/s; SGLang's own graphs and warm-up take some two minutes on top.
_DISK_MB_S = 350
_START_S = 600
# What each variable is; values with which a box of eight GPUs behind PCIe decoded, whose messages are small.
NCCL = {
    "NCCL_PROTO": ("LL", "protocol: LL is made for small messages, as decode's are"),
    "NCCL_ALGO": ("Ring", "algorithm of the all-reduces"),
    "NCCL_P2P_LEVEL": ("SYS", "how far apart GPUs may talk directly; capitals, else ignored"),
    "NCCL_MAX_CTAS": ("16", "most channels, each with blocks of its own on every GPU"),
}
# With protocol LL these change nothing (NCCL 2.30.7 src/init.cc, computeBuffSizes; src/graph/tuning.cc, getNthreads).
_IDLE_NCCL = (
    '# NCCL_BUFFSIZE = "16777216"     # bytes of a buffer of protocol Simple, which LL leaves out; "4M" would be 4 bytes',
    '# NCCL_NTHREADS = "512"          # threads of a block: what LL has anyway',
)
# Why there is no block, above one that is commented out.
_JOINED = (
    "# No [server.nccl]: NVLink joins the GPUs, small all-reduces go through SGLang's own kernels, and NCCL's settings",
    "# would change nothing. With disable_custom_all_reduce = true they would; then for example:",
)
_UNSEEN = (
    "# No [server.nccl]: how the GPUs are joined was not seen. Where NVLink does (`nvidia-smi topo -m`: NV and a number)",
    "# none is wanted. Behind PCIe, with disable_custom_all_reduce = true in [server.args], this served a box of eight:",
)


def tp_size(gpus: Gpus, model: ModelSeen | None) -> Chosen[int]:
    """Choose the fewest GPUs, a power of two, in which the weights leave room; all of them where that is not known."""
    most = gpus.count or 1
    sizes = [2**n for n in range(10) if 2**n <= most]
    sizes = [s for s in sizes if model is None or _divides(model.config, s)] or [1]
    if model is None or not model.weight_bytes or gpus.memory_mib is None:
        return Chosen(sizes[-1], "default", f"of {_many(most)}: the weights' size is not known here")
    mib = model.weight_bytes / 2**20
    fits = next((s for s in sizes if mib <= _ROOMY * s * gpus.memory_mib), sizes[-1])
    told = f"{mib / 1024:.1f} GiB of weights, {gpus.memory_mib / 1024:.0f} GiB a GPU"
    return Chosen(fits, "asked host", told + (f"; the host has {gpus.count}" if fits < gpus.count else ""))


def too_large(gpus: Gpus, model: ModelSeen | None, size: int) -> str | None:
    """Say so where the weights will not go into the GPUs that the server takes."""
    if model is None or gpus.memory_mib is None or not gpus.count:
        return None
    mib = model.weight_bytes / 2**20
    if mib <= _TOO_MUCH * size * gpus.memory_mib:
        return None
    return f"{mib / 1024:.0f} GiB of weights do not go into {size} x {gpus.memory_mib / 1024:.0f} GiB"


def server_table(page: Page, chosen: Choices) -> dict[str, Any]:
    """Return [server] with all below it, and enter the reasons."""
    here = ("server",)
    seen = chosen.model_seen
    start = _start_limit(seen, on_cpu=chosen.on_cpu)
    page.parts.add(here)
    page.above[here] = [
        (
            "The server. Nothing of anybody's shell reaches it but PATH, HOME and the like (`pass_environment`): "
            "what is not written here is not there."
        )
    ]
    version = f", SGLang {chosen.sglang}" if chosen.sglang else ""
    page.beside[*here, "python"] = chosen.python.words + version
    page.beside[*here, "model_path"] = chosen.model.words
    page.beside[*here, "start_timeout_s"] = f"default: {start[1]}"
    page.beside[*here, "silence_timeout_s"] = "default: loading may write nothing for minutes"
    page.beside[*here, "time_limit_s"] = "default: a server is stopped after this, whatever happens"
    page.after[here] = [
        "# The gate replaces --host and --port and adds a key, so that nobody else's requests are measured. To forbid it:",
        '# bind = "as-written"; port = "as-written"; api_key = "none"',
    ]
    table: dict[str, Any] = {
        "python": chosen.python.value,
        "model_path": chosen.model.value,
        "start_timeout_s": start[0],
        "silence_timeout_s": max(300, start[0] // 3),
        "time_limit_s": 7200,
        "args": _args(page, chosen),
    }
    nccl = _nccl(page, chosen, table["args"]["tp_size"])
    if nccl:
        table["nccl"] = nccl
    return table


def _args(page: Page, chosen: Choices) -> dict[str, Any]:
    here = ("server", "args")
    gpus, seen = chosen.gpus.value, chosen.model_seen
    page.above[here] = [
        (
            "In this order on the line: tp_size = 8 becomes `--tp-size 8`, true a bare flag. What belongs to an arm "
            "(speculative_*) is refused here."
        )
    ]
    args: dict[str, Any] = {}
    if chosen.on_cpu:
        args |= {"device": "cpu", "disable_overlap_schedule": True}
        page.beside[*here, "device"] = "asked host: no GPU, and a torch for the CPU"
        page.beside[*here, "disable_overlap_schedule"] = "default: nothing overlaps on a CPU"
    if seen is not None and seen.config.own_code:
        args["trust_remote_code"] = True
        page.beside[*here, "trust_remote_code"] = "asked host: the model brings Python of its own (auto_map)"
    size = Chosen(1, "default") if chosen.on_cpu else tp_size(gpus, seen)
    args |= {"tp_size": size.value, "host": "127.0.0.1", "port": chosen.port.value}
    page.beside[*here, "tp_size"] = size.words
    page.beside[*here, "host"] = "default: loopback"
    page.beside[*here, "port"] = chosen.port.words
    if size.value > 1 and gpus.topology == "pcie":
        args["disable_custom_all_reduce"] = True
        page.beside[*here, "disable_custom_all_reduce"] = (
            f"asked host: {', '.join(gpus.links)} between GPUs, so all goes through NCCL"
        )
    if not chosen.on_cpu:
        page.after[here] = [
            "# mem_fraction_static = 0.85    # SGLang chooses by itself; write it down once it is known to be right"
        ]
    return args


def _nccl(page: Page, chosen: Choices, size: int) -> dict[str, str]:
    """Return the block, and say what it is; of one GPU, or unless the host says that PCIe joins them, there is none."""
    here = ("server", "nccl")
    exported = dict(chosen.inventory.nccl) if chosen.inventory is not None else {}
    if size < 2:
        if not chosen.on_cpu:
            page.after.setdefault(("server", "args"), []).append(
                "# No [server.nccl]: one GPU has nobody to talk to."
            )
        return {}
    if exported:
        page.above[here] = [
            (
                "In front of everything else on the line. A login on the host exports these; the server's environment is "
                'closed, so what is to reach it stands here. `-m "eagle3 or nccl"` measures what they buy.'
            )
        ]
        for name in exported:
            words = NCCL.get(name, ("", "exported there"))[1]
            page.beside[*here, name] = f"asked host: {words}"
        return exported
    if chosen.gpus.value.topology != "pcie":
        # Where nobody saw how the GPUs are joined a block that suits PCIe would slow an NVLink box.
        page.after.setdefault(("server", "args"), []).extend(
            [
                "#",
                *(_JOINED if chosen.gpus.value.topology == "nvlink" else _UNSEEN),
                "# [server.nccl]",
                *(f'# {name} = "{value}"'.ljust(33) + f"# {words}" for name, (value, words) in NCCL.items()),
            ]
        )
        return {}
    page.above[here] = [
        (
            "In front of everything else on the line. A starting point: what served a box of eight GPUs behind PCIe; "
            '`-m "eagle3 or nccl"` measures what it buys here. A start of its own, never timed, shows what NCCL made of it. '
            "Values are texts."
        )
    ]
    for name, (_, words) in NCCL.items():
        page.beside[*here, name] = f"default: {words}"
    page.after[here] = list(_IDLE_NCCL)
    return {name: value for name, (value, _) in NCCL.items()}


def _start_limit(model: ModelSeen | None, *, on_cpu: bool) -> tuple[int, str]:
    if model is None or not model.weight_bytes:
        return _START_S, "the weights' size is not known here"
    megabytes = model.weight_bytes / 1e6
    needed = _START_S + megabytes / _DISK_MB_S
    words = f"{megabytes / 1000:.1f} GB of weights from a cold disk, and graphs"
    return math.ceil((needed if not on_cpu else max(120, needed / 2)) / 60) * 60, words


def _divides(config: ModelConfig, size: int) -> bool:
    return all(remark.state is not State.FAIL for remark in heads_divide(config, size))


def _many(gpus: int) -> str:
    return "1 GPU" if gpus == 1 else f"{gpus} GPUs"
