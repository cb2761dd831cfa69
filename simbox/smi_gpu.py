"""What nvidia-smi knows of each GPU: fields by name, from the ledger and the knobs."""

from __future__ import annotations

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
                uuid=f"GPU-{uuid.uuid5(uuid.NAMESPACE_OID, f'simbox/gpu/{index}')}",
                bus_id=f"00000000:{0x11 + index * 0x10:02X}:00.0",
                heat=ledger.told_heat(box.state, index) or idle,
                used_mib=sum(h.mib for h in here),
                processes=tuple(h for h in here if h.state != "gone"),
                memory_words=words,
                box=box,
            )
        )
    return tuple(listed)


def _memory(mib: Callable[[Gpu], int]) -> Callable[[Gpu], str]:
    return lambda gpu: str(mib(gpu)) if gpu.memory_words is None else gpu.memory_words.strip()


def _active(name: str) -> Callable[[Gpu], str]:
    def told(gpu: Gpu) -> str:
        idle = gpu.heat.utilization == 0 and not gpu.processes
        on = {"sw_thermal_slowdown": gpu.heat.throttled, "gpu_idle": idle}
        return "Active" if on.get(name, False) else "Not Active"

    return told


def _mask(gpu: Gpu) -> str:
    bits = 0x20 if gpu.heat.throttled else 0x1 if _active("gpu_idle")(gpu) == "Active" else 0
    return f"0x{bits:016X}"


def _after_boot(before: str, after: str) -> Callable[[Gpu], str]:
    return lambda gpu: after if gpu.box.scenario.knobs.boots else before


def _width(gpu: Gpu) -> str:
    # After a reboot one riser came back with half its lanes.
    return "8" if gpu.box.scenario.knobs.boots and gpu.index == 6 else "16"


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
    "temperature.memory": ("", lambda _: "N/A"),
    "fan.speed": ("%", lambda _: _UNKNOWN),
    "power.draw": ("W", lambda g: f"{g.heat.watts + g.index * 0.37:.2f}"),
    "power.limit": ("W", _after_boot("600.00", "450.00")),
    "power.max_limit": ("W", lambda _: "600.00"),
    "clocks.current.sm": ("MHz", lambda g: str(g.heat.sm_mhz)),
    "clocks.current.graphics": ("MHz", lambda g: str(g.heat.sm_mhz)),
    "clocks.current.memory": ("MHz", lambda _: str(heats.MEMORY_MHZ)),
    "clocks.max.sm": ("MHz", lambda _: str(heats.MAX_MHZ)),
    "clocks.max.graphics": ("MHz", lambda _: str(heats.MAX_MHZ)),
    "clocks.max.memory": ("MHz", lambda _: str(heats.MEMORY_MHZ)),
    "pcie.link.gen.current": ("", lambda _: "5"),
    "pcie.link.gen.max": ("", lambda _: "5"),
    "pcie.link.width.current": ("", _width),
    "pcie.link.width.max": ("", lambda _: "16"),
    "clocks_event_reasons.active": ("", _mask),
    "clocks_event_reasons.supported": ("", lambda _: "0x00000000000001FF"),
    **{
        f"clocks_event_reasons.{name}": ("", _active(name))
        for name in (
            "gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown",
            "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown", "sync_boost",
        )
    },
}  # fmt: skip
# Other names that the real one takes for the same.
ALIASES = {
    "gpu_name": "name", "gpu_uuid": "uuid", "gpu_bus_id": "pci.bus_id", "gpu_serial": "serial",
    "clocks.sm": "clocks.current.sm", "clocks.mem": "clocks.current.memory", "clocks.gr": "clocks.current.graphics",
    "enforced.power.limit": "power.limit", "vbios": "vbios_version",
} | {name.replace("event", "throttle"): name for name in FIELDS if "event_reasons" in name}  # fmt: skip
