"""Packages and modules beside sglang in a checkout: each side has its own, or it is told that both have another one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.hosts.side_sessions import made, rig_on
from tests.hosts.side_trees import change, checkout, commit, patch_of
from tokgate.errors import SideFault
from tokgate.hosts.connection import connect
from tokgate.records import EnvironmentTruth, Launch, VariableState, VariableTruth
from tokgate.records.side import BASE, HEAD
from tokgate.rig.machine import HostSpec
from tokgate.rig.sides import PatchText, SidesSpec
from tokgate.session.sides import Sides

EXTRA = "python/sgl_kernel_extra/__init__.py"
HELPER = "python/fast_helper.py"
SAYS = "import sgl_kernel_extra, fast_helper; print(sgl_kernel_extra.SAYS, fast_helper.SAYS)"


class Stand(NamedTuple):
    repository: Path
    site: Path  # what the server's Python has in PYTHONPATH besides
    spec: HostSpec

    def opened(self, base: str = "HEAD~1", head: str | None = "HEAD", *, path: str | None = None) -> Sides:
        rig = rig_on(
            self.spec,
            SidesSpec(repository=str(self.repository), base=base, head=head),
            path=path or f"{self.site}:{self.repository / 'python'}",
        )
        sides = Sides(connect(self.spec), rig, run_id="run", keep=lambda _: None, say=lambda _: None)
        try:
            sides.open()
        except SideFault:
            sides.close()
            raise
        return sides

    def run(self, sides: Sides, side: str, code: str = SAYS) -> str:
        """Run a Python as a server of this side is started."""
        path = f"{sides.root_of(side)}:{self.site}:{self.repository / 'python'}"
        ran = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        return ran.stdout.strip() or ran.stderr.strip().splitlines()[-1]


@pytest.fixture
def stand(tmp_path: Path, here: HostSpec) -> Stand:
    """A checkout with a package and a module beside sglang, installed from where it lies."""
    repository = checkout(tmp_path / "sglang")
    (repository / EXTRA).parent.mkdir()
    (repository / EXTRA).write_text("SAYS = 'first'\n")
    (repository / HELPER).write_text("SAYS = 'first'\n")
    (repository / "python/setup.py").write_text("")
    commit(repository, "packages beside sglang")
    (tmp_path / "site").mkdir()
    return Stand(repository, tmp_path / "site", here)


def test_each_side_has_its_own_of_what_lies_beside_the_package(stand: Stand) -> None:
    (stand.repository / EXTRA).write_text("SAYS = 'second'\n")
    (stand.repository / HELPER).write_text("SAYS = 'second'\n")
    (stand.repository / "python/sgl_kernel_extra/_version.py").write_text("generated = 1\n")
    commit(stand.repository, "of them alone")
    (stand.repository / EXTRA).write_text("SAYS = 'not committed'\n")

    sides = stand.opened()
    try:
        assert stand.run(sides, BASE) == "first first"
        assert stand.run(sides, HEAD) == "second second"
        head = made(sides).sides[1]
        assert head.beside == ("fast_helper.py", "sgl_kernel_extra")
        assert set(head.changed) == {EXTRA, HELPER}
        assert "sgl_kernel_extra/_version.py" in head.carried
        assert made(sides).imported == (
            "python/sglang/",
            "python/fast_helper.py",
            "python/sgl_kernel_extra/",
        )
        assert any("beside sglang: fast_helper.py, sgl_kernel_extra" in note for note in made(sides).notes)

        proof = sides.proof(LAUNCH, truth(str(sides.root_of(HEAD))))
        assert proof is not None
        assert proof.proven, proof.why
        assert set(proof.changed_imported) == {EXTRA, HELPER}
        assert sides.at_the_end(proof).proven

        # What the rig's own start-up puts in front of it is found, as for the package itself.
        (stand.site / "other/sgl_kernel_extra").mkdir(parents=True)
        (stand.site / "other/sgl_kernel_extra/__init__.py").touch()
        start = f"import sys\nsys.path.insert(0, {str(stand.site / 'other')!r})\n"
        (stand.site / "sitecustomize.py").write_text(start)
        doubted = sides.proof(LAUNCH, truth(f"{sides.root_of(HEAD)}:{stand.site}"))
        assert doubted is not None
        assert f"finds sgl_kernel_extra in {stand.site / 'other'}" in doubted.why[0]

        (Path(head.root) / "sgl_kernel_extra/__init__.py").write_text("SAYS = 'another'\n")
        assert "is not what it was" in sides.at_the_end(proof).why[0]
    finally:
        sides.close()


LAUNCH = Launch(id="01-baseline", arm="baseline", role="control", side=HEAD)


def truth(root: str) -> EnvironmentTruth:
    row = VariableTruth(
        pid=1,
        process="scheduler TP0",
        variable="PYTHONPATH",
        wanted=root,
        found=root,
        state=VariableState.PRESENT,
    )
    return EnvironmentTruth(processes=(), rows=(row,))


def test_a_package_that_the_head_adds_is_not_the_checkout_s_for_the_base(stand: Stand) -> None:
    """The base imports it where it is there: from the user's own checkout, if nothing stood in its place."""
    (stand.repository / "python/brand_new.py").write_text("SAYS = 'there'\n")
    change(stand.repository)

    sides = stand.opened(base="HEAD", head=None)
    try:
        code = "import brand_new; print(brand_new.SAYS)"
        assert stand.run(sides, HEAD, code) == "there"
        assert stand.run(sides, BASE, code).startswith("ModuleNotFoundError")
        assert any("it has no brand_new" in note for note in made(sides).sides[0].notes)
    finally:
        sides.close()


