"""Trees of somebody else's making: nothing in them is executed by the gate, nothing outside is read or removed; also behind ssh."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hosts.side_trees import FILE, change, checkout, commit, git, patch_of, state_of
from tests.session.rigs import small_rig
from tests.sshd import Sshd
from tokgate.errors import SideFault
from tokgate.hosts.connection import connect
from tokgate.hosts.scripts.parts.brought import MOST_COPIED
from tokgate.hosts.scripts.parts.tree_files import MOST_BYTES
from tokgate.records.side import BASE, HEAD, SideProof, SidesMade
from tokgate.rig.machine import HostSpec
from tokgate.rig.models import Rig
from tokgate.rig.sides import PatchText, SidesSpec
from tokgate.session.sides import Sides

ODD = (
    "new\nline.py",
    "quo'te\".py",
    "$(touch evil).py",
    "; touch evil;.py",
    "-rf.py",
    "back\\slash.py",
    " .py",
)


def rig_on(spec: HostSpec, sides: SidesSpec, *, path: str = "") -> Rig:
    rig = small_rig()
    server = rig.server.model_copy(update={"python": sys.executable, "environment": {"PYTHONPATH": path}})
    return rig.model_copy(update={"host": spec, "server": server, "sides": sides})


def sides_on(spec: HostSpec, sides: SidesSpec, *, path: str = "") -> Sides:
    return Sides(
        connect(spec), rig_on(spec, sides, path=path), run_id="run", keep=lambda _: None, say=lambda _: None
    )


def made(sides: Sides) -> SidesMade:
    assert sides.made is not None
    return sides.made


@pytest.fixture
def here(tmp_path: Path) -> HostSpec:
    return HostSpec(work_dir=str(tmp_path / "work"))


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A program that leaves a file named after whoever ran it."""
    (tmp_path / "sang").mkdir()
    file = tmp_path / "canary"
    file.write_text(f'#!/bin/sh\ntouch "{tmp_path}/sang/$1"\nexit 1\n')
    file.chmod(0o755)
    return file


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
    ):
        git(repository, "config", key, f"{canary} {key}")
    for kind in ("clean", "smudge", "process"):
        git(repository, "config", f"filter.evil=x.{kind}", f"{canary} filter-{kind}")
        git(repository, "config", f"filter.evil.{kind}", f"{canary} filter-{kind}")
    git(repository, "config", "filter.evil.required", "true")
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


@pytest.fixture
def treasure(tmp_path: Path) -> Path:
    """Files outside of every tree, which must be neither read nor changed nor removed."""
    folder = tmp_path / "treasure"
    folder.mkdir()
    (folder / "secret.py").write_text("secret = 'of somebody else'\n")
    return folder


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


def test_nothing_outside_is_read_through_a_link_or_removed(
    here: HostSpec, tmp_path: Path, treasure: Path
) -> None:
    repository = checkout(tmp_path / "sglang")
    package = repository / "python/sglang"
    (package / "out.py").symlink_to(treasure / "secret.py")
    (package / "folder").symlink_to(treasure)
    (package / "up.py").symlink_to("../../../treasure/secret.py")
    (package / "built2.so").symlink_to(treasure / "secret.py")
    # A tracked folder that has become a link: its files are gone, as far as git is concerned.
    (package / "test/test_worker.py").unlink()
    (package / "test").rmdir()
    (package / "test").symlink_to(treasure)
    change(repository)
    held = state_of(treasure)

    sides = sides_on(here, SidesSpec(repository=str(repository), base="HEAD"))
    sides.open()
    head = sides.made.side(HEAD) if sides.made else None
    assert head is not None
    tree = Path(head.root) / "sglang"
    assert (tree / "out.py").is_symlink()
    assert (tree / "folder").is_symlink()
    # Hashed is where a link leads, not what lies there.
    (treasure / "secret.py").write_text("secret = 'another'\n")
    assert sides.at_the_end(proof_of(head.name, head.root)).tree == head.tree
    (treasure / "secret.py").write_text("secret = 'of somebody else'\n")
    sides.close()

    assert not Path(head.root).exists()
    assert [line.split()[0] for line in state_of(treasure).splitlines()] == [
        line.split()[0] for line in held.splitlines()
    ]
    assert (treasure / "secret.py").read_text() == "secret = 'of somebody else'\n"
    assert any("links out of the tree" in note for note in made(sides).notes)


