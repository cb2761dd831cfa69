"""What earlier debugging may have left behind on a machine. Each is named, none stops a measurement."""

from __future__ import annotations

from typing import Any

from tokgate.records import Finding

# Written by tools that make environments, which leave no RECORD: file name -> (its code, whose it is).
_KNOWN = {
    "_virtualenv.pth": ("import _virtualenv", "virtualenv"),
    "distutils-precedence.pth": ("import os; var = 'SETUPTOOLS_USE_DISTUTILS'", "setuptools"),
}


def notes_on(
    hooks: dict[str, Any], nccl: dict[str, list[str]], facts: dict[str, str | None]
) -> tuple[dict[str, str | None], tuple[Finding, ...]]:
    """Return further facts and the notes on them, from what the readers found."""
    more: dict[str, str | None] = {}
    notes: list[Finding] = []

    def note(what: str, do: str) -> None:
        notes.append(Finding(severity="note", what=what, do=do))

    for module in hooks.get("customize", []):
        more[f"startup.{module['module']}"] = f"{module['path']} {module['sha256']}"
        if not module["standard"]:
            note(
                f"{module['module']} runs in every Python process of the server: {module['path']}",
                "read it; remove it unless it is part of what is measured",
            )
    for file in hooks.get("pth", []):
        name = file["path"].rpartition("/")[2]
        code, maker = _KNOWN.get(name, ("", ""))
        owner = file["owner"] or (maker if maker and (file["code"] + ";").startswith(code + ";") else None)
        more[f"startup.pth.{name}"] = f"{file['sha256']}, {'of ' + owner if owner else 'of no package'}"
        if not owner:
            note(
                f"{file['path']} executes code at every start of Python and belongs to no package: {file['code']}",
                "read it; remove it unless it is part of what is measured",
            )
    for path in hooks.get("nccl_plugins", []):
        note(
            f"{path} may answer NCCL's questions instead of the environment",
            "remove it, or set NCCL_ENV_PLUGIN=none in the rig's nccl block",
        )
    for path, lines in nccl.items():
        more[f"nccl.{path}"] = "; ".join(lines)
        words = (
            "fills in what the rig's nccl block leaves unset"
            if path.endswith(".conf")
            else "sets NCCL variables"
        )
        note(f"{path} {words}: {'; '.join(lines)}", "remove the lines, or write the same into the rig")
    changed = facts.get("sglang.changed")
    if changed is not None and changed != "0":
        note(
            f"SGLang differs from what was installed or committed in {changed}",
            "fine if that is what is measured; otherwise install it afresh",
        )
    return more, tuple(notes)
