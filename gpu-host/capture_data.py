"""Make test data of what visits brought home: small, the same for the same capture, and nobody's.

    python gpu-host/capture_data.py RUN… [--into tests/captures]

RUN is a folder that `run.sh visit` or `captures` left (visit.py). Each becomes INTO/RIG-SGLANG-ARM/, in place of what is
there, and tests/captures/test_captures.py holds the parsers to it: commit both together with whatever had to be mended. GPUs'
UUIDs, host names and the folder that it ran in are replaced; of a trace a few steps are kept.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from telling import give_up, say

ROOT = Path(__file__).resolve().parents[1]
INTO = ROOT / "tests" / "captures"
LIMIT_MIB = 4.0  # of all that a call makes
KEPT_STEPS = 3  # of a trace, that decode; without such marks it is kept as it is, kinds apart
VISIT = "visit.json"
OF_THE_MACHINE = ("root", "work_dir", "hosts")  # in it: what is taken out of everything
PACKED = (".log", ".prom")
_UUID = re.compile(r"(GPU|MIG)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_STEP = re.compile(r"step\[(DECODE|(TARGET_)?VERIFY)\b")  # on the GPU's own line of time
# Of a trace: what is asked of it are marks, kernels and launches of graphs.
_KEPT = frozenset(
    ("kernel", "user_annotation", "gpu_user_annotation", "cuda_runtime", "gpu_memcpy", "gpu_memset")
)

Clean = Callable[[str], str]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--into", type=Path, default=INTO)
    asked = parser.parse_args()
    made = [make(run, asked.into) for run in asked.runs]
    size = sum(file.stat().st_size for folder in made for file in folder.rglob("*") if file.is_file()) / 2**20
    if size > LIMIT_MIB:
        give_up(
            tried="make test data of " + ", ".join(str(run) for run in asked.runs),
            found=f"{size:.1f} MiB, above {LIMIT_MIB:g}",
            do="name fewer visits: one of each arm is enough",
        )
    say(f"{len(made)} captures, {size:.2f} MiB, in {asked.into}: now pytest tests/captures")


def make(run: Path, into: Path) -> Path:
    """Write the test data of one visit; return their folder. Gives up on what is none."""
    try:
        told = json.loads((run / VISIT).read_text(encoding="utf-8"))
        rig, arm, version = (re.sub(r"[^\w.-]", "_", str(told[key])) for key in ("rig", "arm", "sglang"))
    except (OSError, ValueError, KeyError) as error:
        give_up(
            tried=f"make test data of {run}",
            found=f"no visit.json that can be read: {error}",
            do="name a folder that run.sh visit or captures left, as make gpu-collect laid it out",
        )
    target = into / f"{rig}-{version}-{arm}"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    clean = cleaner(told)
    for source in sorted(path for path in run.rglob("*") if path.is_file()):
        name = source.relative_to(run)
        if name.parts[0] == "profile":
            _write(target / f"trace-{len(list(target.glob('trace-*')))}.json.gz", trimmed(source, clean))
        elif name.name == VISIT:
            whole = {key: value for key, value in told.items() if key not in OF_THE_MACHINE}
            _write(target / name, json.dumps(whole, indent=1) + "\n")
        elif not name.name.startswith(("theirs", "clients")):  # their client's own output
            _write(target / name, clean(source.read_bytes().decode("utf-8", "surrogateescape")))
    return target


def cleaner(told: dict[str, Any]) -> Clean:
    """Return what takes out of a text whose machine it was: `told` names the host and where things lay on it."""
    places = sorted({str(told[key]) for key in ("root", "work_dir") if told.get(key)}, key=len, reverse=True)
    hosts = [str(name) for name in told.get("hosts", ()) if len(str(name)) > 2]

    def clean(text: str) -> str:
        text = _UUID.sub(lambda match: f"{match[1]}-00000000-0000-0000-0000-000000000000", text)
        for place in places:
            text = text.replace(place, "/there")
        for host in hosts:
            text = text.replace(host, "host")
        return text

    return clean


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode("utf-8", "surrogateescape")
    if file.suffix in PACKED or file.suffix == ".gz" or file.stem.startswith("metrics"):
        name = file.name if file.suffix == ".gz" else f"{file.name}.gz"
        file.with_name(name).write_bytes(gzip.compress(content, mtime=0))
    else:
        file.write_bytes(content)


def trimmed(trace: Path, clean: Clean) -> str:
    """Return a trace with the marks, kernels and launches of its first few decode steps."""
    whole: dict[str, Any] = json.loads(gzip.decompress(trace.read_bytes()))
    events: list[dict[str, Any]] = whole["traceEvents"]
    marks = [e for e in events if e.get("cat") == "gpu_user_annotation" and _STEP.match(str(e.get("name")))]
    ends = sorted(mark["ts"] + mark["dur"] for mark in marks)
    end = ends[min(KEPT_STEPS, len(ends)) - 1] if ends else float("inf")
    whole["traceEvents"] = list(_kept(events, end))
    return clean(json.dumps(whole, separators=(",", ":")) + "\n")


def _kept(events: list[dict[str, Any]], end: float) -> Iterator[dict[str, Any]]:
    for event in events:
        if event.get("ph") == "M":
            yield event
        elif event.get("cat") in _KEPT and event.get("ts", 0) <= end:
            yield {
                **event,
                "args": {k: v for k, v in event.get("args", {}).items() if not isinstance(v, list)},
            }


if __name__ == "__main__":
    main()
