"""Lay a bundle out on its host, in one private folder, without pip and without a network.

    INTO/checkout/    tokgate: what {root} is in a rig; its .venv and .sglang-gpu are links to the next two
    INTO/gate/        the gate's own environment; numpy and scipy in it are the host's, by links
    INTO/serving/     site/ (SGLang's subset), bin/python3 (the host's), golden/ (models), cache/ (JIT), pyc/
    INTO/campaigns/   what was measured

Nothing outside of it is written. A second call does nothing but for parts that changed: each is stamped with its hash.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import manifest
from host_check import split
from manifest import Manifest, Part
from telling import give_up, say

SERVING = ".sglang-gpu"  # below the checkout, as .sglang-cpu is: the rigs name it
STAMPS = "installed.json"
RECIPE = "rigs/sglang-gpu/large_golden_pair.py"  # of 15 GB of models
# Golden pairs by the folder that a rig's model_path names: in the shape of an 8B Llama, and for several GPUs as wide as a
# 70B one, with 24 of its layers: 41 GB. What they are written with, and the disk that they, the sites and JIT caches take, GiB.
PAIRS: dict[str, tuple[str, ...]] = {
    "golden": (),
    "golden-wide": (
        *("--hidden", "8192", "--layers", "24", "--heads", "64", "--kv-heads", "8"),
        *("--intermediate", "28672"),
    ),
}
DISK_GIB = {"golden": 24, "golden-wide": 56}
# What a server imports of the host. Where an image ships no .pyc files, each start would spend 15 s on compiling.
COMPILED = (
    *(
        "torch",
        "torchgen",
        "torchvision",
        "triton",
        "sympy",
        "mpmath",
        "networkx",
        "numpy",
        "scipy",
        "pandas",
    ),
    *("sklearn", "numba", "huggingface_hub", "safetensors", "aiohttp", "httpx", "jinja2", "tqdm", "psutil"),
    *("PIL", "requests", "urllib3", "regex", "yaml", "uvloop", "einops", "anyio", "click", "typer", "rich"),
)


class Installed:
    """The folders of an installation."""

    def __init__(self, into: Path) -> None:
        self.into = into
        self.checkout = into / "checkout"
        self.gate = into / "gate"
        self.serving = into / "serving"
        self.caches = self.serving / "cache"
        self.campaigns = into / "campaigns"

    @property
    def python(self) -> Path:
        return self.gate / "bin" / "python"

    @property
    def server_python(self) -> Path:
        return self.serving / "bin" / "python3"

    def stamps(self) -> dict[str, str]:
        try:
            told: dict[str, str] = json.loads((self.into / STAMPS).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return told

    def stamp(self, name: str, value: str) -> None:
        told = {**self.stamps(), name: value}
        temporary = self.into / f"{STAMPS}.new"
        temporary.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
        temporary.replace(self.into / STAMPS)


def install(bundle: Path, made: Manifest, place: Installed, *, serving: bool) -> None:
    """Bring an installation up to date with a bundle."""
    place.into.mkdir(parents=True, exist_ok=True)
    gate, checkout = made.parts["gate"], made.parts["checkout"]
    stamps = place.stamps()
    if stamps.get("checkout") != checkout.sha256 or not place.checkout.is_dir():
        _replace_checkout(bundle, checkout, place)
        place.stamp("checkout", checkout.sha256)
    environment = f"{sys.executable} {sys.version} {gate.sha256}"
    if stamps.get("gate") != environment or not place.python.exists():
        _make_gate(bundle, gate, made, place)
        place.stamp("gate", environment)
    if serving:
        server = made.parts["server"]
        wanted = f"{sys.executable} {sys.version} {server.sha256}"
        if stamps.get("server") != wanted or not place.server_python.exists():
            _make_server(bundle, server, place)
            place.stamp("server", wanted)
    say(f"installed in {place.into}")


def _make_gate(bundle: Path, part: Part, made: Manifest, place: Installed) -> None:
    shutil.rmtree(place.gate, ignore_errors=True)
    # Without pip: a host's Python may lack ensurepip, and nothing is installed by it.
    _run("make a virtual environment", [sys.executable, "-m", "venv", "--without-pip", str(place.gate)])
    site = place.gate / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    extract(bundle, part, site)
    for requirement in made.borrowed:
        _borrow(split(requirement)[0], site)
    (site / "tokgate-checkout.pth").write_text(f"{place.checkout}\n", encoding="utf-8")
    command = place.gate / "bin" / "tokgate"
    command.write_text(f"#!{place.python}\nfrom tokgate.cli.main import main\n\nmain()\n", encoding="utf-8")
    command.chmod(0o755)


def _borrow(name: str, site: Path) -> None:
    """Link a distribution of the host's Python into the gate's environment: its folders, not its neighbours."""
    files = importlib.metadata.distribution(name).files or []
    tops = {file.parts[0] for file in files if not file.parts[0].startswith((".", "/", "__pycache__"))}
    there = Path(str(importlib.metadata.distribution(name).locate_file("")))
    for top in sorted(tops):
        if (there / top).exists():
            (site / top).symlink_to(there / top)


def _replace_checkout(bundle: Path, part: Part, place: Installed) -> None:
    new = place.into / "checkout.new"
    shutil.rmtree(new, ignore_errors=True)
    extract(bundle, part, new)
    (new / ".venv").symlink_to(place.gate)
    (new / SERVING).symlink_to(place.serving)
    shutil.rmtree(place.checkout, ignore_errors=True)
    new.rename(place.checkout)


def _make_server(bundle: Path, part: Part, place: Installed) -> None:
    site = place.serving / "site"
    shutil.rmtree(site, ignore_errors=True)
    extract(bundle, part, site)
    wrapper = place.server_python
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    # A link would not do: beside it, a virtual environment's Python does not find its own pyvenv.cfg.
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    _compile(place)


def _compile(place: Installed) -> None:
    """Compile what a server imports into a folder of its own, so that nothing is written into the host's Python.

    It is found there by the path that it is imported by: SGLang's by the rig's.
    """
    home = Path(str(importlib.metadata.distribution("torch").locate_file("")))
    folders = [
        place.checkout / SERVING / "site",
        *(home / name for name in COMPILED if (home / name).is_dir()),
    ]
    prefix = {"PYTHONPYCACHEPREFIX": str(place.serving / "pyc")}
    workers = str(min(16, os.cpu_count() or 1))
    subprocess.run(
        [sys.executable, "-m", "compileall", "-q", "-j", workers, *map(str, folders)],
        env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | prefix,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,  # files that are templates do not compile, and need not
    )
    say("compiled what a server imports")


def pair_of(rig: str) -> str:
    """Return which of PAIRS a rig's text serves."""
    named = re.search(rf'model_path = "\{{root\}}/{re.escape(SERVING)}/([\w-]+)/model"', rig)
    return named[1] if named is not None and named[1] in PAIRS else "golden"