def proof_of(side: str, root: str) -> SideProof:
    return SideProof(side=side, root=root, processes=1)


def test_a_tree_that_is_written_to_is_not_what_was_made(here: HostSpec, tmp_path: Path) -> None:
    repository = checkout(tmp_path / "sglang")
    change(repository)
    sides = sides_on(here, SidesSpec(repository=str(repository), base="HEAD"))
    sides.open()
    try:
        head = made(sides).sides[1]
        assert sides.at_the_end(proof_of(HEAD, head.root)).proven
        (Path(head.root) / "sglang/srt/worker.py").write_text("other = 1\n")
        later = sides.at_the_end(proof_of(HEAD, head.root))
        assert not later.proven
        assert "is not what it was when it was made" in later.why[0]
    finally:
        sides.close()


def test_what_is_no_source_is_not_taken_for_one(here: HostSpec, tmp_path: Path) -> None:
    repository = checkout(tmp_path / "sglang")
    with (repository / "python/sglang/giant.bin").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    os.mkfifo(repository / "python/sglang/pipe.py")
    (repository / "python/sglang/inner").mkdir()
    git(repository / "python/sglang/inner", "init", "-q")
    (repository / "python/sglang/inner/x.py").write_text("x = 1\n")
    change(repository)

    sides = sides_on(here, SidesSpec(repository=str(repository), base="HEAD"))
    sides.open()
    sides.close()

    assert made(sides).sides[1].changed == (FILE,)
    notes = " ".join(made(sides).notes)
    assert "giant.bin" in notes
    assert "python/sglang/inner/ is a repository of its own" in notes


def test_submodules_stay_closed_but_for_those_of_the_package(
    here: HostSpec, tmp_path: Path, canary: Path
) -> None:
    """Asked for its state, git would run what a submodule's own config names."""
    inner = checkout(tmp_path / "inner")
    repository = checkout(tmp_path / "sglang")
    allowed = ("-c", "protocol.file.allow=always")
    for place in ("3rdparty/inner", "python/sglang/inner"):
        git(repository, *allowed, "submodule", "add", "-q", str(inner), place)
        config = repository / ".git/modules" / place / "config"
        git(repository, "config", "-f", str(config), "core.fsmonitor", f"{canary} submodule")
        (repository / place / "dirty.py").write_text("dirty = True\n")
    commit(repository, "submodules")
    for file in (tmp_path / "sang").iterdir():
        file.unlink()
    change(repository)
    before = state_of(repository)

    sides = sides_on(here, SidesSpec(repository=str(repository), base="HEAD"))
    sides.open()
    try:
        assert made(sides).sides[1].changed == (FILE,)
        for side in made(sides).sides:
            assert "sglang/inner" in side.carried
            assert (Path(side.root) / "sglang/inner/README.md").exists()
    finally:
        sides.close()
    assert list((tmp_path / "sang").iterdir()) == []
    assert state_of(repository) == before

    git(repository, "status")
    assert [p.name for p in (tmp_path / "sang").iterdir()] == ["submodule"]  # as anybody would be told
    git(repository / "python/sglang/inner", "commit", "-q", "--allow-empty", "-m", "moved")
    commit(repository, "moved")
    with pytest.raises(SideFault, match="moves a submodule of the package"):
        sides_on(here, SidesSpec(repository=str(repository), base="HEAD~1", head="HEAD")).open()


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


DATA = "python/sglang/data.bin"


def pointer(content: bytes) -> str:
    oid = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n"


def test_content_that_git_lfs_keeps_is_that_of_each_side_s_own_pointer(
    here: HostSpec, tmp_path: Path
) -> None:
    repository = checkout(tmp_path / "sglang")
    for content in (b"before", b"behind"):
        (repository / DATA).write_text(pointer(content))
        commit(repository, "a pointer")
    (repository / DATA).write_bytes(b"behind")
    spec = SidesSpec(repository=str(repository), base="HEAD~1", head="HEAD")

    with pytest.raises(SideFault, match=r"data\.bin is kept by git-lfs.*neither in the working tree nor"):
        sides_on(here, spec).open()
    oid = hashlib.sha256(b"before").hexdigest()
    store = repository / ".git/lfs/objects" / oid[:2] / oid[2:4]
    store.mkdir(parents=True)
    (store / oid).write_bytes(b"before")
    sides = sides_on(here, spec)
    sides.open()
    try:
        found = [(Path(side.root) / "sglang/data.bin").read_bytes() for side in made(sides).sides]
        assert found == [b"before", b"behind"]
        assert all("sglang/data.bin" in side.carried for side in made(sides).sides)
    finally:
        sides.close()


