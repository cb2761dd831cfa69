"""What nvidia-smi knows of each GPU: fields by name, from the ledger and the knobs."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from simbox import heat as heats
from simbox import ledger
from simbox.box import Box

RESERVED_MIB = 616
CUDA = "13.0"
_UNKNOWN = "[N/A]"
# Reasons for the clock that is shown -> their bits in the mask (nvml.h, nvmlClocksEventReasons).
_BITS = {
    "gpu_idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
}


@dataclass(frozen=True)
class Gpu:
    """One GPU as the driver shows it."""

    index: int
    uuid: str
    bus_id: str
    heat: heats.Heat
    used_mib: int
    processes: tuple[ledger.Held, ...]  # those nvidia-smi can name
    memory_words: str | None  # said in place of numbers
    box: Box


def gpus(box: Box) -> tuple[Gpu, ...]:
    """Return every GPU that the driver lists."""
    knobs = box.scenario.knobs
    holders = ledger.held(box.state)
    idle = heats.heat(knobs, busy=False, hanging=False, loaded_s=-1.0)
    listed: list[Gpu] = []
    for index in range(knobs.gpus):
        if index == knobs.missing_gpu:
            continue
        here = [h for h in holders if h.holder.gpu == index]
        words = knobs.smi_words if knobs.smi_words and knobs.smi_words_gpu in (-1, index) else None
        listed.append(
            Gpu(
                # The driver numbers what it found.
                index=len(listed),
                uuid=_uuid(index),
                bus_id=f"00000000:{0x11 + index * 0x10:02X}:00.0",
                heat=ledger.told_heat(box.state, index) or idle,
                used_mib=sum(h.mib for h in here),
                processes=tuple(h for h in here if h.state != "gone"),
                memory_words=words,
                box=box,
            )
        )
    return tuple(listed)


@functools.cache
def _uuid(slot: int) -> str:
    return f"GPU-{uuid.uuid5(uuid.NAMESPACE_OID, f'simbox/gpu/{slot}')}"


def _memory(mib: Callable[[Gpu], int]) -> Callable[[Gpu], str]:
    return lambda gpu: str(mib(gpu)) if gpu.memory_words is None else gpu.memory_words.strip()


def _active(name: str) -> Callable[[Gpu], str]:
    def told(gpu: Gpu) -> str:
        idle = gpu.heat.utilization == 0 and not gpu.processes
        on = {
            "sw_thermal_slowdown": gpu.heat.throttled,
            "sw_power_cap": gpu.heat.capped,
            "gpu_idle": idle,
        }
        return "Active" if on.get(name, False) else "Not Active"

    return told


def _mask(gpu: Gpu) -> str:
    bits = sum(bit for name, bit in _BITS.items() if _active(name)(gpu) == "Active")
    return f"0x{bits:016X}"


def _after_boot(before: str, after: str) -> Callable[[Gpu], str]:
    return lambda gpu: after if gpu.box.scenario.knobs.boots else before


def _power_limit(gpu: Gpu) -> str:
    if gpu.index == gpu.box.scenario.knobs.slow_rank:
        return f"{heats.CAPPED_W:.2f}"
    return "450.00" if gpu.box.scenario.knobs.boots else f"{heats.POWER_LIMIT_W:.2f}"


def _width(gpu: Gpu) -> str:
    # After a reboot one riser came back with half its lanes.
    return "8" if gpu.box.scenario.knobs.boots and gpu.index == 6 else "16"


def _fixed(number: int) -> Callable[[Gpu], str]:
    return lambda _: str(number)


def _watts(gpu: Gpu) -> str:
    return f"{gpu.heat.watts + gpu.index * 0.37:.2f}"


def _total(gpu: Gpu) -> int:
    return gpu.box.scenario.knobs.gpu_mib


# Name -> (unit, value as text). "" stands for no unit.
FIELDS: dict[str, tuple[str, Callable[[Gpu], str]]] = {
    "timestamp": ("", lambda _: datetime.now().astimezone().strftime("%Y/%m/%d %H:%M:%S.%f")[:-3]),
    "index": ("", lambda g: str(g.index)),
    "count": ("", lambda g: str(g.box.scenario.knobs.gpus)),
    "name": ("", lambda g: g.box.scenario.knobs.gpu_name),
    "uuid": ("", lambda g: g.uuid),
    "serial": ("", lambda g: f"16500{g.index:08d}"),
    "pci.bus_id": ("", lambda g: g.bus_id),
    "driver_version": ("", lambda g: g.box.scenario.knobs.driver),
    "vbios_version": ("", lambda _: "98.02.6A.00.01"),
    "pstate": ("", lambda g: "P0" if g.processes else "P8"),
    "persistence_mode": ("", _after_boot("Enabled", "Disabled")),
    "compute_mode": ("", lambda _: "Default"),
    "compute_cap": ("", lambda _: "12.0"),
    "mig.mode.current": ("", lambda _: "Disabled"),
    "mig.mode.pending": ("", lambda _: "Disabled"),
    "ecc.mode.current": ("", lambda _: "Enabled"),
    "memory.total": ("MiB", _memory(_total)),
    "memory.reserved": ("MiB", _memory(lambda _: RESERVED_MIB)),
    "memory.used": ("MiB", _memory(lambda g: g.used_mib)),
    "memory.free": ("MiB", _memory(lambda g: max(0, _total(g) - RESERVED_MIB - g.used_mib))),
    "utilization.gpu": ("%", lambda g: str(g.heat.utilization)),
    "utilization.memory": ("%", lambda g: str(g.heat.utilization // 2)),
    "temperature.gpu": ("", lambda g: str(g.heat.celsius)),
    "temperature.gpu.tlimit": ("", lambda g: str(heats.HOT_C - g.heat.celsius)),
    "temperature.memory": ("", lambda _: "N/A"),
    "fan.speed": ("%", lambda _: _UNKNOWN),
    "power.management": ("", lambda _: "Enabled"),
    **{f"power.draw{kind}": ("W", _watts) for kind in ("", ".average", ".instant")},
    "power.limit": ("W", _power_limit),
    "enforced.power.limit": ("W", _power_limit),
    "power.default_limit": ("W", lambda _: f"{heats.POWER_LIMIT_W:.2f}"),
    "power.min_limit": ("W", lambda _: "300.00"),
    "power.max_limit": ("W", lambda _: f"{heats.POWER_LIMIT_W:.2f}"),
    "clocks.current.sm": ("MHz", lambda g: str(g.heat.sm_mhz)),
    "clocks.current.graphics": ("MHz", lambda g: str(g.heat.sm_mhz)),
    "clocks.current.memory": ("MHz", lambda _: str(heats.MEMORY_MHZ)),
    "clocks.current.video": ("MHz", lambda g: str(round(g.heat.sm_mhz * 0.9))),
    "clocks.max.sm": ("MHz", lambda _: str(heats.MAX_MHZ)),
    **{
        f"clocks.{which}.{domain}": ("MHz", _fixed(mhz))
        for which in ("max", "applications", "default_applications")
        for domain, mhz in (("graphics", heats.MAX_MHZ), ("memory", heats.MEMORY_MHZ))
    },
    "pcie.link.gen.current": ("", lambda _: "5"),
    "pcie.link.gen.gpucurrent": ("", lambda _: "5"),
    "pcie.link.gen.max": ("", lambda _: "5"),
    "pcie.link.gen.gpumax": ("", lambda _: "5"),
    "pcie.link.gen.hostmax": ("", lambda _: "5"),
    "pcie.link.width.current": ("", _width),
    "pcie.link.width.max": ("", lambda _: "16"),
    "clocks_event_reasons.active": ("", _mask),
    "clocks_event_reasons.supported": ("", lambda _: "0x00000000000001FF"),
    **{
        f"clocks_event_reasons.{name}": ("", _active(name))
        for name in _BITS
    },
}  # fmt: skip
# Other names that the real one takes for the same.
ALIASES = {
    "gpu_name": "name", "gpu_uuid": "uuid", "gpu_bus_id": "pci.bus_id", "gpu_serial": "serial",
    "clocks.sm": "clocks.current.sm", "clocks.mem": "clocks.current.memory", "clocks.gr": "clocks.current.graphics",
    "clocks.video": "clocks.current.video", "clocks.max.mem": "clocks.max.memory", "clocks.max.gr": "clocks.max.graphics",
    "vbios": "vbios_version",
} | {name.replace("event", "throttle"): name for name in FIELDS if "event_reasons" in name}  # fmt: skip
