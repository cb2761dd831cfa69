"""What an update would change in baselines/, as a patch that `git apply` takes."""

from __future__ import annotations

import difflib

_CUT = "\n\\ No newline at end of file\n"


def patch(path: str, before: str | None, after: str) -> str:
    """Return the unified diff of one file, `path` relative to the checkout; `before` None: there is none yet."""
    if before == after:
        return ""
    head = f"diff --git a/{path} b/{path}\n" + ("new file mode 100644\n" if before is None else "")
    body = difflib.unified_diff(
        _lines(before or ""),
        _lines(after),
        fromfile="/dev/null" if before is None else f"a/{path}",
        tofile=f"b/{path}",
    )
    return head + "".join(line if line.endswith("\n") else line + _CUT for line in body)


def _lines(text: str) -> list[str]:
    """Only a newline ends a line here: a reason may hold every other kind of line break."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines
