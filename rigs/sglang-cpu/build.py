"""Build the real SGLang for CPUs and its constructed models into .sglang-cpu/ of this checkout.

    .sglang-cpu/venv/        SGLang, unpatched, with what it imports on a CPU
    .sglang-cpu/tokenizer/   made here, like everything below: nothing is downloaded but packages
    .sglang-cpu/golden/      {model,draft,truth.json}: acceptance known beforehand
    .sglang-cpu/context/     {model,draft,truth.json}: output hinges on positions and KV slots

Environment and models are each stamped, last of all, with a hash of what they were built from: an interrupted build
is never taken for a whole one, and nothing is built twice. Two builds at once wait for each other.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEFAULT = HERE.parent.parent / ".sglang-cpu"
# With the CPU build of torch 1.5 GB. A registry that offers only the CUDA build adds several GB of libraries.
DISK_GIB = 8
# Where pip leaves them off, .pyc files are written by whoever imports first: 15 s of the first server's start. Importing
# what a server imports writes just those, a third of all, while the models are being made, and shows that it imports.
IMPORTED_BY_A_SERVER = (
    "sglang.launch_server",
    "sglang.srt.entrypoints.http_server",
    "sglang.srt.managers.scheduler",
    "sglang.srt.managers.detokenizer_manager",
    "sglang.srt.models.registry",
    "sglang.srt.models.llama_eagle3",
    "sglang.srt.speculative.eagle_worker_v2",
    "sglang.srt.layers.attention.intel_amx_backend",
    "sglang.srt.layers.attention.torch_native_backend",
)
# Layers of each target. The context pair's speed is of no interest, so it has no more than it needs: 5 that look back,
# and a draft that listens to three distinct layers needs 7.
PAIRS = {"golden": 16, "context": 8}
START = time.monotonic()


def say(text: str) -> None:
    print(f"sglang-cpu [{time.monotonic() - START:5.1f} s] {text}", flush=True)


def give_up(*, tried: str, found: str, do: str) -> None:
    """Say so in the words of tokgate.errors, which is not importable here, and exit 1."""
    print(f"sglang-cpu: tried: {tried}\n            found: {found}\n            do:    {do}", file=sys.stderr)
    raise SystemExit(1)


@dataclass(frozen=True)
class Part:
    """Folders that are built from some files, and the file that says from which."""

    stamp: Path
    folders: tuple[Path, ...]
    inputs: tuple[Path, ...]

    def wanted(self) -> str:
        digest = hashlib.sha256(f"{sys.version_info[:2]} {self.folders}".encode())
        for path in self.inputs:
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()

    def current(self) -> bool:
        try:
            stamped = self.stamp.read_text(encoding="utf-8")
        except FileNotFoundError:
            return False
        return stamped == self.wanted() and all(folder.is_dir() for folder in self.folders)

    def forget(self) -> None:
        self.stamp.unlink(missing_ok=True)
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)

    def done(self) -> None:
        temporary = self.stamp.with_suffix(".new")
        temporary.write_text(self.wanted(), encoding="utf-8")
        temporary.replace(self.stamp)


def environment() -> dict[str, str]:
    """Return the environment in which SGLang imports on a CPU; docs/sglang-cpu.md says why each is needed."""
    inherited = {k: v for k, v in os.environ.items() if k not in {"PYTHONDONTWRITEBYTECODE", "PYTHONHOME"}}
    return inherited | {
        "PYTHONPATH": str(HERE / "stubs"),
        "SGLANG_USE_CPU_ENGINE": "1",
        "TORCHDYNAMO_DISABLE": "1",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }


def start(command: tuple[str, ...]) -> subprocess.Popen[str]:
    """Start one step; what it prints is shown only when it fails."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(),
    )


def finish(what: str, step: subprocess.Popen[str]) -> None:
    """Wait for a step, and give up with its last lines when it failed."""
    output, _ = step.communicate()
    if step.returncode:
        tail = "\n".join(output.strip().splitlines()[-15:])
        give_up(
            tried=f"{what}: {str(step.args)[:300]}",
            found=f"exit code {step.returncode}\n{tail}",
            do="mend what the last lines name, then run it again; the half-built folder is not used",
        )
    say(what)


def install(venv: Path, *, need_gib: float = DISK_GIB) -> None:
    """Make the virtual environment, without the stamp."""
    free = shutil.disk_usage(venv.parent).free / 2**30
    if free < need_gib:
        give_up(
            tried=f"look for {need_gib} GiB of free disk at {venv.parent}",
            found=f"{free:.1f} GiB",
            do="free some space, or make .sglang-cpu a link to a folder on a larger disk",
        )
    finish("made a virtual environment", start((sys.executable, "-m", "venv", str(venv))))
    say("installing torch, transformers and about a hundred more: 35 s where the registry is near")
    pip = (
        *(str(venv / "bin" / "python"), "-m", "pip", "install", "-qq", "--no-input"),
        *("--disable-pip-version-check", "--progress-bar", "off", "--no-compile", "-r"),
    )
    finish("installed what SGLang imports", start((*pip, str(HERE / "requirements.txt"))))
    finish("installed SGLang", start((*pip, str(HERE / "requirements-no-deps.txt"), "--no-deps")))


def build(into: Path) -> None:
    """Bring both parts up to date."""
    venv, tokenizer = into / "venv", into / "tokenizer"
    requirements = (HERE / "requirements.txt", HERE / "requirements-no-deps.txt")
    environment_part = Part(into / "venv.stamp", (venv,), requirements)
    pairs = tuple(into / pair for pair in PAIRS)
    models_part = Part(into / "models.stamp", (tokenizer, *pairs), tuple(sorted(HERE.glob("*.py"))))
    python = str(venv / "bin" / "python")
    importing = None
    if not environment_part.current():
        environment_part.forget()
        install(venv)
        imports = "; ".join(f"import {name}" for name in IMPORTED_BY_A_SERVER)
        importing = start((python, "-c", imports))
    if not models_part.current():
        models_part.forget()
        finish("made the tokenizer", start((python, str(HERE / "make_tokenizer.py"), str(tokenizer))))
        for pair in pairs:
            script, layers = HERE / f"{pair.name}_pair.py", str(PAIRS[pair.name])
            command = (python, str(script), str(pair), str(tokenizer), "--layers", layers)
            finish(f"made the {pair.name} pair", start(command))
        models_part.done()
    if importing is not None:
        finish("imported what a server imports", importing)
        environment_part.done()
    say(f"ready in {into}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--into", type=Path, default=DEFAULT)
    into = parser.parse_args().into.resolve()
    if not (3, 11) <= sys.version_info[:2] < (3, 14):
        give_up(
            tried=f"build with {sys.executable}",
            found=f"Python {sys.version.split()[0]}",
            do="run it with Python 3.11, 3.12 or 3.13 (make PYTHON=python3.11 sglang-cpu)",
        )
    into.mkdir(parents=True, exist_ok=True)
    with (into / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another build is under way; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        build(into)


if __name__ == "__main__":
    main()
