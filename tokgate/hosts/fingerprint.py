"""Everything known of machine and software, as flat facts that two runs can be compared by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.hosts.debugging_traces import notes_on
from tokgate.hosts.gpu_facts import gpu_facts
from tokgate.hosts.launch_folders import abandoned_launches
from tokgate.hosts.scripts import source
from tokgate.records import Finding, Fingerprint
from tokgate.records.record import Unread
from tokgate.rig.models import Rig

# Reading every file of an installed SGLang takes 1 s from a warm cache (120 MB); a cold disk gets more.
BUDGET_S = 30.0


def fingerprint(host: Host, rig: Rig) -> Fingerprint:
    """Read host, server software, model folders and what earlier debugging may have left behind.

    Never raises: what could not be had is None among the facts and explained in `unread`.
    """
    facts: dict[str, str | None] = {}
    unread: list[Unread] = []
    notes: list[Finding] = []

    def gather(what: str, read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        try:
            answer = read()
        except HostFault as fault:
            unread.append(Unread(text=what, why=fault.found[:500]))
            facts[what] = None
            return {}
        facts.update(answer.get("facts", {}))
        unread.extend(Unread(text=key, why=why) for key, why in answer.get("unread", {}).items())
        return answer

    models = {"model": rig.server.model_path}
    models |= {f"draft.{arm.name}": arm.draft_model_path for arm in rig.arms if arm.draft_model_path}
    machine = gather(
        "host",
        lambda: host.run_python(
            source("machine_facts"), {"models": models, "gpus": rig.gpus.count > 0}, name="machine reader"
        ),
    )
    gather("sglang", lambda: with_servers_python(host, rig, "sglang_facts", {"budget_s": BUDGET_S}))
    library_path = rig.server.environment.get("LD_LIBRARY_PATH", "")
    hooks = gather(
        "startup", lambda: with_servers_python(host, rig, "startup_hooks", {"library_path": library_path})
    )
    if rig.gpus.count > 0:
        gather("gpu", lambda: _about_gpus(host, rig.gpus.count, notes))
    more, notes_found = notes_on(hooks, machine.get("nccl", {}), facts)
    facts.update(more)
    notes.extend((*notes_found, *abandoned_launches(host)))
    return Fingerprint(facts=dict(sorted(facts.items())), notes=tuple(notes), unread=tuple(unread))


def with_servers_python(
    host: Host, rig: Rig, script: str, argument: object, *, launched_with: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Run a host script by the server's own Python, which finds the packages that the server would. HostFault: it cannot.

    `launched_with`: the variables of one launch, for what that very launch finds; None: those of every server for Python.
    """
    if launched_with is not None:
        environment = dict(launched_with)
    else:
        environment = {k: v for k, v in rig.server.environment.items() if k.startswith("PYTHON")}
    # The login's own PYTHONPATH does not reach the server.
    environment.setdefault("PYTHONPATH", "")
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    answer: dict[str, Any] = host.run_python(
        source(script),
        argument,
        timeout_s=BUDGET_S + host.spec.command_timeout_s,
        python=rig.server.python,
        environment=environment,
        isolated=False,
        name=script.replace("_", " ") + " reader",
    )
    return answer


def _about_gpus(host: Host, count: int, notes: list[Finding]) -> dict[str, Any]:
    facts, unread, found = gpu_facts(host, count)
    notes.extend(found)
    return {"facts": facts, "unread": unread}
