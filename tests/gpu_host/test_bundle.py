"""A bundle is whole, or none; it stays below its limit, and says what is heavy where it does not."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import bundle
import manifest
import pytest
import wheels
from manifest import Manifest, Part


def made(parts: dict[str, Part], python: str = "3.12") -> Manifest:
    return Manifest(
        python=python,
        tokgate="0.1.0",
        commit=None,
        made_at="2026-11-30T00:00:00+00:00",
        assumed=(),
        borrowed=(),
        parts=parts,
    )


def wheel(folder: Path, name: str, entries: dict[str, bytes]) -> None:
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as out:
        for path, content in entries.items():
            out.writestr(path, content)


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    whole = made({"gate": Part("gate.tar.xz", "recipe", "abc", 3, {"pydantic": 1.5})})
    whole.write(tmp_path)
    assert manifest.read(tmp_path) == whole


def test_a_folder_without_a_manifest_is_no_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        manifest.read(tmp_path)
    told = capsys.readouterr().err
    assert "no manifest.json" in told
    assert "make gpu-bundle" in told


def test_a_torn_manifest_is_no_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / manifest.NAME).write_text('{"python": "3.12"}', encoding="utf-8")
    with pytest.raises(SystemExit):
        manifest.read(tmp_path)
    assert "cannot be read" in capsys.readouterr().err


def test_two_bundles_of_other_parts_are_not_the_same() -> None:
    first = made({"gate": Part("gate.tar.xz", "recipe", "abc", 3)})
    other = made({"gate": Part("gate.tar.xz", "recipe", "abd", 3)})
    assert first.identity != other.identity


def test_above_the_limit_the_largest_parts_are_named_and_there_is_no_bundle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "server.tar.xz").write_bytes(b"\0" * (3 << 20))
    (tmp_path / "gate.tar.xz").write_bytes(b"\0" * (1 << 20))
    parts = {
        "server": Part("server.tar.xz", "", "", 3 << 20, {"sgl_kernel": 18.2, "transformers": 60.1}),
        "gate": Part("gate.tar.xz", "", "", 1 << 20),
    }
    made(parts).write(tmp_path)
    with pytest.raises(SystemExit):
        bundle.within(tmp_path, parts, 3.5)
    told = capsys.readouterr().err
    assert "below 3.5 MiB" in told
    assert "4.0 MiB in" in told
    assert told.index("3.0 MiB server.tar.xz") < told.index("1.0 MiB gate.tar.xz")
    assert "sgl_kernel 18.2" in told
    assert not (tmp_path / manifest.NAME).exists()


def test_below_the_limit_its_size_is_told(tmp_path: Path) -> None:
    (tmp_path / "gate.tar.xz").write_bytes(b"\0" * (1 << 20))
    assert bundle.within(tmp_path, {}, 1.5) == pytest.approx(1.0)


def test_the_same_tree_is_the_same_archive(tmp_path: Path) -> None:
    digests = set()
    for number in ("1", "2"):
        tree = tmp_path / number
        (tree / "package").mkdir(parents=True)
        (tree / "package" / "module.py").write_text("x = 1\n", encoding="utf-8")
        (tree / "package" / "__pycache__").mkdir()
        (tree / "package" / "__pycache__" / f"module.{number}.pyc").write_bytes(number.encode())
        digests.add(bundle.pack(tree, tmp_path / f"{number}.tar.xz", made_from="").sha256)
    assert len(digests) == 1


def test_another_content_of_the_same_size_has_another_date(tmp_path: Path) -> None:
    """Else Python would go on with the .pyc of the old one."""
    dates = set()
    for number in ("1", "2"):
        tree = tmp_path / number
        tree.mkdir()
        (tree / "module.py").write_text(f"x = {number}\n", encoding="utf-8")
        bundle.pack(tree, tmp_path / f"{number}.tar.xz", made_from="")
        with tarfile.open(tmp_path / f"{number}.tar.xz") as packed:
            dates.add(packed.getmember("module.py").mtime)
    assert len(dates) == 2


def test_a_part_whose_recipe_has_not_changed_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "gate.tar.xz"
    filled = []

    def fill(site: Path, place: Path) -> None:
        filled.append(place)
        site.mkdir()
        (site / "module.py").write_text("x = 1\n", encoding="utf-8")

    first = bundle._site_part(file, "recipe", fill, None)
    assert bundle._site_part(file, "recipe", fill, first) == first
    assert len(filled) == 1
    assert bundle._site_part(file, "another recipe", fill, first).made_from == "another recipe"
    file.write_bytes(b"torn")
    bundle._site_part(file, "recipe", fill, first)
    assert len(filled) == 3


def test_what_is_on_a_diet_stays_behind(tmp_path: Path) -> None:
    entries = {
        "sgl_kernel/sm90/ops.so": b"wanted",
        "sgl_kernel/flash_ops.abi3.so": b"1 GB",
        "benches/run.py": b"no",
    }
    wheel(tmp_path / "wheels", "sglang_kernel", entries)
    wheel(tmp_path / "wheels", "other", {"other/flash_ops.abi3.so": b"another's"})
    diet = wheels.Diet(only=("sgl_kernel/*",), leave=("sgl_kernel/flash_ops.abi3.so",))
    wheels.unpack(tmp_path / "wheels", tmp_path / "site", {"sglang-kernel": diet})
    left = {
        str(path.relative_to(tmp_path / "site")) for path in (tmp_path / "site").rglob("*") if path.is_file()
    }
    assert left == {"sgl_kernel/sm90/ops.so", "other/flash_ops.abi3.so"}


def test_what_a_wheel_has_for_site_packages_goes_there_and_its_scripts_nowhere(tmp_path: Path) -> None:
    wheel(tmp_path / "wheels", "one", {"one-1.0.data/purelib/one.py": b"", "one-1.0.data/scripts/one": b""})
    wheels.unpack(tmp_path / "wheels", tmp_path / "site", {})
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["one.py"]


def test_a_wheel_that_reaches_out_of_its_folder_is_refused(tmp_path: Path) -> None:
    wheel(tmp_path / "wheels", "one", {"../one.py": b""})
    with pytest.raises(ValueError, match=r"\.\./one\.py"):
        wheels.unpack(tmp_path / "wheels", tmp_path / "site", {})


def test_all_that_the_driver_consists_of_is_there() -> None:
    assert [name for name in bundle.DRIVER if not (bundle.HERE / name).is_file()] == []


def test_every_module_that_the_driver_imports_travels() -> None:
    known = {path.stem for path in bundle.HERE.glob("*.py")}
    for name in (name for name in bundle.DRIVER if name.endswith(".py")):
        text = (bundle.HERE / name).read_text(encoding="utf-8")
        words = (line.split() for line in text.splitlines())
        imported = {line[1] for line in words if len(line) > 1 and line[0] in ("from", "import")}
        assert {f"{module}.py" for module in imported & known} <= set(bundle.DRIVER), name


def test_the_gate_travels_with_all_that_it_needs() -> None:
    names = bundle.carried_files()
    for needed in (
        "perf_tests/test_clean_slate.py",
        "rigs/h200.toml",
        "rigs/sglang-gpu/large_golden_pair.py",
        "probe/tokgate_probe/__init__.py",
        "plant/tokgate_plant.py",
        "tokgate/cli/main.py",
        "conftest.py",
        "pyproject.toml",
    ):
        assert needed in names
    assert not [name for name in names if name.startswith(("tests/", "docs/", ".sglang-cpu/"))]


def test_pins_cover_what_the_gate_depends_on() -> None:
    """Name each dependency of pyproject.toml in requirements.txt or borrowed.txt."""
    import tomllib

    project = tomllib.loads((bundle.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {_name(line) for line in (*project["dependencies"], *project["optional-dependencies"]["sim"])}
    pinned = {
        _name(line)
        for file in ("requirements.txt", "borrowed.txt")
        for line in bundle._lines(bundle.HERE / file)
    }
    assert wanted <= pinned


def _name(requirement: str) -> str:
    from host_check import split

    return split(requirement)[0].lower()
