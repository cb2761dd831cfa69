"""The gate's own repository of one session: it borrows the objects of a foreign one, and has nothing else of it."""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path

from tokgate.hosts.scripts.parts.git_calls import Git, GitFailed, Refused, shown

MARKER = "made-by-tokgate"
# Whatever a .gitattributes of the tree says: bytes go in and out as they are.
_ATTRIBUTES = "* -text -ident -filter !working-tree-encoding !eol !diff !merge\n"
_EXCLUDES_MOST = 1 << 20
# What git says where an object that is named is nowhere.
_LOST = re.compile(
    r"missing (?:blob|tree|object)|unable to (?:read|find)|bad object|could not parse object|not a valid object|invalid object"
)


def make_folder(folder: Path) -> None:
    """Make the session's folder, its own user's alone, below one that every user of the host may put theirs in."""
    parent = folder.parent
    if not parent.is_dir():
        parent.mkdir(parents=True, exist_ok=True)
        parent.chmod(0o1777)
    if parent.is_symlink():
        raise Refused(f"{parent} is a link", "remove it, or set host.work_dir in the rig to another folder")
    folder.mkdir(mode=0o700)
    (folder / MARKER).write_text("a gate's own trees of SGLang; removed by it, or by the next gate here\n")


def foreign(folder: Path, repository: str) -> Git:
    """Return git in somebody's checkout, for what only reads names and commits. Refused: it is no repository."""
    git = Git(folder, "-C", repository)
    if not Path(repository).is_dir():
        raise Refused(f"{repository}: no such folder on the host", "name a checkout of SGLang that is there")
    try:
        git.text("rev-parse", "--git-dir")
    except GitFailed as failed:
        raise Refused(
            f"{repository} is no git repository that can be read: {failed}",
            "name a checkout of SGLang; for an installed package leave --sglang-repo out and use --patch FILE",
        ) from failed
    return git


def borrow(folder: Path, theirs: Git | None) -> Git:
    """Make the gate's repository in `folder`/git; with `theirs`, it has all the objects of that one."""
    own = folder / "git"
    fmt = (theirs.try_text("rev-parse", "--show-object-format") if theirs else None) or "sha1"
    Git(folder)("init", "--quiet", "--bare", "--template=", f"--object-format={fmt}", str(own))
    git = Git(folder, "--git-dir", str(own))
    (own / "info").mkdir(exist_ok=True)
    (own / "info" / "attributes").write_text(_ATTRIBUTES)
    if theirs is not None:
        common = Path(theirs.text("rev-parse", "--path-format=absolute", "--git-common-dir"))
        (own / "objects" / "info").mkdir(exist_ok=True)
        (own / "objects" / "info" / "alternates").write_bytes(_alternate(common / "objects"))
        if (common / "shallow").is_file():
            shutil.copyfile(str(common / "shallow"), str(own / "shallow"))
        _take_excludes(own, common, theirs)
    return git


def _alternate(objects: Path) -> bytes:
    raw = os.fsencode(str(objects))
    if raw[:1] in (b'"', b"#") or b"\n" in raw:
        raw = raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
        return b'"' + raw + b'"\n'
    return raw + b"\n"


def _take_excludes(own: Path, common: Path, theirs: Git) -> None:
    """What the user's git would leave out of sight is left out here too."""
    home = str(Path.home())
    asked = theirs.with_variables(HOME=home, GIT_CONFIG_GLOBAL=f"{home}/.gitconfig")
    named = asked.try_text("config", "--type=path", "--get", "core.excludesFile")
    texts = []
    for path in (Path(named) if named else Path(home, ".config/git/ignore"), common / "info" / "exclude"):
        try:
            status = path.stat()
            if stat.S_ISREG(status.st_mode) and status.st_size <= _EXCLUDES_MOST:
                texts.append(path.read_bytes())
        except OSError:
            continue
    (own / "info" / "exclude").write_bytes(b"\n".join(texts) + b"\n")


def top_of(theirs: Git, repository: str) -> Path | None:
    """Return the folder that a checkout's files lie in; None: it is bare. Refused: its own config names another one."""
    told = theirs.try_text("rev-parse", "--show-toplevel")
    if not told:
        return None
    asked = Path(repository).resolve()
    own = next((one for one in (asked, *asked.parents) if os.path.lexists(one / ".git")), None)
    if own != Path(told).resolve():
        raise Refused(
            f"{repository} says of itself that its files lie in {shown(told)} (core.worktree in its config), and not where it lies",
            "name the folder that is meant; or take that back: git config --unset core.worktree",
        )
    return Path(told)


def why_unreadable(folder: Path, source: str, said: str) -> tuple[str, str] | None:
    """Return what has become of the repository whose objects are borrowed, and what to do; None: nothing has."""
    lent = _lender(folder / "git")
    if lent is not None and not lent.is_dir():
        return (
            f"the checkout {source} is not there any more ({shown(str(lent))} is gone)",
            "bring it back to its place and run the same again; sides that were made before go on without it",
        )
    if _LOST.search(said):
        do = "a branch or tag that was moved or deleted was the last to hold them: keep a branch on both ends while it is measured"
        return (
            f"{source} has lost objects of the change: git: {shown(said, 600)}",
            f"{do}, and run the same again",
        )
    return None


def _lender(own: Path) -> Path | None:
    try:
        raw = (own / "objects" / "info" / "alternates").read_bytes()
    except OSError:
        return None
    return None if raw.startswith(b'"') else Path(os.fsdecode(raw.rstrip(b"\n")))