def make_models(place: Installed, models: Path | None, pair: str = "golden") -> None:
    """Write a golden pair, once; `models` is a folder on a larger or quicker disk."""
    wanted = manifest.digest(place.checkout / RECIPE) + "".join(PAIRS[pair])
    here, stamp = place.serving / pair, f"models/{pair}"
    if place.stamps().get(stamp) == wanted and (here / "truth.json").is_file():
        return
    target = (models or place.serving) / pair
    target.parent.mkdir(parents=True, exist_ok=True)
    make_pair(place, target, *PAIRS[pair])
    if target != here:
        if here.is_symlink():
            here.unlink()
        here.symlink_to(target)
    place.stamp(stamp, wanted)


def make_pair(place: Installed, target: Path, *options: str) -> None:
    """Write a golden pair with the server's own torch and tokenizers."""
    _run(
        "write a golden pair",
        [str(place.server_python), str(place.checkout / RECIPE), str(target), *options],
        environment={"PYTHONPATH": str(place.serving / "site")},
    )
    say(f"wrote a golden pair into {target}")


def bring_caches(bundle: Path, place: Installed) -> None:
    """Lay out what JIT compilers left on an earlier machine, once."""
    file = bundle / "cache.tar.xz"
    if place.caches.exists() or not file.is_file():
        return
    with tarfile.open(file) as packed:
        packed.extractall(place.caches, filter="data")
    say("took over the JIT caches of an earlier call")


def extract(bundle: Path, part: Part, into: Path) -> None:
    """Unpack one part, once it is proven whole."""
    file = bundle / part.file
    try:
        found = manifest.digest(file)
    except OSError as error:
        found = str(error)
    if found != part.sha256:
        give_up(
            tried=f"unpack {file}",
            found=f"{found}, and the manifest says {part.sha256}",
            do="bring the whole bundle here again",
        )
    into.mkdir(parents=True, exist_ok=True)
    with tarfile.open(file) as packed:
        packed.extractall(into, filter="tar")
    say(f"unpacked {part.file}")


def _run(what: str, command: list[str], environment: dict[str, str] | None = None) -> None:
    ended = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    if ended.returncode:
        tail = "\n".join((ended.stderr + ended.stdout).strip().splitlines()[-12:])
        give_up(
            tried=f"{what}: {shlex.join(command)[:300]}",
            found=f"exit code {ended.returncode}\n{tail}",
            do="mend what the last lines name, then run it again",
        )
