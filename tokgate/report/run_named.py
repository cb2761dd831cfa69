"""Next steps that can be pasted: what a check calls RUN, or launches/, is a folder, and whoever prints knows which."""

from __future__ import annotations

import re
import shlex

_LAUNCHES = re.compile(r"(?<![\w./-])launches/(?=\d\d-)")
_COMMAND = re.compile(r"(\btokgate (?:baseline (?:update|propose|diff)|report|compare)) RUN\b(?! RUN)")


def with_run(text: str, run: str) -> str:
    """Put the folder in place of RUN in every command of ours that takes one, and in front of files of its launches.

    Where a command takes several runs, RUN RUN …, they are others than this one, and stay.
    """
    named = _COMMAND.sub(lambda m: f"{m[1]} {shlex.quote(run)}", text)
    return _LAUNCHES.sub(lambda _: f"{shlex.quote(run)}/launches/", named)
