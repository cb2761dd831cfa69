"""Whether what differs between two sides compiles, asked of the server's own Python: nothing of it is imported or run."""

from __future__ import annotations

import os
import stat
import warnings
from pathlib import Path
from typing import Any

MOST_BYTES = 8 << 20  # of one source
MOST_TOLD = 20
MOST_TEXT = 200
NOT_IMPORTED = "sglang/test"  # of SGLang's package: no server imports its tests


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"roots": {side: folder}} -> {"compiled", "faults": {side: [{"file", "line", "text", "error"}, ...]}}.

    Of both trees: what is alike on both is the same on both, whatever is in it. "file" is relative to the root: "sglang/srt/x.py".
    """
    warnings.simplefilter("ignore")  # an escape that a later Python will not take is no fault of today's
    trees = {side: sources(Path(root)) for side, root in argument["roots"].items()}
    faults: dict[str, list[dict[str, Any]]] = {side: [] for side in trees}
    compiled = 0
    for name in sorted(set().union(*trees.values())):
        contents = {side: read(files[name]) if name in files else None for side, files in trees.items()}
        if len(set(contents.values())) < 2:
            continue
        for side, content in contents.items():
            if content is None:
                continue
            compiled += 1
            fault = fault_of(content, str(trees[side][name]))
            if fault is not None and len(faults[side]) < MOST_TOLD:
                faults[side].append({"file": name, **fault})
    return {"compiled": compiled, "faults": faults}


def sources(root: Path) -> dict[str, Path]:
    """Return the sources that a server could import. What stands in a side's root may be links; below them none is followed."""
    found = {}
    for entry in root.iterdir():
        top = entry.resolve()
        for folder, folders, files in os.walk(top):
            inside = entry.name + folder[len(str(top)) :]
            folders[:] = [one for one in folders if f"{inside}/{one}" != NOT_IMPORTED]
            found.update({f"{inside}/{one}": Path(folder, one) for one in files if one.endswith(".py")})
    return found


def read(path: Path) -> bytes | None:
    """Return a file's content; None: it is a link, no file, or too large for a source."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        content = file.read(MOST_BYTES + 1) if regular else b""
    return content if regular and len(content) <= MOST_BYTES else None


def fault_of(content: bytes, path: str) -> dict[str, Any] | None:
    """Return what this Python has against a source; None: it takes it, or cannot tell."""
    try:
        compile(content, path, "exec", dont_inherit=True)
    except SyntaxError as error:  # also of its encoding
        line, text, why = error.lineno or 1, (error.text or "").strip(), error.msg
    except ValueError as error:  # a null byte, to older versions
        line, text, why = 1, "", str(error)
    except (RecursionError, MemoryError, OverflowError):
        return None
    else:
        return None
    return {"line": line, "text": text[:MOST_TEXT], "error": why[:MOST_TEXT]}
