"""Trees of somebody else's making: nothing in them is executed by the gate, nothing outside is read or removed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.hosts.side_sessions import made, sides_on
from tests.hosts.side_trees import FILE, change, checkout, commit, git, patch_of, state_of
from tokgate.errors import SideFault
from tokgate.records.side import BASE, HEAD
from tokgate.rig.machine import HostSpec
from tokgate.rig.sides import PatchText, SidesSpec

ODD = (
    "new\nline.py",
    "quo'te\".py",
    "$(touch evil).py",
    "; touch evil;.py",
    "-rf.py",
    "back\\slash.py",
    " .py",
)


@pytest.fixture
def hostile(tmp_path: Path, canary: Path) -> Path:
    """A checkout whose git config, attributes, hooks and Python start-up files all run the canary."""
    repository = checkout(tmp_path / "sglang")
    for key in (
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "diff.external",
        "core.askPass",
        "core.alternateRefsCommand",
        "gpg.program",
    ):
        git(repository, "config", key, f"{canary} {key}")
    for kind in ("clean", "smudge", "process"):
        git(repository, "config", f"filter.evil=x.{kind}", f"{canary} filter-{kind}")
        git(repository, "config", f"filter.evil.{kind}", f"{canary} filter-{kind}")
    git(repository, "config", "filter.evil.required", "true")
    git(repository, "config", "log.showSignature", "true")
    for kind in ("command", "textconv"):
        git(repository, "config", f"diff.evil.{kind}", f"{canary} diff-{kind}")
    git(repository, "config", "merge.evil.driver", f"{canary} merge")
    git(repository, "config", "remote.origin.url", f"ext::{canary} remote")
    git(repository, "config", "remote.origin.promisor", "true")
    git(repository, "config", "core.hooksPath", str(repository / "hooks"))
    (repository / "hooks").mkdir()
    for hook in (
        "post-checkout",
        "post-index-change",
        "pre-commit",
        "reference-transaction",
        "fsmonitor-watchman",
    ):
        (repository / "hooks" / hook).write_text(f"#!/bin/sh\n{canary} hook-{hook}\n")
        (repository / "hooks" / hook).chmod(0o755)
    attributes = "* filter=evil diff=evil merge=evil text eol=crlf ident working-tree-encoding=UTF-16\n"
    (repository / "python/.gitattributes").write_text(attributes)
    for folder in (repository, repository / "python", repository / "python/sglang"):
        for name in ("sitecustomize.py", "usercustomize.py", "json.py", "pathlib.py", "subprocess.py"):
            (folder / name).write_text(f"import os\nos.system('{canary} {name}')\n")
    (repository / "python/evil.pth").write_text(f"import os; os.system('{canary} pth')\n")
    return repository


def test_nothing_of_a_hostile_checkout_is_executed(here: HostSpec, hostile: Path, tmp_path: Path) -> None:
    for name in ODD:
        (hostile / "python/sglang/srt" / name).write_text("odd = True\n")
    (hostile / os.fsdecode(b"python/sglang/srt/\xff\xfe.py")).write_text("odd = True\n")
    change(hostile)
    before = state_of(hostile)

    sides = sides_on(here, SidesSpec(repository=str(hostile), base="HEAD"))
    sides.open()
    head, base = (sides.root_of(name) for name in (HEAD, BASE))
    sides.close()

    assert head is not None
    assert base is not None
    assert list((tmp_path / "sang").iterdir()) == []
    assert not list(tmp_path.rglob("evil"))
    assert state_of(hostile) == before
    changed = made(sides).sides[1].changed
    assert "python/sglang/srt/new\\nline.py" in changed
    assert all(name.isprintable() for name in changed)
    # The canary does sing where git is asked as anybody would ask it.
    git(hostile, "status", check=False)
    git(hostile, "--paginate", "diff", check=False)
    assert {"core.fsmonitor", "diff-command"} & {p.name for p in (tmp_path / "sang").iterdir()}


def test_files_are_what_they_are_byte_for_byte_whatever_their_attributes_say(
    here: HostSpec, hostile: Path
) -> None:
    (hostile / "python/sglang/srt/mixed.py").write_bytes(b"a = 1\r\nb = '$Id$'\n\xe9\x00\n")
    sides = sides_on(here, SidesSpec(repository=str(hostile), base="HEAD"))
    sides.open()
    try:
        package = Path(str(sides.root_of(HEAD))) / "sglang"
        assert (package / "srt/mixed.py").read_bytes() == b"a = 1\r\nb = '$Id$'\n\xe9\x00\n"
        assert (package / "srt/worker.py").read_bytes() == (hostile / FILE).read_bytes()
    finally:
        sides.close()


@pytest.mark.parametrize(
    "path",
    [
        "../../evil.py",
        "python/sglang/../../../evil.py",
        "/tmp/evil.py",
        ".git/hooks/post-checkout",
        "out/evil.py",
    ],
)
def test_a_patch_cannot_reach_out_of_its_tree(
    here: HostSpec, tmp_path: Path, treasure: Path, path: str
) -> None:
    repository = checkout(tmp_path / "sglang")
    (repository / "out").symlink_to(treasure)
    commit(repository, "a link out")
    text = f"diff --git a/{path} b/{path}\nnew file mode 100755\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+evil\n"
    change(repository)
    text += patch_of(repository)
    git(repository, "checkout", "-q", "--", FILE)
    sides = sides_on(
        here, SidesSpec(repository=str(repository), patches=(PatchText(name="evil.patch", text=text),))
    )
    with pytest.raises(SideFault, match=r"evil\.patch"):
        sides.open()
    assert sorted(p.name for p in treasure.iterdir()) == ["secret.py"]
    assert not list(tmp_path.rglob("evil.py"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's files")
def test_a_checkout_of_another_user_is_read_and_not_written(here: HostSpec, tmp_path: Path) -> None:
    repository = checkout(tmp_path / "sglang")
    change(repository)
    subprocess.run(["chown", "-R", "65534:65534", str(repository)], check=True)
    before = state_of(repository)
    sides = sides_on(here, SidesSpec(repository=str(repository), base="HEAD"))
    sides.open()
    sides.close()
    assert made(sides).sides[1].changed == (FILE,)
    assert state_of(repository) == before


def test_a_config_that_names_other_files_than_the_checkout_s_is_refused(
    here: HostSpec, tmp_path: Path, treasure: Path
) -> None:
    repository = checkout(tmp_path / "sglang")
    change(repository)
    (treasure / "python/sglang").mkdir(parents=True)
    (treasure / "python/sglang/__init__.py").write_text("secret = True\n")
    git(repository, "config", "core.worktree", str(treasure))
    for asked in (repository, repository / "python"):
        with pytest.raises(SideFault, match=f"its files lie in {treasure} \\(core.worktree in its config\\)"):
            sides_on(here, SidesSpec(repository=str(asked), base="HEAD")).open()

    # A submodule of another repository has such an entry too, which leads to where it is.
    outer = checkout(tmp_path / "outer")
    git(repository, "config", "--unset", "core.worktree")
    git(repository, "stash")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "third/sglang")
    change(outer / "third/sglang")
    sides = sides_on(here, SidesSpec(repository=str(outer / "third/sglang"), base="HEAD"))
    sides.open()
    sides.close()
    assert made(sides).sides[1].changed == (FILE,)


def test_git_s_variables_of_the_login_lead_nowhere_else(
    here: HostSpec, tmp_path: Path, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository, other = checkout(tmp_path / "sglang"), checkout(tmp_path / "other")
    change(repository)
    change(other, "python/sglang/srt/other.py")
    before = state_of(repository), state_of(other)
    for name, value in {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(tmp_path / "an index"),
        "GIT_OBJECT_DIRECTORY": str(other / ".git/objects"),
        "GIT_EXTERNAL_DIFF": f"{canary} external-diff",
        "GIT_SSH_COMMAND": f"{canary} ssh",
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={canary} parameters'",
        "GIT_TRACE": str(tmp_path / "trace"),
    }.items():
        monkeypatch.setenv(name, value)
    sides = sides_on(here, SidesSpec(repository=str(repository), base="HEAD"))
    sides.open()
    sides.close()
    for name in [one for one in os.environ if one.startswith("GIT_")]:
        monkeypatch.delenv(name)
    assert made(sides).sides[1].changed == (FILE,)
    assert list((tmp_path / "sang").iterdir()) == []
    assert not (tmp_path / "an index").exists()
    assert not (tmp_path / "trace").exists()
    assert (state_of(repository), state_of(other)) == before
