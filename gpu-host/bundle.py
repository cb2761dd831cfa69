"""Build the bundle for an offline GPU host: one folder with all it needs, below a size limit.

    make gpu-bundle [BUNDLE=.gpu-host] [SIZE_LIMIT_MIB=60] [HOST_PYTHON=3.12]

    checkout.tar.xz   tokgate as it lies here, with perf_tests, rigs, baselines, probe and plant
    gate.tar.xz       what the gate imports
    server.tar.xz     SGLang's subset (rigs/sglang-gpu); not with --gate-only
    run.sh, *.py      the driver, to run there
    manifest.json     what it is and what it expects of the host; written last

It runs on a machine with a package registry and needs no GPU there. A part whose recipe has not changed is kept.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import shutil
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NoReturn

import manifest
import wheels
from manifest import Manifest, Part
from telling import give_up, say

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SERVER = ROOT / "rigs" / "sglang-gpu"
PRESET: Final = 6  # of xz: 9 takes half as long again for 2 % less
RECIPE = 1  # count up where wheels.py lays the same wheels out otherwise: sites are then made anew
# What a gate needs of the checkout, and the simulated box, to try an installed bundle without a GPU.
CARRIED = (
    *("baselines", "benchmarks", "fixtures", "perf_tests", "plant", "probe", "rigs", "selftests", "simbox"),
    *("tokgate", "conftest.py", "pyproject.toml", "CHANGELOG.md", "LICENSE", "README.md"),
)
DRIVER = (
    *(
        "run.sh",
        "arguments.py",
        "driver.py",
        "work.py",
        "telling.py",
        "manifest.py",
        "host_check.py",
        "host_install.py",
    ),
    *("campaign.py", "ledger.py", "jobs.py", "planted.py", "disturb.py", "running.py", "packing.py"),
    *("visit.py", "captures.py", "slower.py"),
)
COMMIT = ".tokgate-commit"  # as tokgate/session/commit.py reads it


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--into", type=Path, default=ROOT / ".gpu-host")
    parser.add_argument("--size-limit-mib", type=float, default=60.0, help="of the whole folder")
    parser.add_argument("--python", default="3.12", help="the host's, as in 3.12")
    parser.add_argument(
        "--gate-only", action="store_true", help="without SGLang: for a rig whose server is there"
    )
    asked = parser.parse_args()
    build(asked.into, asked.python, limit_mib=asked.size_limit_mib, server=not asked.gate_only)


def build(into: Path, python: str, *, limit_mib: float, server: bool) -> Manifest:
    """Bring a bundle up to date. Gives up, and leaves no manifest, where it is larger than the limit."""
    into.mkdir(parents=True, exist_ok=True)
    before = _before(into)
    parts = {"checkout": checkout_part(into), "gate": _gate_part(into, python, before.get("gate"))}
    if server:
        parts["server"] = _server_part(into, python, before.get("server"))
    else:
        (into / "server.tar.xz").unlink(missing_ok=True)
    for name in DRIVER:
        shutil.copy2(HERE / name, into / name)
    made = Manifest(
        python=python,
        tokgate=_version(),
        commit=commit(),
        made_at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        assumed=_lines(SERVER / "assumed.txt") if server else (),
        borrowed=_lines(HERE / "borrowed.txt"),
        parts=parts,
    )
    total = within(into, parts, limit_mib)
    made.write(into)
    say(f"bundle {made.identity} in {into}: {total:.1f} MiB of {limit_mib:g}, for Python {python}")
    return made


def within(into: Path, parts: dict[str, Part], limit_mib: float) -> float:
    """Return the folder's size, MiB; give up above the limit, with what is heaviest."""
    total = sum(f.stat().st_size for f in into.rglob("*") if f.is_file() and f.name != manifest.NAME) / 2**20
    if total > limit_mib:
        _too_large(into, parts, total, limit_mib)
    return total


def _too_large(into: Path, parts: dict[str, Part], total: float, limit_mib: float) -> NoReturn:
    (into / manifest.NAME).unlink(missing_ok=True)
    told = [f"{total:.1f} MiB in {into}; largest parts:"]
    files = {f.name: f.stat().st_size / 2**20 for f in into.iterdir() if f.is_file()}
    of = {part.file: part.largest for part in parts.values()}
    for name, size in sorted(files.items(), key=lambda pair: -pair[1])[:4]:
        heaviest = ", ".join(f"{entry} {mib:.1f}" for entry, mib in list(of.get(name, {}).items())[:6])
        told.append(f"{size:7.1f} MiB {name}" + (f" (before compression: {heaviest})" if heaviest else ""))
    give_up(
        tried=f"keep the bundle below {limit_mib:g} MiB",
        found="\n".join(told),
        do="leave more out (rigs/sglang-gpu/left_out.toml, CARRIED in gpu-host/bundle.py), or allow more: "
        "make gpu-bundle SIZE_LIMIT_MIB=…",
    )


