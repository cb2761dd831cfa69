"""What a host has that a rig may name. Everything is looked at and nothing is changed there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.hosts.nvidia_smi import ask_nvidia_smi, ask_table
from tokgate.hosts.scripts import source
from tokgate.parsers.model_config import read_model_config
from tokgate.parsers.nvidia_smi_topology import Topology, read_topology
from tokgate.records.inventory import Inventory, ModelSeen, PythonSeen, ServerSeen, TopologyClass
from tokgate.records.record import Unread

_T = TypeVar("_T")
# Running some thirty Pythons on a cold disk, and walking through model folders, each bounded in its script.
LOOK_S = 90.0
# GPU names that say so: then everything measured there says it too.
SIMULATED = "(simulated)"


@dataclass(frozen=True)
class Named:
    """What is known beforehand and looked at first: (path, how it is known)."""

    pythons: tuple[tuple[str, str], ...] = ()
    models: tuple[tuple[str, str], ...] = ()
    look_in: tuple[tuple[str, str], ...] = ()  # further folders with models
    usual: bool = True  # also look for models where they usually lie
    work_dirs: tuple[str, ...] = ()  # the first that may be written is taken


def take_inventory(host: Host, named: Named) -> Inventory:
    """Ask for GPUs, Pythons, models, servers, ports. What could not be had is among the problems.

    HostFault: the host cannot be reached at all.
    """
    problems: list[Unread] = []
    places = host.run_python(
        source("places_seen"), {"work_dirs": named.work_dirs or (host.spec.work_dir,)}, name="places reader"
    )
    servers = tuple(ServerSeen(**one) for one in places["servers"])
    facts = _tried(problems, "the machine", lambda: _facts(host)) or {}
    readout = ask_nvidia_smi(host)
    problems += [Unread(text="GPUs", why=one.what[:500]) for one in readout.problems]
    gpus = tuple(sorted(readout.gpus, key=lambda g: g.index))
    topology = _tried(problems, "the topology", lambda: _topology(host)) if len(gpus) > 1 else None
    links = tuple(sorted(set(_between_gpus(topology)))) if topology else ()
    return Inventory(
        host=host.spec.testinfra,
        hostname=facts.get("host.hostname"),
        os=facts.get("host.os"),
        cores=_whole((facts.get("host.cores") or "").rpartition("usable ")[2]),
        memory_mib=_whole(facts.get("host.memory_mib")),
        gpus=gpus,
        driver=readout.drivers[0] if readout.drivers else None,
        cuda=ask_table(host).cuda if gpus else None,
        topology=_class_of(links, len(gpus)),
        links=links,
        pythons=_pythons(host, named, servers, problems),
        models=_models(host, named, servers, problems),
        servers=servers,
        nccl=places["nccl"],
        free_ports=tuple(places["free_ports"]),
        taken_ports=tuple(places["taken_ports"]),
        work_dir=places["work_dir"],
        work_dir_free_mib=places["free_mib"],
        simulated=any(SIMULATED in (g.name or "") for g in gpus),
        problems=tuple(problems),
    )


def _pythons(
    host: Host, named: Named, servers: Sequence[ServerSeen], problems: list[Unread]
) -> tuple[PythonSeen, ...]:
    asked = [*named.pythons, *((s.python, f"the running server, pid {s.pid}") for s in servers if s.python)]
    told = _tried(problems, "Pythons", lambda: _ask(host, "pythons_seen", {"named": asked}))
    if told is None:
        return ()
    if told["left_out"]:
        problems.append(Unread(text="Pythons", why=f"{told['left_out']} more were not asked"))
    return tuple(
        PythonSeen(
            path=one["path"],
            found_by=one["found_by"],
            version=one.get("version"),
            sglang=one.get("sglang"),
            sglang_at=one.get("at"),
            torch=one.get("torch"),
            accelerator=one.get("on"),
            why=one.get("why"),
        )
        for one in told["pythons"]
    )


def _models(
    host: Host, named: Named, servers: Sequence[ServerSeen], problems: list[Unread]
) -> tuple[ModelSeen, ...]:
    asked = list(named.models)
    for server in servers if named.usual else ():
        by = f"the running server, pid {server.pid}"
        asked += [(path, by) for path in (server.model_path, server.draft_path) if path]
    told = _tried(
        problems,
        "models",
        lambda: _ask(host, "models_seen", {"named": asked, "look_in": named.look_in, "usual": named.usual}),
    )
    if told is None:
        return ()
    problems += [Unread(text=folder[:500], why=why) for folder, why in told["unread"]]
    if told["stopped"]:
        problems.append(Unread(text="models", why="there is more to look through than was looked through"))
    found = ((one, read_model_config(one.pop("config"))) for one in told["models"])
    return tuple(ModelSeen(config=config, **one) for one, config in found if config is not None)


def _ask(host: Host, script: str, argument: object) -> dict[str, Any]:
    answer: dict[str, Any] = host.run_python(
        source(script), argument, timeout_s=LOOK_S, name=script.replace("_seen", " reader")
    )
    return answer


def _facts(host: Host) -> dict[str, str | None]:
    told = host.run_python(source("machine_facts"), {"models": {}, "gpus": False}, name="machine reader")
    facts: dict[str, str | None] = told["facts"]
    return facts


def _topology(host: Host) -> Topology:
    asked = host.run("nvidia-smi topo -m")
    if asked.rc != 0:
        raise HostFault(
            tried="to ask nvidia-smi for the topology",
            found=(asked.stdout + asked.stderr).strip()[:200] or "it said nothing",
            do="run nvidia-smi topo -m by hand",
        )
    return read_topology(asked.stdout)


def _between_gpus(topology: Topology) -> list[str]:
    return [
        link
        for pair, link in topology.links.items()
        if all(end.startswith("GPU") for end in pair.split("-", 1))
    ]


def _class_of(links: Sequence[str], gpus: int) -> TopologyClass:
    if gpus < 2:
        return "none"
    if not links:
        return "unknown"
    # One pair without NVLink is what an all-reduce over all of them waits for.
    return "nvlink" if all(link.startswith("NV") for link in links) else "pcie"


def _tried(problems: list[Unread], what: str, ask: Callable[[], _T]) -> _T | None:
    try:
        return ask()
    except HostFault as fault:
        problems.append(Unread(text=what, why=fault.found[:500]))
        return None


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None
