"""A foreign process on a GPU host, for planted.py: it holds memory, loads the GPU, or kills the server.

    python3 disturb.py hold|load|kill RUNS

`load` and `kill` wait until a run in the folder RUNS has taken a few generations of its second launch. One line on standard
output says that it is there. They end with 0 where they did it, and with 1 where there was no server to kill.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

HELD = 512 << 20
LOADED_S = 20.0
GENERATIONS = 3  # of the second launch: the middle of a session
POLL_S = 0.05


def main() -> None:
    what, runs = sys.argv[1], Path(sys.argv[2])
    if what == "hold":
        _hold()
    print("there", flush=True)
    while not any(runs.glob(f"*/launches/02-*/bodies/{GENERATIONS:04d}.sse")):
        time.sleep(POLL_S)
    if what == "load":
        _load()
    elif not _kill_server():
        sys.exit("no marked server was found to kill")


def _hold() -> None:
    import torch  # noqa: PLC0415 - the host's, and not for `kill`

    held = torch.empty(HELD, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    print(f"holding {held.numel()} bytes", flush=True)
    signal.pause()


def _load() -> None:
    import torch  # noqa: PLC0415 - the host's, and not for `kill`

    matrix = torch.randn(8192, 8192, dtype=torch.bfloat16, device="cuda")
    until = time.monotonic() + LOADED_S
    while time.monotonic() < until:
        for _ in range(20):
            matrix @ matrix
        torch.cuda.synchronize()


def _kill_server() -> bool:
    """Kill the main process of the marked server, and say whether there was one: the supervisor and the gate are to find out by themselves."""
    killed = False
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            marked = b"TOKGATE_MARK=" in (folder / "environ").read_bytes()
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if marked and b"sglang.launch_server" in words:
            os.kill(int(folder.name), signal.SIGKILL)
            killed = True
    return killed


if __name__ == "__main__":
    main()
