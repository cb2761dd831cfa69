"""What `tokgate rig init` says: what the host has, what is doubtful, what to run next."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tokgate.cli.rig_init_choosing import described, described_model
from tokgate.errors import UsageError
from tokgate.records.inventory import Inventory, PythonSeen
from tokgate.report import simulated
from tokgate.report.visible import one_line
from tokgate.rig.first.choices import Choices
from tokgate.rig.first.pairing import fit, is_draft, is_target, pairs
from tokgate.rig.first.server import too_large, tp_size
from tokgate.rig.models import Rig
from tokgate.rig.repository import promises_in

_WIDTH = 80
_MOST = 8
_TOPOLOGY = {"nvlink": "NVLink", "pcie": "PCIe", "unknown": "topology not told"}


def what_it_has(seen: Inventory | None, address: str) -> Iterator[str]:
    """Yield what was found, for a person; what could not be had is named."""
    if seen is None:
        yield f"{address} cannot be reached: the rig is written from what you say"
        return
    if seen.simulated:
        yield simulated.banner(seen.hostname or address)
    yield from _row("host", _machine(seen))
    yield from _row("GPUs", _gpus(seen))
    having = [p for p in seen.pythons if p.sglang is not None]
    yield from _row("SGLang", *map(_python, having[:_MOST]), nothing=f"none in {len(seen.pythons)} Pythons")
    found = pairs(seen.models)
    yield from _row(
        "models",
        *(f"{p.target.path}: {described_model(p.target, p)}" for p in found[:_MOST]),
        nothing="none found",
    )
    if len(found) > _MOST:
        yield from _row("", f"and {len(found) - _MOST} more")
    drafts = [m for m in seen.models if is_draft(m)]
    targets = [m for m in seen.models if is_target(m)]
    for draft in drafts[:_MOST]:
        mine = [t for t in targets if fit(draft, t).degree]
        whose = f"of {', '.join(t.path for t in mine[:3])}" if mine else "of no target that is there"
        yield from _row("draft", f"{draft.path}: {whose}")
    for server in seen.servers:
        yield from _row(
            "running",
            f"pid {server.pid} of {server.user or 'an unknown user'} serves {server.model_path or 'a model'}: the gate wants "
            "the machine for itself, stop it before you measure",
        )
    for problem in seen.problems:
        yield from _row("not told", f"{problem.text}: {problem.why}")


def doubts(chosen: Choices) -> Iterator[str]:
    """Yield what was chosen and may not work."""
    told = []
    seen = chosen.inventory
    if chosen.model_seen is None and seen is not None:
        told.append(
            f"{chosen.model.value}: no config.json of a model was found there; SGLang may download it by that name"
        )
    if chosen.model_seen is not None and chosen.model_seen.missing_files:
        told.append(f"{chosen.model.value}: {chosen.model_seen.missing_files} files of weights are missing")
    if not chosen.on_cpu:
        size = tp_size(chosen.gpus.value, chosen.model_seen).value
        large = too_large(chosen.gpus.value, chosen.model_seen, size)
        told += [large] if large is not None else []
    if chosen.draft is not None and chosen.draft_seen is None and seen is not None:
        told.append(f"{chosen.draft.value}: no config.json of a draft was found there")
    if chosen.draft_seen is not None and chosen.model_seen is not None:
        found = fit(chosen.draft_seen, chosen.model_seen)
        if not found.degree:
            told.append(f"the draft is not of this target: {found.words}")
        if not is_draft(chosen.draft_seen):
            told.append(
                f"{chosen.draft.value if chosen.draft else ''}: its config.json names no EAGLE-3 architecture"
            )
    python = (
        next((p for p in seen.pythons if p.path == chosen.python.value), None) if seen is not None else None
    )
    if python is not None and python.why is not None:
        told.append(f"{python.path}: {python.why}")
    elif python is not None and python.sglang is None and chosen.based is None:
        told.append(f"{python.path} finds no SGLang by itself")
    for one in told:
        yield from _row("doubt", one)


def next_steps(rig: Rig, root: Path) -> Iterator[str]:
    """Yield the commands of the first hour that follow."""
    yield ""
    yield "next:"
    yield f"  tokgate rig show {rig.name} --arm {rig.arms[-1].name}"
    yield "      the lines that start the server"
    yield f"  tokgate doctor --rig {rig.name}"
    yield "      what would fail later, found in seconds"
    yield f"  pytest {promises_in(root)} -m eagle3 --rig {rig.name}"
    yield "      the gate; its first run ends with 12, no-baseline"
    yield '  tokgate baseline update reports/latest --why "first baseline"'
    yield "      the next run is compared with it; budgets can be set now"


def nothing_to_run(seen: Inventory | None) -> UsageError:
    """Return the error of a host on which nothing could be measured, with what is missing."""
    missing = ["no GPU"]
    if seen is not None:
        missing[0] += (
            f" ({next((p.why for p in seen.problems if p.text == 'GPUs'), 'nvidia-smi lists none')})"
        )
        having = [p for p in seen.pythons if p.sglang is not None]
        missing.append(
            f"SGLang only for GPUs: {', '.join(f'{p.path} ({p.accelerator or p.torch})' for p in having[:3])}"
            if having
            else f"no SGLang for a CPU in {len(seen.pythons)} Pythons that were asked"
        )
    return UsageError(
        tried="finding something on the host that a gate could measure",
        found="; ".join(one_line(m, 300) for m in missing),
        do='describe the GPUs of a host that is not there yet: --gpus 8x"NVIDIA H200"; name another host: --host '
        "ssh://user@host; name a Python with SGLang: --python PATH; or put nvidia-smi on the path: --path FOLDER",
    )


def _machine(seen: Inventory) -> str:
    words = [seen.hostname or seen.host, seen.os or "system not told"]
    words += [f"{seen.cores} cores"] if seen.cores else []
    words += [f"{seen.memory_mib / 1024:.0f} GiB"] if seen.memory_mib else []
    return ", ".join(words)


def _gpus(seen: Inventory) -> str:
    if not seen.gpus:
        return "none"
    kinds = Counter((g.name or "nameless", g.total_mib) for g in seen.gpus)
    words = [f"{n} x {name}" + (f", {mib / 1024:.0f} GiB" if mib else "") for (name, mib), n in kinds.items()]
    links = f" ({', '.join(seen.links)})" if seen.links else ""
    joined = (
        f", joined by {_TOPOLOGY[seen.topology]}{links}"
        if seen.topology in _TOPOLOGY and len(seen.gpus) > 1
        else ""
    )
    cuda = f", CUDA {seen.cuda}" if seen.cuda else ""
    return f"{'; '.join(words)}{joined}; driver {seen.driver or 'not told'}{cuda}"


def _python(python: PythonSeen) -> str:
    return f"{python.path}: {described(python)} ({python.found_by})"


def _row(head: str, *texts: str, nothing: str = "") -> Iterator[str]:
    for index, text in enumerate(texts or (nothing,)):
        # Paths are never broken: they are there to be copied.
        yield from textwrap.wrap(
            one_line(text, 2000),
            _WIDTH,
            initial_indent=f"{head if not index else '':<9} ",
            subsequent_indent=" " * 10,
            break_long_words=False,
            break_on_hyphens=False,
        )
