"""What each client is asked to do, and how a client is run."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.tokenizer import CACHE_HOME

LIMIT_S = 300.0
SHOWN = 3000  # characters of a client's last words


@dataclass(frozen=True)
class Load:
    """`requests` of the same lengths, `concurrency` of them in flight at any time, after one for warming up."""

    requests: int
    concurrency: int
    input_tokens: int
    output_tokens: int


def run_client(command: list[str], folder: Path, **environment: str) -> None:
    """Run a client as it is, without a network and with nothing of the caller's environment. SystemExit with its last words."""
    told = {
        "PATH": f"{Path(command[0]).parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "HF_HOME": str(CACHE_HOME),
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "TERM": "dumb",
        "COLUMNS": "200",
    }
    output = folder / "output.txt"
    with output.open("wb") as out:
        ran = subprocess.run(
            command, env=told | environment, cwd=folder, stdout=out, stderr=out, timeout=LIMIT_S, check=False
        )
    if ran.returncode:
        sys.exit(f"{command[0]}: exit code {ran.returncode}\n{output.read_text(errors='replace')[-SHOWN:]}")
