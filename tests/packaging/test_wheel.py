"""What a wheel of tokgate holds, and what it keeps to itself."""

from __future__ import annotations

import email
import hashlib
import stat
import tarfile
import zipfile
from email.message import Message
from pathlib import Path

import pytest

import tokgate

from .built import PRIVATE, ROOT, Built, tracked

# Servers of these rigs are built in a checkout, and baselines are stored there.
STAY = ("baselines/h200", "rigs/h200", "rigs/sglang-", "rigs/sim-8gpu/")
# Top-level folder -> what it is called in a wheel.
PACKED = {
    "tokgate": "tokgate",
    "fixtures": "tokgate/fixtures",
    "perf_tests": "tokgate/perf_tests",
    **{name: f"tokgate/shipped/{name}" for name in ("baselines", "plant", "probe", "rigs", "simbox")},
}

# An owner of this checkout may have files of his own here: what ships is what git has.
OWNED = ("baselines", "perf_tests", "rigs")


def shipping(folder: str) -> list[str]:
    """Return the files of a folder at the top that a wheel is to have."""
    return [name for name in tracked(folder, new=folder not in OWNED) if not name.startswith(STAY)]


def metadata(built: Built) -> Message:
    with zipfile.ZipFile(built.wheel) as packed:
        (name,) = (n for n in packed.namelist() if n.startswith("tokgate-") and n.endswith("/METADATA"))
        return email.message_from_bytes(packed.read(name))


def test_its_only_names_at_the_top_are_tokgate_and_what_is_said_of_it(built: Built) -> None:
    tops = {name.split("/")[0] for name in built.names()}
    assert tops == {"tokgate", f"tokgate-{tokgate.__version__}.dist-info"}


@pytest.mark.parametrize("folder", PACKED)
def test_every_file_of_a_folder_is_in_it(built: Built, folder: str) -> None:
    wanted = {
        PACKED[folder] + name.removeprefix(folder)
        for name in shipping(folder)
        if not (ROOT / name).is_symlink()
    }
    assert len(wanted) > 0
    assert wanted - built.names() == set()


def test_nothing_else_is_in_it(built: Built) -> None:
    known = {PACKED[f] + name.removeprefix(f) for f in PACKED for name in shipping(f)}
    more = {name for name in built.names() if not name.startswith("tokgate-")} - known
    assert more == set()


def test_what_is_private_in_a_checkout_stays_there(built: Built) -> None:
    with tarfile.open(built.sdist) as packed:
        packed_names = {Path(name).name for name in packed.getnames()}
    packed_names |= {Path(name).name for name in built.names()}
    assert "sim-8gpu.toml" in packed_names
    assert packed_names & {Path(name).name for name in PRIVATE} == set()


def test_what_is_run_may_be_run(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as packed:
        programs = [i for i in packed.infolist() if "/bin/" in i.filename]
    assert len(programs) > 1
    assert all(program.external_attr >> 16 & stat.S_IXUSR for program in programs)


def test_version_and_licence_are_told(built: Built) -> None:
    told = metadata(built)
    assert told["Version"] == tokgate.__version__
    assert told["License-Expression"] == "Apache-2.0"
    assert "LICENSE" in told.get_all("License-File", [])
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_what_is_vendored_brings_its_licence(built: Built) -> None:
    licences = {n for n in built.names() if "/vendor/" in n and Path(n).name.startswith("LICENSE")}
    vendored = {str(Path(n).parent) for n in built.names() if "/vendor/" in n and n.endswith(".js")}
    assert vendored == {str(Path(n).parent) for n in licences if n.startswith("tokgate/")}


def test_the_simulated_box_is_an_extra(built: Built) -> None:
    extra = [told for told in metadata(built).get_all("Requires-Dist", []) if 'extra == "sim"' in told]
    assert any(told.startswith("setproctitle") for told in extra)


def test_the_sdist_builds_the_same_wheel(built: Built) -> None:
    assert contents(built.again) == contents(built.wheel)


def test_the_sdist_has_no_links(built: Built) -> None:
    """Whoever unpacks it may not be able to make any."""
    with tarfile.open(built.sdist) as packed:
        assert [m.name for m in packed.getmembers() if not (m.isfile() or m.isdir())] == []


def contents(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as packed:
        return {
            name: hashlib.sha256(packed.read(name)).hexdigest()
            for name in packed.namelist()
            if not name.endswith("/RECORD")
        }
