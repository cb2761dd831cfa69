"""A folder of tokgate that a server is to load, carried to where the server runs."""

from __future__ import annotations

from pathlib import Path

from tokgate.errors import BenchFault
from tokgate.hosts.connection import Host


def carried(host: Host, root: Path, name: str, there: str, *, tried: str, do: str) -> str:
    """Return the path on the host of `root`/`name`: itself on this machine, a copy in the folder `there` elsewhere.

    BenchFault, with `tried` and `do`: there is no such folder, or it cannot be copied.
    """
    here = root / name
    files = sorted(p for p in here.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    if not files:
        raise BenchFault(tried=tried, found=f"no {name} in {root}", do=do)
    if host.local:
        return str(here)
    for file in files:
        path = f"{there}/{name}/{file.relative_to(here).as_posix()}"
        host.write_file(path, file.read_bytes(), mode=0o644)
    return f"{there}/{name}"
