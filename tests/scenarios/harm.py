"""Sessions whose probe is disturbed inside the box's schedulers, by another plugin that was there before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .gate_run import GateRun, play
from .selecting import FIXED_VERIFY, PHASES, one_stream

# Found like any plugin, imported before the probe goes to work.
_CODE = {
    "disk-full": """
        import errno, os, types
        from tokgate_probe import line_file

        room = 6000

        def write(handle, data):
            global room
            done = min(room, len(data))
            if not done:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            room -= done
            return os.write(handle, data[:done])

        line_file.os = types.SimpleNamespace(**{**vars(os), "write": write})
        """,
    "renamed": """
        from tokgate_probe import targets

        def renamed(some):
            return tuple(t._replace(name=t.name + "_of_tomorrow") for t in some)

        targets.SPECULATIVE, targets.PLAIN = renamed(targets.SPECULATIVE), renamed(targets.PLAIN)
        """,
    "hooking-raises": """
        from tokgate_probe.hooks import Hooks

        def around(self, phase):
            raise RuntimeError("no hook today")

        Hooks.around = around
        """,
    "clock-raises": """
        from tokgate_probe.clocks import HostClock

        def start(self):
            raise RuntimeError("no clock today")

        HostClock.start = start
        """,
    "grows-without-end": """
        import os, sys

        if "TOKGATE_PROBE_OUT" in os.environ:
            with open(os.path.join(os.environ["TOKGATE_PROBE_OUT"], f"phases-{os.getpid()}-9.jsonl"), "wb") as file:
                file.truncate(100 << 30)  # takes no room; nobody may read it whole
        """,
    "torn-header": """
        from tokgate_probe.recorder import Recorder

        begin = Recorder.begin

        def torn(self, header):
            begin(self, header)
            self._header = [self._header[0][:100]]

        Recorder.begin = torn
        """,
}


@dataclass(frozen=True)
class Harm:
    """`says`: what the verdict on the budget must say. `knobs`: of the box."""

    name: str
    says: str
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    knobs: str = ""
    unharmed: bool = True
    outcome: str = "invalid"
    slow: bool = True


HARMS = (
    Harm("disk-full", r"the probe tells of verify in \d of 6 starts|its disk was full", slow=False),
    Harm("not-loaded", "no scheduler has written a file of the probe", {"SGLANG_PLUGINS": "somebody_elses"}),
    Harm("renamed", r"looked for .*EAGLEWorkerV2\.verify_of_tomorrow"),
    Harm("hooking-raises", "no hook today"),
    Harm("clock-raises", "RuntimeError in a hook"),
    Harm("torn-header", "has no header: not a probe's file, or its first line is torn"),
    Harm("grows-without-end", "was left behind: .* more than the 32 MiB that are read", outcome="pass"),
    Harm("killed", "died|dead", knobs="die_at_request = 6\n", unharmed=False),
)


def harmed(folder: Path, harm: Harm) -> GateRun:
    """Measure phases while the probe has a bad day."""
    plugins = folder.parent / f"{folder.name}-plugins"
    _plugin(plugins, _CODE.get(harm.name, ""))
    scenario = folder.parent / f"{folder.name}.toml"
    scenario.write_text(f"[knobs]\n{harm.knobs}")
    environment = {"PYTHONPATH": str(plugins), **harm.environment}
    settings = [f'server.environment.{name}="{value}"' for name, value in environment.items()]
    return play(
        folder,
        [str(scenario)],
        *("-k", PHASES),
        settings=(
            *one_stream(),
            FIXED_VERIFY,
            "instruments.cost_pairs=0",
            "instruments.trace=false",
            *settings,
        ),
    )


def _plugin(folder: Path, code: str) -> None:
    info = folder / "badday-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: badday\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[sglang.srt.plugins]\nbadday = badday:register\n")
    lines = [line.removeprefix(" " * 8) for line in code.splitlines()]
    # In a process without the probe on its path there is nothing to disturb.
    body = "\n".join(
        ["try:", *(f"    {line}" for line in lines), "    pass", "except ImportError:", "    pass"]
    )
    (folder / "badday.py").write_text(f"{body}\n\ndef register():\n    pass\n")
