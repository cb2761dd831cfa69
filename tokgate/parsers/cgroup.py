"""/proc/PID/cgroup: in which container, job, unit or login a process lives."""

from __future__ import annotations

import re

# Shown of a 64-digit id, as docker ps shows it.
_ID = 12
_HEX = r"([0-9a-f]{12,64})"
_POD = re.compile(r"pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})")
_LAST_HEX = re.compile(rf"(?:^|[/:-]){_HEX}(?:\.scope)?(?:/[^/]*)?$")
_CONTAINERS = (
    (re.compile(rf"(?:^|/)docker[/-]{_HEX}"), "docker"),
    (re.compile(rf"libpod-(?:payload-)?{_HEX}"), "podman"),
    (re.compile(rf"(?:cri-containerd|containerd)[-:/]{_HEX}"), "containerd"),
    (re.compile(rf"(?:^|[/-])crio-{_HEX}"), "cri-o"),
    (re.compile(r"/lxc(?:\.payload)?[./]([^/]+)"), "lxc"),
    (re.compile(r"/machine\.slice/(?:systemd-nspawn@|machine-)([^/]+?)\.(?:service|scope)"), "nspawn"),
)
_SLURM = re.compile(r"/slurm[^/]*(?:/.*?)?/job_(\d+)(?:/step_([^/]+))?")
_SESSION = re.compile(r"/user-(\d+)\.slice/session-([^/]+)\.scope")
_UNIT = re.compile(r"/([^/]+\.service)(?:/|$)")


def read_cgroup(text: str) -> str | None:
    """Return the innermost home that the file tells, in words; None: none is visible from here.

    Both hierarchies: version 1 has a line a controller, version 2 one line, "0::/path". A process in
    another container than the reader's may be shown as /../NAME.
    """
    paths = [line.split(":", 2)[2] for line in text.split("\n") if line.count(":") >= 2]
    for path in sorted(set(paths), key=len, reverse=True):
        if (home := _home(path.removesuffix(" (deleted)"))) is not None:
            return home
    return None


def _home(path: str) -> str | None:
    if (slurm := _SLURM.search(path)) is not None:
        return f"slurm job {slurm[1]}" + (f" step {slurm[2][:30]}" if slurm[2] else "")
    if "kubepods" in path or _POD.search(path):
        pod = _POD.search(path)
        container = _LAST_HEX.search(path[pod.end() if pod else 0 :])
        words = [f"kubernetes pod {pod[1].replace('_', '-')}"] if pod else ["kubernetes"]
        words += [f"container {container[1][:_ID]}"] if container else []
        return ", ".join(words)
    for pattern, kind in _CONTAINERS:
        if found := pattern.search(path):
            return f"{kind} container {found[1][:64] if kind in ('lxc', 'nspawn') else found[1][:_ID]}"
    if found := re.search(r"(?:^|[/-])([0-9a-f]{64})(?:\.scope)?(?:/|$)", path):
        return f"container {found[1][:_ID]}"
    if units := _UNIT.findall(path):
        # user@1000.service is the login's own manager: what runs below it says more.
        return f"systemd unit {units[-1][:100]}"
    if found := _SESSION.search(path):
        return f"login session {found[2][:30]} of uid {found[1]}"
    return None
