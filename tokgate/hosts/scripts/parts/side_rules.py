"""Which changes a pair of trees can answer for: only what Python reads when a server starts, and what it compiles itself."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tokgate.hosts.scripts.parts.git_calls import Git, Refused, shown
from tokgate.hosts.scripts.parts.looked_up import submodules
from tokgate.hosts.scripts.parts.neighbours import below

# SGLang's kernels are a package of their own, sgl_kernel, installed built: neither side's sources of it are what runs.
# Later than 0.5.23 they lie inside the other package.
_KERNELS = ("sgl-kernel", "sglang/kernels/aot")
_NOT_COMPILED = ("tests", "test", "benchmark", "benchmarks", "docs")
# Programs of their own in SGLang's repository, which a server does not load.
_OTHER_PROGRAMS = ("sgl-router", "sgl-model-gateway", "experimental")
_BUILT_FROM = (".rs", ".proto", ".pyx", ".pxd", ".cmake", ".so", ".a", ".pyd")
_BUILT_BY = ("CMakeLists.txt", "Cargo.toml", "Cargo.lock", "setup.py")
_EXTENSIONS = re.compile(rb"ext_modules|Extension\(|rust_extensions|cythonize|CMakeExtension")
_WORDS = (".md", ".rst", ".txt", ".ipynb")
# Of git, editors and checkers, wherever they lie: Python reads none of them when it runs.
_FOR_TOOLS = (
    ".gitattributes",
    ".gitignore",
    ".gitkeep",
    ".gitmodules",
    ".git-blame-ignore-revs",
    ".editorconfig",
    ".clang-format",
    ".clang-tidy",
    ".pre-commit-config.yaml",
    ".dockerignore",
    ".isort.cfg",
    ".flake8",
    ".coveragerc",
    "py.typed",
)
_REQUIREMENT = re.compile(r'^\s*"([A-Za-z0-9][^"]*)",?\s*(?:#.*)?$', re.MULTILINE)
NAMED = 8


def compiled(path: str, git: Git, commits: Sequence[str]) -> bool:
    """Say whether a changed file is compiled into what is installed, so that no tree can show the change."""
    *folders, name = path.split("/")
    if folders and folders[0] in _OTHER_PROGRAMS:
        return False
    if (inside := _inside_kernels(path)) is not None:
        return not (name.endswith(_WORDS) or inside.split("/")[0] in _NOT_COMPILED)
    if name == "setup.py":
        contents = (git.try_text("cat-file", "blob", f"{commit}:{path}") or "" for commit in commits)
        return any(_EXTENSIONS.search(text.encode("utf-8", "surrogateescape")) for text in contents)
    return name.endswith(_BUILT_FROM) or name in _BUILT_BY or (bool(folders) and folders[0] == "rust")


def _inside_kernels(path: str) -> str | None:
    """Return the name from the kernels' own folder on; None: it is no file of theirs."""
    for folder in _KERNELS:
        before, found, behind = f"/{path}".partition(f"/{folder}/")
        if found and (folder != _KERNELS[0] or not before):
            return behind
    return None


def imported(path: str, prefix: str, places: Sequence[str]) -> bool:
    """Say whether a server could import, read or compile a changed file."""
    inside = below(path, prefix, places) and not path.startswith(f"{prefix}sglang/test/")
    return (
        inside and not path.endswith((*_WORDS, ".pyi")) and path.rpartition("/")[2].lower() not in _FOR_TOOLS
    )


def check(
    changed: Sequence[str], prefix: str, git: Git, commits: tuple[str, str], places: Sequence[str]
) -> None:
    """Refused: the change reaches compiled parts, or nothing that a server has to do with."""
    if not changed:
        raise Refused("base and head are the same: no file differs", "name two that differ")
    reaching = [path for path in changed if compiled(path, git, commits)]
    if reaching:
        raise Refused(
            f"the change reaches compiled parts, which are built into what is installed: {listed(reaching)}. Both sides would "
            "run the same ones, and the result would be said of what did not run",
            "measure it by two installations: one rig each, whose server.python has it built in; or leave those files out "
            "of the change where they are another matter",
        )
    before, after = (submodules(git, one, prefix, places) for one in commits)
    moved = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if moved:
        raise Refused(
            f"the change moves a submodule of the package: {listed(moved)}. Both sides would run what is checked out there",
            "measure it by two checkouts, one rig each",
        )
    if not any(imported(path, prefix, places) for path in changed):
        raise Refused(
            f"nothing that a server imports differs: the change touches {listed(changed)}, and no file of "
            f"{prefix}sglang/ but tests and documents",
            "there is nothing to measure: such a change cannot make a server slower",
        )


def dependencies(changed: Sequence[str], prefix: str, git: Git, base: str, head: str) -> list[str]:
    """Return a note where the change asks for other packages than it did: both sides run with those installed."""
    notes = []
    for path in changed:
        folder, _, name = path.rpartition("/")
        if not (
            name.startswith("pyproject") and name.endswith(".toml") and f"{folder}/".lstrip("/") == prefix
        ):
            continue
        before, after = (
            set(_REQUIREMENT.findall(git.try_text("cat-file", "blob", f"{commit}:{path}") or ""))
            for commit in (base, head)
        )
        differing = [f"-{one}" for one in sorted(before - after)] + [
            f"+{one}" for one in sorted(after - before)
        ]
        if differing:
            notes.append(
                f"{shown(path)} asks for other packages ({', '.join(shown(d, 60) for d in differing[:NAMED])}): both sides run "
                "with those that are installed"
            )
    return notes


def listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(shown(name, 120) for name in names[:NAMED]) + more
