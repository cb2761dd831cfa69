"""Write the long options of one SGLang's server into tokgate/rig/arguments/known.json, beside other versions'.

    PYTHONPATH=FOLDER:rigs/sglang-cpu/stubs .sglang-cpu/venv/bin/python rigs/sglang-cpu/known_arguments.py

FOLDER is an unpacked wheel (pip download --no-deps sglang==0.5.16); without "FOLDER:" the environment's own SGLang
is listed. A program of its own, for an interpreter that has SGLang and no tokgate. Versions whose options are declared
by annotations (0.5.16 and later) give them away only when they are imported: `ServerArgs.add_cli_args` is asked.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "tokgate" / "rig" / "arguments" / "known.json"


def option_names(parser: argparse.ArgumentParser) -> list[str]:
    """Return every long option as a rig writes it: `mem_fraction_static` for --mem-fraction-static."""
    options = {option for action in parser._actions for option in action.option_strings}  # noqa: SLF001 - no public list
    return sorted(o[2:].replace("-", "_") for o in options if o.startswith("--") and o != "--help")


def merged(known: dict[str, list[str]], version: str, names: list[str]) -> str:
    """Return the text of known.json with `version` in it: oldest first, one version a line."""
    versions = {**known, version: names}
    lines = (
        f" {json.dumps(v)}: {json.dumps(versions[v])}"
        for v in sorted(versions, key=lambda v: [int(n) for n in re.findall(r"\d+", v)])
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _tolerant() -> None:
    """Let an older SGLang register models that the transformers beside it has by now."""
    auto: Any = importlib.import_module("transformers").AutoConfig
    register = auto.register
    auto.register = lambda kind, config, **_: register(kind, config, exist_ok=True)


def main() -> None:
    _tolerant()
    parser = argparse.ArgumentParser()
    importlib.import_module("sglang.srt.server_args").ServerArgs.add_cli_args(parser)
    version: str = importlib.import_module("sglang.version").__version__
    known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    FILE.write_text(merged(known, version, option_names(parser)), encoding="utf-8")


if __name__ == "__main__":
    main()