def test_what_servers_import_from_elsewhere_is_refused_where_it_differs_and_told_where_it_does_not(
    stand: Stand,
) -> None:
    (stand.site / "sgl_kernel_extra").mkdir()
    (stand.site / "sgl_kernel_extra/__init__.py").write_text("SAYS = 'of the rig'\n")
    change(stand.repository)
    commit(stand.repository, "of the package alone")
    sides = stand.opened()
    sides.close()
    (told,) = [note for note in made(sides).notes if "sgl_kernel_extra is not served" in note]
    assert f"servers import sgl_kernel_extra from {stand.site / 'sgl_kernel_extra'}" in told
    assert made(sides).sides[1].beside == ("fast_helper.py",)

    (stand.repository / EXTRA).write_text("SAYS = 'second'\n")
    commit(stand.repository, "of both")
    with pytest.raises(SideFault) as caught:
        stand.opened()
    assert f"{EXTRA}: servers import sgl_kernel_extra from {stand.site}" in caught.value.found
    assert "pip uninstall" in caught.value.do
    assert list((Path(stand.spec.work_dir) / "sides").glob("*")) == []


def test_what_python_runs_when_it_starts_and_what_stands_for_its_own_library_is_on_no_side(
    stand: Stand,
) -> None:
    (stand.repository / "python/json.py").write_text("raise SystemExit('planted')\n")
    change(stand.repository)
    commit(stand.repository, "a json.py")
    sides = stand.opened(path=str(stand.site))
    try:
        root = Path(str(sides.root_of(HEAD)))
        assert sorted(one.name for one in root.iterdir()) == ["fast_helper.py", "sgl_kernel_extra", "sglang"]
        assert any("json.py is not served" in note for note in made(sides).notes)
    finally:
        sides.close()
    (stand.repository / "python/sitecustomize.py").write_text("raise SystemExit('planted')\n")
    change(stand.repository, line=7)
    commit(stand.repository, "a sitecustomize.py")
    with pytest.raises(SideFault, match=r"sitecustomize\.py: Python runs such a file when it starts"):
        stand.opened(path=str(stand.site))


def test_a_patch_of_what_is_installed_beside_the_package_is_refused(stand: Stand) -> None:
    (stand.repository / EXTRA).write_text("SAYS = 'second'\n")
    change(stand.repository)
    text = patch_of(stand.repository)
    site = stand.site
    for name in ("sglang", "sgl_kernel_extra"):
        (site / name).mkdir()
    for name in ("sglang/__init__.py", "sgl_kernel_extra/__init__.py"):
        (site / name).write_text("")
    spec = SidesSpec(patches=(PatchText(name="both.patch", text=text),))
    (site / "sglang/srt").mkdir()
    (site / "sglang/srt/worker.py").write_text((stand.repository / "python/sglang/srt/other.py").read_text())
    sides = Sides(
        connect(stand.spec),
        rig_on(stand.spec, spec, path=str(site)),
        run_id="run",
        keep=lambda _: None,
        say=lambda _: None,
    )
    with pytest.raises(SideFault, match=r"both\.patch changes python/sgl_kernel_extra/__init__\.py"):
        sides.open()
