"""The small rig of tests/fleet with one server over two boxes."""

from __future__ import annotations

from pathlib import Path

from tests.fleet.rig import MORE, write_rig
from tests.fleet.stand import Stand

NCCL = '\n[server.nccl]\nNCCL_ALGO = "Ring"\nNCCL_PROTO = "LL"\n\n[server.args]\n'


def host_toml(stand: Stand) -> str:
    """Return the [host] table: a is node 0, b node 1, each with a box and a folder of its own."""
    a, b = stand.hosts["a"], stand.hosts["b"]
    return (
        f'[host]\ntestinfra = "{stand.address("a")}"\nssh_config = "{stand.ssh_config}"\n{MORE}'
        f'work_dir = "{a.work_dir}"\nenvironment = {{ SIMBOX_STATE = "{a.state}" }}\n'
        f'\n[[host.nodes]]\ntestinfra = "{stand.address("b")}"\nwork_dir = "{b.work_dir}"\n'
        f'environment = {{ SIMBOX_STATE = "{b.state}" }}\n'
    )


def two_nodes(stand: Stand, arms: list[str], *, instrumented: bool = False, tokens: int = 32) -> Path:
    """Write the rig and return its file. `instrumented`: with phases, traces and the NCCL block's proof."""
    path = write_rig(stand.folder, host_toml(stand), arms, tokens=tokens)
    text = path.read_text()
    for old, new in (
        ("count = 8\n", "count = 16\n"),
        ("[server]\n", "[server]\nnodes = 2\n"),
        ("tp_size = 2\n", "tp_size = 4\n"),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    if instrumented:
        text = text.replace('skip = "this rig is about hosts"', 'workloads = ["single"]\ncost_pairs = 6', 1)
        text = text.replace("\n[server.args]\n", NCCL, 1)
    path.write_text(text)
    return path
