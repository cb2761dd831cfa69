"""Read what on a host answers NCCL's questions besides the environment."""

from __future__ import annotations

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.hosts.scripts import source
from tokgate.parsers.nccl_conf import read_conf
from tokgate.records import Unread
from tokgate.records.nccl import NcclConfFile, NcclSources
from tokgate.rig.models import Rig


def nccl_sources(host: Host, rig: Rig) -> NcclSources:
    """Look at NCCL's files and at plugins on the library path, as the rig's server would meet them.

    Never raises: what could not be read is in `unread`.
    """
    written = {**rig.server.nccl, **rig.server.environment}
    argument = {
        "conf_file": written.get("NCCL_CONF_FILE") or None,
        "home": written.get("HOME"),
        "library_path": written.get("LD_LIBRARY_PATH"),
    }
    try:
        answer = host.run_python(
            source("nccl_sources"),
            argument,
            python=rig.server.python,
            environment={"PYTHONDONTWRITEBYTECODE": "1"},
            isolated=False,
            name="reader of NCCL's files",
        )
    except HostFault as fault:
        return NcclSources(unread=(Unread(text="NCCL's files and plugins", why=fault.found[:500]),))
    files = []
    for file in answer["files"]:
        reading = read_conf(file["text"])
        variables = {k: host.redactor.clean(v) for k, v in reading.variables.items()}
        files.append(NcclConfFile(path=file["path"], variables=variables, unread=reading.unread))
    return NcclSources(
        files=tuple(files),
        plugins=tuple(answer["plugins"]),
        unread=tuple(Unread(text=str(what)[:500], why=str(why)[:500]) for what, why in answer["unread"]),
    )
