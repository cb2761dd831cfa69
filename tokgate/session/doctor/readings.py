"""What several checks look at, read once each: the same lookers that a gate uses."""

from __future__ import annotations

from typing import Any

from tokgate.errors import HostFault, HostLost
from tokgate.hosts.fingerprint import fingerprint, with_servers_python
from tokgate.hosts.gpu_facts import gpu_facts
from tokgate.hosts.gpu_health import read_health
from tokgate.hosts.gpu_rows import Row
from tokgate.hosts.gpus import Look, look_at_gpus
from tokgate.hosts.lease import LeaseHolder, holder_of
from tokgate.hosts.model_folders import model_folders
from tokgate.hosts.processes import processes
from tokgate.hosts.scripts import source
from tokgate.records import Finding, Fingerprint, ProcessSeen
from tokgate.records.model import ModelFolder
from tokgate.records.nccl import NcclLintReport
from tokgate.session.nccl_settings import judge_nccl

from .check import Case, NotLooked

MODEL = "model"
WORK_FOLDERS = ("launches", "lease")  # below host.work_dir
# Of all files of SGLang, for names of variables: some 30 MB.
_SEARCH_S = 10.0
_VERSION = "import sys\ndef main(_):\n    return f'{sys.version.split()[0]} {sys.executable}'\n"
# Not -1 as a count of GPUs, but none that a host can have: gpu_facts remembers the host's GPUs on it, and a doctor writes nothing there.
_REMEMBER_NOTHING = -1


def machine(case: Case) -> dict[str, Any]:
    """Return the answer of scripts/machine_state.py."""
    written = case.rig.server.environment.get("HOME")
    work = case.rig.host.work_dir.rstrip("/")
    folders = {"work_dir": work, "home": written or "~"} | {name: f"{work}/{name}" for name in WORK_FOLDERS}

    def read() -> dict[str, Any]:
        found: dict[str, Any] = case.host.run_python(
            source("machine_state"), {"folders": folders}, name="reader of the machine's state"
        )
        return found

    return case.once("machine", read)


def told(case: Case, key: str) -> Any:
    """Return one figure of `machine`. NotLooked: it could not be had."""
    found = machine(case)
    if found.get(key) is None and key in found["unread"]:
        raise NotLooked(str(found["unread"][key]))
    return found.get(key)


def table(case: Case) -> tuple[ProcessSeen, ...]:
    return case.once("table", lambda: processes(case.host))


def lease_holder(case: Case) -> LeaseHolder | None:
    return case.once("lease", lambda: holder_of(case.host))


def gpus(case: Case) -> Look:
    """Return what a gate's clean slate sees of the GPUs, at once and with every clue."""
    return case.once(
        "gpus",
        lambda: look_at_gpus(case.host, case.rig.gpus, read_table=lambda _: table(case), clues=True),
    )


def _answering(case: Case) -> None:
    """NotLooked where the look at the GPUs has shown that nothing more can be asked of them."""
    seen, _, findings = gpus(case)
    if not seen:
        raise NotLooked(findings[0].what if findings else "no GPU is listed")


def health(case: Case) -> tuple[tuple[Row, ...], list[str]]:
    _answering(case)
    return case.once("health", lambda: read_health(case.host))


def gpu_settings(case: Case) -> tuple[dict[str, str | None], dict[str, str], tuple[Finding, ...]]:
    """Return hosts.gpu_facts: facts, why some are None, and notes."""
    _answering(case)
    return case.once("gpu facts", lambda: gpu_facts(case.host, _REMEMBER_NOTHING))


def server_version(case: Case) -> str:
    """Return which Python server.python is. HostFault: it does not start."""
    rig = case.rig
    return case.once(
        "server version",
        lambda: str(
            case.host.run_python(_VERSION, python=rig.server.python, name="question to server.python")
        ),
    )


def _server_starts(case: Case) -> None:
    try:
        server_version(case)
    except HostLost:
        raise
    except HostFault:
        raise NotLooked("server.python does not start; sglang.python says why") from None


def facts(case: Case) -> Fingerprint:
    """Return the fingerprint but for the GPUs, which `gpu_settings` has."""
    without = case.rig.model_copy(update={"gpus": case.rig.gpus.model_copy(update={"count": 0})})
    return case.once("fingerprint", lambda: fingerprint(case.host, without))


def fact(case: Case, key: str) -> str:
    """Return one fact. NotLooked: it could not be had."""
    if key.startswith(("sglang.", "package.", "server.")):
        _server_starts(case)
    found = facts(case)
    value = found.facts.get(key)
    if value is None:
        head = key.partition(".")[0]
        why = next((u.why for u in found.unread if u.text in (key, head)), "it was not told")
        raise NotLooked(why)
    return value


def server_python(case: Case) -> dict[str, Any]:
    """Return the answer of scripts/server_python.py."""
    _server_starts(case)
    rig = case.rig
    names = {*rig.server.environment, *(n for arm in rig.arms for n in arm.environment)}
    argument = {
        "module": rig.server.module,
        "variables": sorted(n for n in names if n.startswith(("SGLANG_", "SGL_"))),
        "budget_s": _SEARCH_S,
    }
    return case.once("server python", lambda: with_servers_python(case.host, rig, "server_python", argument))


def folders(case: Case) -> dict[str, ModelFolder]:
    """Return the model's folder under MODEL, and each draft's under its arm's name."""
    paths = {arm.name: arm.draft_model_path for arm in case.rig.arms if arm.draft_model_path}
    # An arm may be called as the target is.
    keyed = {MODEL: case.rig.server.model_path} | {f"draft of {name}": path for name, path in paths.items()}

    def read() -> dict[str, ModelFolder]:
        return model_folders(case.host, keyed, drafts=frozenset(keyed) - {MODEL})

    return case.once("folders", read)


def draft_key(arm: str) -> str:
    return f"draft of {arm}"


def nccl(case: Case) -> NcclLintReport:
    return case.once("nccl", lambda: judge_nccl(case.host, case.rig, facts(case)))
