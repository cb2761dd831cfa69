"""What becomes of the rig's NCCL settings, as far as it can be known before any server starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tokgate.parsers.overwritten import newest_read, read_overwritten
from tokgate.records.nccl import NcclLint, NcclSources
from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.nccl.lint import lint_variables
from tokgate.rig.nccl.names import is_about_nccl
from tokgate.rig.nccl.of_rig import lint_rig
from tokgate.rig.nccl.versions import Version, read_version
from tokgate.rig.sizes import ALIASES, machines
from tokgate.rig.spelling import spell

from .command_line import arm_environment

_ORDER = ("error", "warning", "note")
_PLUGIN = "NCCL 2.30.7 src/plugin/plugin_open.cc, openPluginLib"
_FILES = "NCCL 2.30.7 src/misc/param.cc, initEnvFunc and setEnvFile"
# Start of a library's name -> the variable that names another, what it does, since when, how much it matters.
_PLUGINS: dict[str, tuple[str, str, Version, bool]] = {
    "libnccl-env": (
        "NCCL_ENV_PLUGIN",
        "answers for every variable in place of the environment",
        (2, 28, 7),
        True,
    ),
    "libnccl-tuner": (
        "NCCL_TUNER_PLUGIN",
        "chooses algorithm, protocol and channels for each call",
        (2, 19, 0),
        True,
    ),
    "libnccl-net": (
        "NCCL_NET_PLUGIN",
        "carries data between machines, and may bring a tuner",
        (2, 0, 0),
        False,
    ),
    "libnccl-profiler": ("NCCL_PROFILER_PLUGIN", "is called at every step of every call", (2, 23, 0), False),
}


def lint_nccl(
    rig: Rig,
    *,
    nccl: str | None = None,
    sglang: str | None = None,
    sources: NcclSources | None = None,
) -> tuple[NcclLint, ...]:
    """Return everything that is known of the rig's NCCL settings, worst first. Never raises.

    `nccl` and `sglang` are the versions installed, None where nobody knows: then the newest whose sources were
    read count. `sources` is what the host has besides the environment; None: no host was asked.
    """
    version = read_version(nccl)
    findings = list(lint_rig(rig, version))
    known = sglang if sglang is not None else newest_read()
    for arm in rig.arms:
        written = arm_environment(rig, arm)
        for finding in _sglang(rig, arm, written, known, version):
            if not any(_same(finding, f) for f in findings):
                findings.append(finding)
    if sources is not None:
        findings += _from_files(rig, sources, version)
        findings += _from_plugins(rig, sources, version)
    return tuple(sorted(dict.fromkeys(findings), key=lambda f: _ORDER.index(f.severity)))


def _same(finding: NcclLint, other: NcclLint) -> bool:
    return (finding.variable, finding.what) == (other.variable, other.what)


def _sglang(
    rig: Rig, arm: ArmSpec, written: Mapping[str, str], sglang: str, version: Version | None
) -> Iterator[NcclLint]:
    """What SGLang writes over the rig's own words, and what NCCL makes of the result."""
    reading = read_overwritten(sglang, _arguments(rig, arm))
    where = f"SGLang {sglang}" + ("".join(f"; {u.why}" for u in reading.unread))
    for name, words in reading.variables.items():
        value = reading.values.get(name)
        if name not in written or written[name] == value:
            continue
        yield NcclLint(
            variable=name,
            value=written[name],
            severity="note" if value is None else "warning",
            what=f"SGLang sets it to {words} whatever the rig says",
            do="take it out of the rig, or the argument that makes SGLang set it",
            source=where,
        )
    before = {n: v for n, v in written.items() if is_about_nccl(n)}
    set_by_it = {n: v for n, v in reading.values.items() if is_about_nccl(n) and before.get(n) != v}
    set_by_it |= {n: v for n, v in reading.filled.items() if is_about_nccl(n) and n not in before}
    if not before or not set_by_it:
        return  # what SGLang does to variables that the rig does not speak of is its own affair
    nodes = machines(rig, arm)
    old = lint_variables(before, version, nodes=nodes)
    after = before | set_by_it
    for finding in lint_variables(after, version, nodes=nodes):
        if finding.severity == "note" or any(_same(finding, f) for f in old):
            continue
        # Which of them it takes for this to be found; all, where one alone does not do it.
        needed = [n for n in set_by_it if finding not in lint_variables(_without(after, before, n), version)]
        by = ", ".join(f"{n}={spell(set_by_it[n])}" for n in needed or set_by_it)
        yield finding.model_copy(
            update={
                "what": f"once SGLang has set {by}: {finding.what}",
                "source": f"{finding.source}; {where}",
            }
        )


def _without(after: Mapping[str, str], before: Mapping[str, str], name: str) -> dict[str, str]:
    rest = {n: v for n, v in after.items() if n != name}
    return rest | ({name: before[name]} if name in before else {})


def _from_files(rig: Rig, sources: NcclSources, version: Version | None) -> Iterator[NcclLint]:
    written = {**rig.server.nccl, **rig.server.environment}
    added: dict[str, str] = {}
    for file in sources.files:
        for name, value in file.variables.items():
            if not is_about_nccl(name) or name in added:
                continue
            own = written.get(name)
            if own is None:
                added[name] = value
            yield NcclLint(
                variable=name,
                value=own,
                severity="note" if own is not None else "warning",
                what=f"{file.path} sets it to {spell(value)} too; the environment comes first"
                if own is not None
                else f"{file.path} sets it to {spell(value)}, which the rig leaves unset",
                do="take the line out"
                if own is not None
                else "take the line out, or write the same into server.nccl",
                source=_FILES,
            )
        for line in file.unread:
            yield NcclLint(
                variable=file.path,
                value=line.text,
                severity="note",
                what=f"line {line.line}: {line.why}",
                do="mend the line or take it out",
                source=_FILES,
            )
    own_lint = lint_variables({n: v for n, v in written.items() if is_about_nccl(n)}, version)
    both = {n: v for n, v in (added | written).items() if is_about_nccl(n)}
    for finding in lint_variables(both, version) if added else ():
        if finding.severity != "note" and not any(_same(finding, f) for f in own_lint):
            yield finding.model_copy(update={"what": f"with NCCL's files on the host: {finding.what}"})


def _from_plugins(rig: Rig, sources: NcclSources, version: Version | None) -> Iterator[NcclLint]:
    written = {**rig.server.nccl, **rig.server.environment}
    for path in sources.plugins:
        prefix = next((p for p in _PLUGINS if path.rpartition("/")[2].startswith(p)), None)
        if prefix is None:
            continue
        variable, does, since, matters = _PLUGINS[prefix]
        if variable in written or (version is not None and version < since):
            continue
        yield NcclLint(
            variable=variable,
            value=None,
            severity="warning" if matters else "note",
            what=f"NCCL opens {path} unasked: it {does}",
            do=f"set {variable} = none in server.nccl, or take the library away",
            source=_PLUGIN,
        )


def _arguments(rig: Rig, arm: ArmSpec) -> dict[str, object]:
    names = {alias: name for name, aliases in ALIASES.items() for alias in aliases}
    return {names.get(k, k): v for k, v in (*rig.server.args.items(), *arm.args.items())}
