"""The GPUs as a gate will look at them, and what its clean slate does not ask: health, driver, links."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tokgate.hosts.gpu_health import judge_health, judge_persistence, xids_in
from tokgate.records import GpuSeen
from tokgate.records.doctor import Remark
from tokgate.rig.models import Rig

from .check import Case, Check, NotLooked, with_gpus, with_several_gpus
from .readings import gpu_settings, gpus, health, server_python
from .slate import remark_of

_GPU = re.compile(r"GPU (\d+)\b")
_VERSION = re.compile(r"(\d+)\.(\d+)")
# How far apart NCCL's P2P levels let two GPUs be; nearest first, as nvidia-smi topo names the paths between them.
_FARTHER = ("NV", "PIX", "PXB", "PHB", "NODE", "SYS")
_LEVELS = {"LOC": -1, "NVL": 0, "PIX": 1, "PXB": 2, "PHB": 3, "SYS": 5}


def present(case: Case) -> Iterator[Remark]:
    seen, _, findings = gpus(case)
    remarks = [remark_of(f) for f in findings]
    if all(f.severity == "note" for f in findings):
        yield Remark.ok(_described(seen))
    yield from remarks


def _described(seen: tuple[GpuSeen, ...]) -> str:
    names = Counter(g.name or "name unknown" for g in seen)
    total = max((g.total_mib or 0 for g in seen), default=0)
    most = max((g.allocated_mib or 0 for g in seen), default=0)
    held = "nothing allocated" if most == 0 else f"at most {most:.0f} MiB allocated"
    return (
        f"{', '.join(f'{count} x {name}' for name, count in names.items())}, {total / 1024:.0f} GiB each, {held}; "
        f"told by {', '.join(sorted({g.source for g in seen}))}"
    )


def alike_together(remarks: Iterable[Remark]) -> Iterator[Remark]:
    """Put those that differ in the GPU alone into one: "GPU 0, 1 …", and "nvidia-smi -i 0,1 …"."""
    rows: dict[tuple[str, ...], tuple[Remark, list[str]]] = {}
    for remark in remarks:
        gpu = _GPU.match(remark.found)
        number = gpu[1] if gpu else ""
        rest, do = (
            remark.found.removeprefix(f"GPU {number}"),
            (remark.do or "").replace(f"-i {number} ", "-i {} "),
        )
        rows.setdefault((remark.state, rest, do), (remark, []))[1].append(number)
    for (_, rest, do), (remark, numbers) in rows.items():
        if len(numbers) == 1:
            yield remark
        else:
            words = {
                "found": f"GPU {', '.join(numbers)}{rest}",
                "do": do.replace("{}", ",".join(numbers)) or None,
            }
            yield remark.model_copy(update=words)


def well(case: Case) -> Iterator[Remark]:
    rows, refused = health(case)
    yield from alike_together(judge_health(rows))
    unasked = [name for name in refused if name.startswith(("ecc.", "retired", "remapped"))]
    if unasked and not case.rig.simulated:
        yield Remark.note(f"this nvidia-smi does not tell {', '.join(unasked)}")


def persistent(case: Case) -> Iterator[Remark]:
    yield from judge_persistence(health(case)[0])


def errors(case: Case) -> Iterator[Remark]:
    if case.rig.simulated:
        yield Remark.note("a simulated machine has no kernel log of its own")
        return
    said = case.host.run("dmesg")
    if said.rc != 0:
        raise NotLooked(
            f"the kernel log may not be read ({said.stderr.strip()[:100] or 'no dmesg'}); as root: dmesg | grep Xid"
        )
    yield from judge_errors(said.stdout)


def judge_errors(log: str) -> Iterator[Remark]:
    found = xids_in(log)
    if found:
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        yield Remark.warn(
            f"the driver has logged errors: {'; '.join(found[-3:])}{more}",
            "look the numbers up in NVIDIA's Xid catalogue; 48, 63, 64, 74, 79, 94 and 95 are of the hardware",
        )
    else:
        yield Remark.ok("no Xid in the kernel log")


def alike(case: Case) -> Iterator[Remark]:
    _, _, notes = gpu_settings(case)
    yield from alike_together(Remark.warn(found.what, found.do) for found in notes)
    if not notes:
        yield Remark.ok("all alike: model, power limit, clocks, PCIe link, ECC")


def driver(case: Case) -> Iterator[Remark]:
    facts, _, _ = gpu_settings(case)
    version = next((v for k, v in facts.items() if k.endswith(".driver_version")), None)
    try:
        built = server_python(case)["torch_cuda"]
    except Exception as error:  # noqa: BLE001 - why is told by sglang.python
        raise NotLooked(
            f"driver {version}; which CUDA torch wants is not known: {str(error).splitlines()[-1][:150]}"
        ) from None
    if case.rig.simulated and built is None:
        yield Remark.note(f"driver {version}, CUDA {facts.get('gpu.cuda')}; a simulated server has no torch")
        return
    yield from judge_driver(version, facts.get("gpu.cuda"), built)


def judge_driver(version: str | None, newest: str | None, built: str | None) -> Iterator[Remark]:
    """`newest`: the CUDA that the driver knows; `built`: that of torch, "none" for a CPU build, None: no torch."""
    if built is None:
        yield Remark.fail(
            "there is no torch in the server's Python",
            "install SGLang with its requirements for server.python",
        )
        return
    if built == "none":
        yield Remark.fail(
            "torch there is a CPU build: it sees no GPU",
            "install the CUDA build of torch that this SGLang asks for",
        )
        return
    has, wants = _VERSION.search(newest or ""), _VERSION.search(built)
    if has is None or wants is None:
        yield Remark.unknown(f"driver {version}, whose CUDA is not told; torch is built for CUDA {built}")
        return
    words = f"driver {version} knows CUDA up to {newest}, torch is built for {built}"
    if int(wants[1]) > int(has[1]):
        yield Remark.fail(words, f"update the driver, or install a torch built for CUDA {has[1]}")
    elif (int(wants[1]), int(wants[2])) > (int(has[1]), int(has[2])):
        yield Remark.note(
            f"{words}: compatible within CUDA {has[1]}, but kernels compiled at start may be refused"
        )
    else:
        yield Remark.ok(words)


def links(case: Case) -> Iterator[Remark]:
    facts, unread, _ = gpu_settings(case)
    found = {
        k.removeprefix("gpu.topology."): v for k, v in facts.items() if k.startswith("gpu.topology.") and v
    }
    if not found:
        raise NotLooked(unread.get("gpu.topology", "nvidia-smi topo said nothing"))
    nodes = {v for k, v in facts.items() if k.endswith(".numa") and v}
    yield from judge_links(case.rig, found, len(nodes))


def judge_links(rig: Rig, found: Mapping[str, str], nodes: int) -> Iterator[Remark]:
    """`found`: "0-1" -> the path between the two, as nvidia-smi topo -m names it."""
    kinds = Counter(found.values())
    farthest = max((_rank(k) for k in kinds), default=0)
    words = f"{len(found)} pairs: {', '.join(f'{kind} {count}' for kind, count in kinds.most_common())}"
    level = rig.server.nccl.get("NCCL_P2P_LEVEL")
    if nodes > 1:
        words += f"; GPUs on {nodes} NUMA nodes"
    if level in _LEVELS and farthest > _LEVELS[level]:
        beyond = sum(n for kind, n in kinds.items() if _rank(kind) > _LEVELS[level])
        yield Remark.warn(
            f"{words}; NCCL_P2P_LEVEL = {level} keeps {beyond} of them from direct access",
            "write SYS, or leave it out, unless that is what is measured",
        )
    elif level is None and "SYS" in kinds:
        yield Remark.note(f"{words}; without NCCL_P2P_LEVEL = SYS NCCL uses no direct access across sockets")
    else:
        yield Remark.ok(words)


def _rank(kind: str) -> int:
    return 0 if kind.startswith("NV") else _FARTHER.index(kind) if kind in _FARTHER else len(_FARTHER) - 1


CHECKS = (
    Check(
        "gpus.clean",
        "whether the GPUs are as the rig says and empty, and who holds them",
        "exit 11: the machine is not clean",
        present,
        limit_s=60.0,
        applies=with_gpus,
    ),
    Check(
        "gpus.health",
        "whether memory errors, throttling or load stand against measuring",
        "windows that are cut or void",
        well,
        limit_s=60.0,
        applies=with_gpus,
    ),
    Check(
        "gpus.persistence",
        "whether the driver stays loaded between servers",
        "starts that differ from each other",
        persistent,
        limit_s=60.0,
        applies=with_gpus,
    ),
    Check(
        "gpus.errors",
        "whether the kernel log has Xid lines",
        "a GPU that falls off the bus",
        errors,
        applies=with_gpus,
    ),
    Check(
        "gpus.alike",
        "whether all GPUs have the same limits, clocks and links",
        "ranks that wait for the slowest",
        alike,
        limit_s=60.0,
        applies=with_gpus,
    ),
    Check(
        "gpus.driver",
        "whether the driver knows the CUDA that torch is built for",
        "a start that sees no GPU, or no kernel image",
        driver,
        limit_s=60.0,
        applies=with_gpus,
    ),
    Check(
        "gpus.links",
        "how the GPUs are connected, and whether NCCL may use it",
        "all-reduce through host memory",
        links,
        limit_s=60.0,
        applies=with_several_gpus,
    ),
)
