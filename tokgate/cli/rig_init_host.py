"""How `tokgate rig init` reaches the host, and what it is asked."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokgate.cli.rig_init_choosing import Asked
from tokgate.cli.rig_init_known import named_paths
from tokgate.errors import HostFault, UsageError
from tokgate.hosts.connection import connect
from tokgate.hosts.inventory import Named, take_inventory
from tokgate.records.inventory import Inventory
from tokgate.rig.first.choices import Based, Chosen
from tokgate.rig.machine import HostSpec
from tokgate.rig.models import Rig
from tokgate.rig.rules.host import host_problem

_WORK_DIRS = ("/tmp/tokgate", "~/.tokgate")  # noqa: S108 - the rig's own default, and where that cannot be written
_PORT = 30000  # SGLang's own default


@dataclass(frozen=True)
class HostGiven:
    """What the command line says of the host; None: nothing."""

    address: str | None
    ssh_config: str | None
    ssh_identity: str | None
    python: str | None
    path: tuple[str, ...]
    work_dir: str | None

    def settings(self, base: Rig | None, based: Based | None) -> tuple[HostSpec, dict[str, Chosen[Any]]]:
        """Return how to reach the host, and the same as the rig's [host] table, as it is to be written.

        `base` None: nothing of the host of another rig is taken over. UsageError: the address is none.
        """
        given = {
            ("testinfra", "--host"): _address(self.address),
            ("ssh_config", "--ssh-config"): _expanded(self.ssh_config),
            ("ssh_identity", "--ssh-identity"): _expanded(self.ssh_identity),
            ("python", "--host-python"): self.python,
            ("path", "--path"): self.path or None,
            ("environment", ""): None,
            ("work_dir", "--work-dir"): self.work_dir,
        }
        table: Mapping[str, Any] = (
            based.data.get("host", {}) if base is not None and based is not None else {}
        )
        chosen: dict[str, Chosen[Any]] = {"testinfra": Chosen("local://", "default", "this machine")}
        spec: dict[str, Any] = {k: getattr(base.host, k) for k in table} if base is not None else {}
        for (key, option), value in given.items():
            if value is not None:
                chosen[key] = Chosen(value, "you", option)
                spec[key] = value
            elif key in table and based is not None:
                chosen[key] = Chosen(table[key], "rig", based.name)
        return HostSpec(**spec), chosen


def on_host(path: str | None, spec: HostSpec) -> str | None:
    """Return a path as the rig is to name it: on this machine absolute, whatever folder it was typed in.

    A name without a folder, of a Python on PATH or of a model on a hub, stays what it is. UsageError: a relative path on another host, where nobody
    knows from which folder.
    """
    if path is None or "/" not in path or path.startswith("/"):
        return path
    here = Path(path).expanduser()
    if spec.testinfra == "local://":
        return os.path.abspath(here) if here.exists() else path  # noqa: PTH100 - a link is named as itself
    if path.startswith((".", "~")):
        raise UsageError(
            tried=f"to name {path} on {spec.testinfra}",
            found="a path that depends on the folder one is in",
            do="write it from / on",
        )
    return path


def look(
    spec: HostSpec, rigs: dict[str, Rig], asked: Asked, look_in: Sequence[str], base: Rig | None
) -> Inventory | None:
    """Ask the host; None where it cannot be reached and its GPUs are described. HostFault: it cannot."""
    pythons, models = named_paths(rigs)
    if look_in:
        # Who names folders wants the models there, and those of the rig to begin with.
        models = named_paths({base.name: base})[1] if base is not None else ()
    given = [(p, word) for p, word in ((asked.model, "--model"), (asked.draft, "--draft")) if p and "/" in p]
    beside = [(posixpath.dirname(p.rstrip("/")), f"beside {word}") for p, word in given if p.startswith("/")]
    named = Named(
        pythons=(*([(asked.python, "--python")] if asked.python else ()), *pythons),
        models=(*given, *models),
        look_in=(
            *((folder, "--look-in") for folder in look_in),
            *(b for b in beside if b[0] not in ("", "/")),
        ),
        usual=not look_in,
        work_dirs=tuple(dict.fromkeys((spec.work_dir, *_WORK_DIRS))),
    )
    try:
        return take_inventory(connect(spec), named)
    except HostFault as fault:
        if asked.gpus is not None:
            return None
        raise HostFault(
            tried=fault.tried,
            found=fault.found,
            do=f"{fault.do}; with `tokgate rig init`: another Python there is --host-python PATH, and a host that is "
            'not there yet is described: --gpus 8x"NVIDIA H200"',
        ) from None


def work_dir_of(seen: Inventory | None) -> Chosen[str]:
    if seen is None or seen.work_dir is None:
        return Chosen(_WORK_DIRS[0], "default", "logs, leases and heartbeats on the host")
    room = f"{(seen.work_dir_free_mib or 0) / 1024:.0f} GiB are free there"
    return Chosen(seen.work_dir, "asked host", f"may be written, {room}")


def port_of(seen: Inventory | None) -> Chosen[int]:
    words = 'as written in no launch: the gate takes a free one (server.port = "free")'
    if seen is None or not seen.free_ports:
        return Chosen(_PORT, "default", words)
    taken = f"; {', '.join(map(str, seen.taken_ports[:3]))} taken" if seen.taken_ports else ""
    return Chosen(seen.free_ports[0], "asked host", f"free there{taken}")


def _address(text: str | None) -> str | None:
    """Read `local`, `ssh://user@host` or what ssh itself takes, `user@host`."""
    if text is None:
        return None
    if text in ("local", "local://"):
        return "local://"
    address = text if "://" in text else f"ssh://{text}"
    problem = host_problem(address)
    if problem is not None:
        raise UsageError(
            tried="reading --host",
            found=problem.found,
            do="write local, or ssh://user@host:port, where user and port may be left out",
        )
    return address


def _expanded(path: str | None) -> str | None:
    return str(Path(path).expanduser().absolute()) if path is not None else None
