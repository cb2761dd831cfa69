"""Which of the wanted figures this host's nvidia-smi can stream: asked once, before the stream begins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.parsers.nvidia_smi import read_table
from tokgate.parsers.nvidia_smi_failure import read_failure
from tokgate.parsers.telemetry_lines import GPU_FIELDS

_UNKNOWN_FIELD = re.compile(r'Field "([^"]+)" is not a valid field')


@dataclass(frozen=True)
class Agreed:
    """`fields`: what is kept -> the nvidia-smi field. `index_of`: GPU uuid -> index. `problem`: why there is nothing."""

    fields: Mapping[str, str]
    index_of: Mapping[str, int]
    missing: Mapping[str, str]
    problem: str | None = None


def agree(host: Host, *, timeout_s: float) -> Agreed:
    """Ask with every field; one that the driver does not know is replaced by its older name, or left out."""
    wanted = {name: list(spellings) for name, spellings in GPU_FIELDS.items()}
    missing: dict[str, str] = {}
    while True:
        fields = {name: spellings[0] for name, spellings in wanted.items()}
        asked = ("uuid", *fields.values())
        try:
            answer = host.run(
                "nvidia-smi --query-gpu=%s --format=csv,noheader,nounits",
                ",".join(asked),
                timeout_s=timeout_s,
            )
        except HostFault as fault:
            return Agreed({}, {}, missing, f"{fault.tried}: {fault.found}")
        said = answer.stdout + answer.stderr
        unknown = _UNKNOWN_FIELD.search(said)
        name = next((n for n, f in fields.items() if unknown is not None and f == unknown[1]), None)
        if name is None or name == "gpu":
            break
        wanted[name].pop(0)
        if not wanted[name]:
            del wanted[name]
            missing[name] = f"this driver's nvidia-smi does not know {' or '.join(GPU_FIELDS[name])}"
    if answer.timed_out:
        return Agreed({}, {}, missing, f"nvidia-smi did not answer within {timeout_s:g} s")
    table = read_table(answer.stdout, asked)
    index_of = {
        row["uuid"].text: int(row["index"].number) for row in table.rows if row["index"].number is not None
    }
    if not index_of:
        failure = read_failure(said, answer.rc)
        return Agreed({}, {}, missing, f"nvidia-smi: {failure.text if failure else said.strip()[:500]}")
    return Agreed(fields, index_of, missing)