def checkout_part(into: Path) -> Part:
    """Pack tokgate as it lies here: what git has and what it does not ignore."""
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place)
        for name in carried_files():
            target = tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
        (tree / COMMIT).write_text(f"{commit() or ''}\n", encoding="utf-8")
        return pack(tree, into / "checkout.tar.xz", made_from="")


def carried_files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        give_up(
            tried=f"list the files of {ROOT}",
            found=listed.stderr.strip() or "git failed",
            do="build the bundle in a git checkout",
        )
    names = listed.stdout.split("\0")
    return sorted(n for n in names if n.split("/")[0] in CARRIED and (ROOT / n).exists())


def commit() -> str | None:
    """Return the checkout's commit, "+dirty" behind it where files differ from it; None outside git."""
    told = [
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        for words in (("rev-parse", "HEAD"), ("status", "--porcelain"))
    ]
    if any(one.returncode for one in told):
        return None
    return told[0].stdout.strip() + ("+dirty" if told[1].stdout.strip() else "")


def _gate_part(into: Path, python: str, before: Part | None) -> Part:
    requirements = HERE / "requirements.txt"

    def fill(site: Path, place: Path) -> None:
        wheels.download(requirements, python, place / "wheels")
        wheels.unpack(place / "wheels", site, {})

    return _site_part(into / "gate.tar.xz", recipe(python, (requirements,)), fill, before)


def _server_part(into: Path, python: str, before: Part | None) -> Part:
    requirements, diet = SERVER / "requirements.txt", SERVER / "left_out.toml"

    def fill(site: Path, place: Path) -> None:
        wheels.download(requirements, python, place / "wheels")
        wheels.unpack(place / "wheels", site, wheels.read_diets(diet))

    return _site_part(into / "server.tar.xz", recipe(python, (requirements, diet)), fill, before)


def recipe(python: str, files: Iterable[Path]) -> str:
    """Return a hash of what a part is made from."""
    made = hashlib.sha256(f"{python} {PRESET} {RECIPE}".encode())
    for path in files:
        made.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return made.hexdigest()


def _site_part(file: Path, made_from: str, fill: Callable[[Path, Path], None], before: Part | None) -> Part:
    if before and before.made_from == made_from and file.is_file() and manifest.digest(file) == before.sha256:
        say(f"{file.name}: kept, made from the same recipe")
        return before
    with tempfile.TemporaryDirectory() as place:
        site = Path(place, "site")
        say(f"{file.name}: fetching wheels")
        fill(site, Path(place))
        return pack(site, file, made_from=made_from)


def pack(tree: Path, file: Path, *, made_from: str) -> Part:
    """Write a tar.xz that is the same for the same content."""
    largest = dict(sorted(wheels.sizes(tree), key=lambda pair: -pair[1])[:8])
    say(f"{file.name}: packing {sum(mib for _, mib in wheels.sizes(tree)):.0f} MiB")
    temporary = file.with_name(f"{file.name}.new")
    with tarfile.open(temporary, "w:xz", preset=PRESET) as out:
        for path in sorted(tree.rglob("*")):
            if "__pycache__" not in path.parts:
                out.add(path, str(path.relative_to(tree)), recursive=False, filter=_dated(path))
    temporary.replace(file)
    say(f"{file.name}: {file.stat().st_size / 2**20:.1f} MiB")
    rounded = {name: round(mib, 1) for name, mib in largest.items()}
    return Part(file.name, made_from, manifest.digest(file), file.stat().st_size, rounded)


def _dated(path: Path) -> Callable[[tarfile.TarInfo], tarfile.TarInfo]:
    """Nobody's file, dated by its content: Python takes a .pyc for current by its source's date and size alone."""
    crc = zlib.crc32(path.read_bytes()) if path.is_file() else 0

    def change(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = 1_500_000_000 + crc % 200_000_000
        return entry

    return change


def _before(into: Path) -> dict[str, Part]:
    return manifest.read(into).parts if (into / manifest.NAME).is_file() else {}


def _lines(file: Path) -> tuple[str, ...]:
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def _version() -> str:
    text = (ROOT / "tokgate" / "__init__.py").read_text(encoding="utf-8")
    return next(line.split('"')[1] for line in text.splitlines() if line.startswith("__version__"))


if __name__ == "__main__":
    main()
