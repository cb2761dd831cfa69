"""Whether what a rig requires is in its SGLang, or can be applied: to the installed one, and to HEAD of a checkout."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.hosts.side_sessions import rig_on
from tests.hosts.side_trees import FILE, change, checkout, commit, git, patch_of, state_of
from tokgate.records.doctor import Examined, State
from tokgate.rig.machine import HostSpec
from tokgate.rig.models import Rig
from tokgate.rig.sides import PatchText, SidesSpec
from tokgate.session.doctor.checks import CHECKS
from tokgate.session.doctor.examine import examine

ROOT = Path(__file__).parents[3]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return checkout(tmp_path / "sglang")


@pytest.fixture
def site(repository: Path, tmp_path: Path) -> Path:
    """The same SGLang, installed."""
    shutil.copytree(repository / "python/sglang", tmp_path / "site/sglang")
    return tmp_path / "site"


def asked(site: Path, repository: Path | None, *required: PatchText) -> list[Examined]:
    rig: Rig = rig_on(HostSpec(work_dir=str(site.parent / "work")), SidesSpec(), path=str(site))
    rig = rig.model_copy(
        update={"sides": None, "server": rig.server.model_copy(update={"required": required})}
    )
    found = examine(
        rig,
        root=ROOT,
        reports=site.parent / "reports",
        checks=[one for one in CHECKS if one.name == "sglang.patches"],
        repository=str(repository) if repository is not None else None,
    )
    return [one for one in found.results if one.check == "sglang.patches"]


def made_patch(repository: Path, name: str, *, line: int) -> PatchText:
    change(repository, line=line, text=f"patched_{line} = True")
    text = patch_of(repository)
    git(repository, "checkout", "-q", "--", FILE)
    return PatchText(name=name, text=text)


def test_what_can_be_applied_and_what_is_in_it_is_told_and_nothing_is_touched(
    repository: Path, site: Path
) -> None:
    first, second = (made_patch(repository, f"{n}.patch", line=n) for n in (3, 30))
    change(repository, line=3, text="patched_3 = True")
    commit(repository, "3.patch is merged")
    before = state_of(repository), state_of(site)
    installed, has, takes = asked(site, repository, first, second)
    assert [one.state for one in (installed, has, takes)] == [State.OK] * 3
    assert (
        installed.found
        == f"3.patch, 30.patch can be applied to the SGLang in {site / 'sglang'}: each session starts its servers from a copy"
    )
    assert has.found == f"HEAD of {repository} has 3.patch already"
    assert takes.found.startswith(f"30.patch can be applied to HEAD of {repository}")
    assert (state_of(repository), state_of(site)) == before


def test_one_that_does_not_apply_fails_with_the_place(repository: Path, site: Path) -> None:
    patch = made_patch(repository, "support.patch", line=3)
    (site / "sglang/srt/worker.py").write_text("rewritten = True\n")
    change(repository, line=4, text="another = True")
    commit(repository, "HEAD has moved on")
    installed, head = asked(site, repository, patch)
    assert [installed.state, head.state] == [State.FAIL, State.FAIL]
    assert f"the patch support.patch does not apply at {FILE}, line 1" in installed.found
    assert installed.found.startswith(f"the SGLang in {site / 'sglang'}: ")
    assert head.found.startswith(f"HEAD of {repository}: ")
    assert "server.required_patches" in str(installed.do)


def test_a_rig_that_requires_none_is_not_asked(repository: Path, site: Path) -> None:
    assert asked(site, repository) == []
