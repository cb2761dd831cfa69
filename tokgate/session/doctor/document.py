"""Writes the table of checks into docs/doctor.md: `python -m tokgate.session.doctor.document`."""

from __future__ import annotations

import re
import sys
from itertools import groupby
from pathlib import Path

from .check import Check, always, behind_ssh, with_gpus, with_required_patches, with_several_gpus
from .checks import CHECKS, GROUPS

_BLOCK = re.compile(r"(<!-- checks -->\n).*?(<!-- end -->)", re.DOTALL)
_ONLY = {
    always: "",
    with_gpus: "rigs with GPUs",
    with_several_gpus: "rigs with several GPUs",
    behind_ssh: "hosts behind ssh",
    with_required_patches: "rigs with `server.required_patches`",
}


def tables() -> str:
    """Return a table a group, in markdown."""
    parts = []
    for group, checks in groupby(CHECKS, key=lambda check: check.name.partition(".")[0]):
        rows = "\n".join(_row(check) for check in checks)
        parts.append(
            f"### {GROUPS[group]}\n\n| check | looks | without it a gate meets | only |\n|---|---|---|---|\n{rows}\n"
        )
    return "\n".join(parts)


def with_tables(text: str) -> str:
    """Return a page with its tables written anew."""
    return _BLOCK.sub(lambda m: f"{m[1]}{tables()}{m[2]}", text)


def _row(check: Check) -> str:
    only = [_ONLY[check.applies]] if _ONLY[check.applies] else []
    only += [] if check.quick else ["not with `--quick`"]
    return f"| `{check.name}` | {check.looks} | {check.prevents} | {', '.join(only)} |"


def main(page: Path) -> None:
    page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/doctor.md"))
