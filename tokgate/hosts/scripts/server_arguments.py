"""Lets the installed SGLang's own parser read each arm's command line. No server, no GPU, no model is touched.

Run by the server's Python with the GPUs hidden. It imports SGLang, which takes seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
from typing import Any


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"arms": {name: [word, ...]}} -> {"refused": {name: why}, "missing": module or null, "broke": text or null}."""
    answer: dict[str, Any] = {"refused": {}, "missing": None, "broke": None}
    try:
        arguments = importlib.import_module("sglang.srt.server_args")
        parser = argparse.ArgumentParser(prog="launch_server.py")
        arguments.ServerArgs.add_cli_args(parser)
    except ModuleNotFoundError as error:
        answer["missing"] = error.name or str(error)
        return answer
    except Exception as error:  # noqa: BLE001 - whatever an import of a foreign tree raises
        answer["broke"] = f"{type(error).__name__}: {error}"[:500]
        return answer
    for name, words in argument["arms"].items():
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                parser.parse_args(words)
        except SystemExit:
            lines = [line for line in said.getvalue().splitlines() if ": error: " in line]
            answer["refused"][name] = lines[-1].partition(": error: ")[2] if lines else "it ended"
        except Exception as error:  # noqa: BLE001 - types of arguments are SGLang's own functions
            answer["refused"][name] = f"{type(error).__name__}: {error}"[:500]
    return answer
