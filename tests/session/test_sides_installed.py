"""Sides of an installed package are copies of it: patches on top, or taken out; the rig's own on every side."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.side_trees import FILE, WORDS, change, commit, state_of
from tokgate.errors import SideFault
from tokgate.hosts.sides import make
from tokgate.records.side import BASE, HEAD, SideState
from tokgate.rig.sides import PatchText

from .opened_sides import OTHER, Open, installed, opened, patch, repository, side, text, uncommitted_patch

__all__ = ["installed", "opened", "repository"]


def test_patches_of_an_installed_package_go_onto_a_copy(
    opened: Open, repository: Path, installed: Path
) -> None:
    change(repository)
    change(repository, "README.md", line=0, text="other words")
    made = patch(repository, "a.patch")
    without_python = PatchText(name="b.patch", text=made.text.replace("/python/sglang/", "/sglang/"))
    before = state_of(installed)

    for one in (made, without_python):
        sides = opened(path=str(installed), patches=(one,))
        assert text(sides, BASE) == WORDS
        assert "changed = True" in text(sides, HEAD)
        assert side(sides, HEAD).kind == "copy"
        assert side(sides, HEAD).source == str(installed / "sglang")
        assert side(sides, HEAD).changed == (FILE,)
        assert not (Path(side(sides, HEAD).root) / "sglang/__pycache__").exists()
        assert sides.made is not None
        assert any("README.md" in note for note in sides.made.notes)
    assert state_of(installed) == before


def test_patches_that_are_in_already_are_taken_out_for_the_base(
    opened: Open, repository: Path, installed: Path
) -> None:
    first = uncommitted_patch(repository, "1.patch")
    second = uncommitted_patch(repository, "2.patch", line=30)
    subprocess.run(
        ["git", "apply", "-p2"], input=first.text + second.text, text=True, cwd=installed, check=True
    )
    spec: dict[str, Any] = {"path": str(installed), "patches": (first, second)}

    with pytest.raises(SideFault, match=r"1\.patch is in what it should be applied to already"):
        opened(**spec)
    sides = opened(**spec, applied=True, question="instrumented")
    sides.make(["upto-1"])

    assert text(sides, BASE) == WORDS
    assert "patched_3 = True" in text(sides, "upto-1")
    assert "patched_30" not in text(sides, "upto-1")
    assert "patched_30 = True" in text(sides, HEAD)
    assert [u.name for u in sides.units] == ["1.patch", "2.patch"]


def test_the_sides_of_what_is_installed_from_a_checkout_need_no_path(
    opened: Open, repository: Path, installed: Path
) -> None:
    with pytest.raises(SideFault, match="is an installed package and no checkout"):
        opened(path=str(installed), base="HEAD")
    with pytest.raises(SideFault, match=r"nothing in .* is uncommitted"):
        opened(path=str(repository / "python"), question="instrumented")
    change(repository)
    sides = opened(path=str(repository / "python"), question="instrumented")
    assert text(sides, BASE) == WORDS
    assert "changed = True" in text(sides, HEAD)
    assert side(sides, HEAD).source == str(repository)


def test_required_patches_are_on_every_side_or_found_there(opened: Open, repository: Path) -> None:
    support = uncommitted_patch(repository, "support.patch", OTHER, line=5)
    change(repository)
    commit(repository, "second")

    sides = opened(repository=str(repository), base="HEAD~1", head="HEAD", required=(support,))
    assert all("patched_5 = True" in text(sides, name, "srt/other.py") for name in (BASE, HEAD))
    assert side(sides, HEAD).changed == (FILE,)
    assert [u.id for u in side(sides, HEAD).required] == [support.sha256]

    # The user's tree has it, not yet committed: it is no part of the change.
    change(repository, OTHER, line=5, text="patched_5 = True")
    change(repository, line=30)
    dirty = opened(repository=str(repository), base="HEAD", required=(support,))
    assert side(dirty, HEAD).changed == (FILE,)
    assert "the required patch support.patch is in it already" in side(dirty, HEAD).notes


def test_a_required_patch_that_is_the_change_leaves_nothing_to_measure(
    opened: Open, repository: Path
) -> None:
    support = uncommitted_patch(repository, "support.patch")
    change(repository, text="patched_3 = True")
    change(repository, "docs/a.md", line=0, text="other words")
    commit(repository, "the same as support.patch, and words")
    with pytest.raises(SideFault, match=r"nothing that a server imports differs.*support\.patch.*docs/a\.md"):
        opened(repository=str(repository), base="HEAD~1", head="HEAD", required=(support,))


def test_sides_that_come_out_as_one_tree_are_refused(
    opened: Open, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(repository)
    commit(repository, "second")

    def alike(*arguments: Any) -> SideState:
        return make(*arguments).model_copy(update={"tree": "0" * 64, "carried": ("sglang/srt/worker.py",)})

    monkeypatch.setattr("tokgate.session.sides.make", alike)
    with pytest.raises(
        SideFault, match=r"are the same tree.*taken over from the checkout for both sides: .*worker"
    ):
        opened(repository=str(repository), base="HEAD~1", head="HEAD")


def test_a_plain_session_gets_a_tree_with_them_unless_they_are_in(
    opened: Open, repository: Path, installed: Path
) -> None:
    support = uncommitted_patch(repository, "support.patch")

    sides = opened(path=str(installed), required=(support,))
    root = sides.root_of(None)
    assert root is not None
    assert "patched_3 = True" in (Path(root) / "sglang/srt/worker.py").read_text()

    subprocess.run(["git", "apply", "-p2"], input=support.text, text=True, cwd=installed, check=True)
    found = opened(path=str(installed), required=(support,))
    assert found.root_of(None) is None
    assert side(found, HEAD).kind == "installed"
