"""The server's own Python: SGLang, what it needs, and whether it takes the rig's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tokgate.errors import HostFault, HostLost
from tokgate.parsers.metric_names import golden_families
from tokgate.parsers.overwritten import read_overwritten
from tokgate.records.doctor import Remark

from .check import Case, Check, NotLooked
from .readings import fact, facts, server_python, server_version

# The packages without whose exact version SGLang's kernels have failed to load: fact -> names in its requirements.
_PINNED = {
    "torch": ("torch",),
    "sgl_kernel": ("sgl-kernel", "sglang-kernel"),
    "flashinfer": ("flashinfer-python",),
    "transformers": ("transformers",),
}
_DIGITS = re.compile(r"\d+(?:\.\d+)*(?:\.?(?:post|rc|a|b)\d+)?")
INSTALL = "install SGLang for server.python, or correct server.python in the rig"


def python(case: Case) -> Iterator[Remark]:
    try:
        yield Remark.ok(server_version(case))
    except HostLost:
        raise  # of server.python nothing is known
    except HostFault as fault:
        yield Remark.fail(
            fault.found, "correct server.python in the rig: it must be an executable on the host"
        )


def installed(case: Case) -> Iterator[Remark]:
    found = server_python(case)["module"]
    module = case.rig.server.module
    if found is None:
        yield Remark.fail(f"server.python finds no module {module}", f"{INSTALL}, or server.module")
        return
    told = facts(case).facts
    version, changed = told.get("sglang.version"), told.get("sglang.changed")
    if version is None:
        yield Remark.warn(
            f"{module} is {found}; which SGLang that is cannot be told",
            "install it as a package: without its version nothing is compared with a baseline",
        )
        return
    words = f"SGLang {version} ({told.get('sglang.install')}) at {told.get('sglang.location')}"
    if changed == "0":
        yield Remark.ok(f"{words}, unchanged")
    else:
        yield Remark.note(
            f"{words}, changed in {changed or 'nobody knows how many files'}",
            "fine if that is what is measured; otherwise install it afresh",
        )


def known(case: Case) -> Iterator[Remark]:
    yield from judge_known(fact(case, "sglang.version"))


def judge_known(version: str) -> Iterator[Remark]:
    if golden_families(version) is None:
        yield Remark.warn(
            f"{version!r} is no release: which metrics and log lines it has is guessed",
            "see after the first run what its reports call not told",
        )
        return
    unread = read_overwritten(version, {}).unread
    if unread:
        yield Remark.note(f"SGLang {version}: {'; '.join(u.why for u in unread)}")
    else:
        yield Remark.ok(
            f"SGLang {version}: metrics, log lines, phases and variables have been read in its sources"
        )


def packages(case: Case) -> Iterator[Remark]:
    wants = server_python(case)["requires"]
    if case.rig.simulated:
        yield Remark.note("a simulated server has neither torch nor kernels")
        return
    if not wants:
        raise NotLooked("this SGLang does not say what it requires: it is no installed package")
    yield from judge_packages(wants, facts(case).facts, cpu=case.rig.gpus.count == 0)


def judge_packages(wants: Mapping[str, str], has: Mapping[str, str | None], *, cpu: bool) -> Iterator[Remark]:
    """`wants`: package -> the one version that SGLang asks for; `has`: facts "package.NAME" as installed."""
    apart, same = [], []
    for key, names in _PINNED.items():
        wanted = next((wants[n] for n in names if n in wants), None)
        if wanted is None:
            continue
        told = has.get(f"package.{key}") or "not told"
        # "2.8.0+cu128" is a 2.8.0.
        found = _DIGITS.findall(told.partition(", imported")[0].partition("+")[0])
        if found and found[-1] == wanted:
            same.append(f"{key} {wanted}")
        else:
            apart.append(f"{key}: {told.partition(', imported')[0]}, SGLang asks for {wanted}")
    if not apart:
        yield Remark.ok(
            f"as SGLang asks: {', '.join(same)}" if same else "SGLang asks for no particular version"
        )
    elif cpu:
        yield Remark.note(f"a CPU rig, which may stand in for some of them: {'; '.join(apart)}")
    else:
        yield Remark.warn("; ".join(apart), f"install the versions that this SGLang asks for: {INSTALL}")


def probe(case: Case) -> Iterator[Remark]:
    if case.rig.instruments.skip is not None:
        yield Remark.ok(f"the rig skips instruments: {case.rig.instruments.skip}")
        return
    found = server_python(case)
    if not found["plugins"]:
        yield Remark.warn(
            "this SGLang has no plugin framework (0.5.11 and later have): the probe is not loaded, no phase is told by it",
            'use SGLang 0.5.11 or later, or skip the launches: [instruments] skip = "…"',
        )
        return
    wanted = {**case.rig.server.environment}.get("SGLANG_PLUGINS")
    others = [name for name in found["entry_points"] if not name.startswith("tokgate")]
    if wanted is not None and "tokgate_probe" not in wanted:
        yield Remark.warn(
            f"SGLANG_PLUGINS = {wanted!r} keeps the probe out",
            "take it out of server.environment, or add tokgate_probe",
        )
    elif others:
        yield Remark.note(
            f"SGLang loads other plugins too: {', '.join(others)}",
            "uninstall them unless they are what is measured",
        )
    else:
        yield Remark.ok("SGLang can load the probe, and loads no other plugin")


CHECKS = (
    Check(
        "sglang.python",
        "whether server.python starts",
        "a start that ends with no-such-python",
        python,
        limit_s=60.0,
    ),
    Check(
        "sglang.installed",
        "which SGLang it would run",
        "a start that ends with no-such-module",
        installed,
        limit_s=60.0,
    ),
    Check(
        "sglang.known",
        "whether its version is one that the gate knows",
        "metrics that are not told",
        known,
        limit_s=60.0,
    ),
    Check(
        "sglang.packages",
        "whether torch, kernels and flashinfer are those that it asks for",
        "kernels that do not load",
        packages,
        limit_s=60.0,
    ),
    Check(
        "sglang.probe",
        "whether it can load the probe of phases",
        "launches for phases that tell none",
        probe,
        limit_s=60.0,
    ),
)
