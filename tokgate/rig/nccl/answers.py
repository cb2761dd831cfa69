"""Files and plugins that answer NCCL's questions besides, or instead of, the environment."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records.nccl import NcclLint
from tokgate.rig.spelling import spell

from .settings import Settings

FILES = "NCCL 2.30.7 src/misc/param.cc, initEnvFunc and setEnvFile"
PLUGIN = "NCCL 2.30.7 src/plugin/env.cc, ncclEnvPluginLoad"
_PLUGINS = {
    "NCCL_TUNER_PLUGIN": (
        "chooses algorithm, protocol and channels for each call",
        "NCCL 2.30.7 src/plugin/tuner.cc",
    ),
    "NCCL_NET_PLUGIN": (
        "carries data between machines, and may bring a tuner",
        "NCCL 2.30.7 src/plugin/net.cc",
    ),
    "NCCL_PROFILER_PLUGIN": ("is called at every step of every call", "NCCL 2.30.7 src/plugin/profiler.cc"),
}
_INPUTS = ("NCCL_TOPO_FILE", "NCCL_GRAPH_FILE", "NCCL_TUNER_CONFIG_FILE")


def answers(s: Settings) -> Iterator[NcclLint]:
    if s.variables.get("NCCL_CONF_FILE"):
        yield s.found(
            "NCCL_CONF_FILE",
            "warning",
            what="its lines set what the rig leaves unset, and the rig does not say what they are;"
            " /etc/nccl.conf is read behind it in any case",
            do="write its lines into server.nccl and take it out",
            source=FILES,
        )
    plugin = s.variables.get("NCCL_ENV_PLUGIN")
    if plugin is not None and plugin.lower() != "none" and s.version >= (2, 28, 7):
        yield s.found(
            "NCCL_ENV_PLUGIN",
            "warning",
            what=f"the plugin {spell(plugin)} answers for every variable in place of the environment",
            do="write none: then the environment counts",
            source=PLUGIN,
        )
    for name, (does, source) in _PLUGINS.items():
        text = s.variables.get(name)
        if text and text.lower() != "none":
            yield s.found(
                name,
                "warning" if name == "NCCL_TUNER_PLUGIN" else "note",
                what=f"the plugin {spell(text)} {does}",
                do="write none, unless the plugin is part of what is measured",
                source=source,
            )
    for name in _INPUTS:
        if s.variables.get(name):
            yield s.found(
                name,
                "note",
                what="what the file holds decides on channels and algorithms, and the rig does not say what that is",
                do="keep the file with the rig",
                source="NCCL 2.30.7 src/graph/topo.cc, src/graph/search.cc, plugins/tuner/example",
            )
