"""Next steps that can be pasted: what a check calls RUN, or launches/, is a folder, and whoever prints knows which."""

from __future__ import annotations

import re
import shlex

# Of a run on several hosts, those of one: hosts/gpu7/launches/01-baseline/server.log.
_LAUNCHES = re.compile(r"(?<![\w./-])((?:hosts/[\w.-]+/)?launches/)(?=\d\d-)")
_COMMAND = re.compile(r"(\btokgate (?:baseline (?:update|propose|diff)|report|compare)) RUN\b(?! RUN)")


def with_run(text: str, run: str) -> str:
    """Put the folder in place of RUN in every command of ours that takes one, and in front of files of its launches.

    Where a command takes several runs, RUN RUN …, they are others than this one, and stay.
    """
    named = _COMMAND.sub(lambda m: f"{m[1]} {shlex.quote(run)}", text)
    return _LAUNCHES.sub(lambda m: f"{shlex.quote(run)}/{m[1]}", named)