def test_an_edit_of_what_git_lfs_keeps_is_not_committed(here: HostSpec, tmp_path: Path) -> None:
    repository = checkout(tmp_path / "sglang")
    (repository / DATA).write_text(pointer(b"before"))
    commit(repository, "a pointer")
    (repository / DATA).write_bytes(b"before")
    with pytest.raises(SideFault, match="base and head are the same"):
        sides_on(here, SidesSpec(repository=str(repository), base="HEAD")).open()
    (repository / DATA).write_bytes(b"edited")
    oid = hashlib.sha256(b"before").hexdigest()
    store = repository / ".git/lfs/objects" / oid[:2] / oid[2:4]
    store.mkdir(parents=True)
    (store / oid).write_bytes(b"before")

    sides = sides_on(here, SidesSpec(repository=str(repository), base="HEAD"))
    sides.open()
    try:
        assert made(sides).sides[1].changed == (DATA,)
        found = [(Path(side.root) / "sglang/data.bin").read_bytes() for side in made(sides).sides]
        assert found == [b"before", b"edited"]
    finally:
        sides.close()


def test_what_a_side_only_links_to_is_looked_at_as_well(here: HostSpec, tmp_path: Path) -> None:
    """A built file is linked for its size, and a submodule of the package always is; both are the user's to rebuild."""
    inner = checkout(tmp_path / "inner")
    repository = checkout(tmp_path / "sglang")
    git(
        repository,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        str(inner),
        "python/sglang/inner",
    )
    commit(repository, "a submodule")
    change(repository)
    large = repository / "python/sglang/large.so"
    with large.open("wb") as file:
        file.truncate(MOST_COPIED + 1)
    (repository / "python/sglang/inner/README.md").write_text("dirty\n")

    sides = sides_on(here, SidesSpec(repository=str(repository), base="HEAD"))
    sides.open()
    try:
        head = made(sides).sides[1]
        assert any("sglang/inner" in note and "not committed" in note for note in head.notes)
        assert any("linked, not copied" in note and "large.so" in note for note in head.notes)
        assert sides.at_the_end(proof_of(HEAD, head.root)).proven
        for path in (large, repository / "python/sglang/inner/README.md"):
            with path.open("r+b") as opened:
                opened.write(b"REBUILT")
        later = sides.at_the_end(proof_of(HEAD, head.root))
        assert "what it links to in the checkout is not what it was" in later.why[0]
        assert "sglang/inner" in later.why[0]
        assert "sglang/large.so" in later.why[0]
        with pytest.raises(SideFault, match="when the base was made"):
            sides.make(["without-1"])
    finally:
        sides.close()


@pytest.mark.sshd
def test_behind_ssh_it_is_the_same(sshd: Sshd, tmp_path: Path) -> None:
    repository = checkout(tmp_path / 'it\'s a "tree" $(x)')
    change(repository)
    commit(repository, "second")
    change(repository, line=20)
    before = state_of(repository)
    spec = sshd.spec(work_dir=str(tmp_path / "work"))
    killed = sides_on(spec, SidesSpec(repository=str(repository), base="HEAD~1"))
    killed.open()
    sides = sides_on(spec, SidesSpec(repository=str(repository), base="HEAD~1"))

    sides.open()
    root = sides.root_of("upto-1")

    assert root is not None
    assert "changed = True" in (Path(root) / "sglang/srt/worker.py").read_text()
    assert not Path(made(killed).sides[0].root).exists()
    sides.close()
    assert not (tmp_path / "work/sides").exists()
    assert state_of(repository) == before
    with pytest.raises(SideFault, match="no such folder on the host"):
        sides_on(spec, SidesSpec(repository="/nowhere", base="HEAD")).open()
