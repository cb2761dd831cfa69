"""A foreign process on a GPU host, for planted.py: it holds memory, loads the GPU, or kills the server.

    python3 disturb.py hold|load|kill RUNS LAUNCH MODULE GPU

`load` and `kill` wait until a run in the folder RUNS has taken a few generations of that launch ("03-eagle3-2step"); MODULE is
what the server's main process was started as: of that launch alone, whatever else runs on the host. One line on standard
output says that it is there, a second one that it has done it, or has begun to: a load goes on until its time or the session ends.
`kill` ends with 1 where there was no server to kill.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

HELD = 512 << 20
LOADED_S = 20.0
GENERATIONS = 3  # of the launch: its first workload is under way
POLL_S = 0.05


def main() -> None:
    what, runs, launch, module, gpu = sys.argv[1], Path(sys.argv[2]), *sys.argv[3:]
    if what == "hold":
        _hold(f"cuda:{gpu}")
    # torch takes seconds to import, a launch is not much longer; it makes no CUDA context before it is used.
    load = _ready_to_load(f"cuda:{gpu}") if what == "load" else None
    print("there", flush=True)
    run = _under_way(runs, launch)
    if load is not None:
        load()
    elif kill_server(f"{run}/{launch}/", module):
        _done()
    else:
        sys.exit("no server of that launch was found to kill")


def _done() -> None:
    print("done", flush=True)


def _under_way(runs: Path, launch: str) -> str:
    """Wait until the launch has taken a few generations; return the run's name. A link, `latest`, is no run."""
    while True:
        for body in runs.glob(f"*/launches/{launch}/bodies/{GENERATIONS:04d}.sse"):
            if not (run := body.parents[3]).is_symlink():
                return run.name
        time.sleep(POLL_S)


def _hold(device: str) -> None:
    import torch  # noqa: PLC0415 - the host's, and not for `kill`

    held = torch.empty(HELD, dtype=torch.uint8, device=device)
    torch.cuda.synchronize(device)
    print(f"holding {held.numel()} bytes", flush=True)
    signal.pause()


def _ready_to_load(device: str) -> Callable[[], None]:
    import torch  # noqa: PLC0415 - the host's, and not for `kill`

    def load() -> None:
        matrix = torch.randn(8192, 8192, dtype=torch.bfloat16, device=device)
        until, begun = time.monotonic() + LOADED_S, False
        while time.monotonic() < until:
            for _ in range(20):
                matrix @ matrix
            torch.cuda.synchronize(device)
            if not begun:
                _done()
            begun = True

    return load


def kill_server(mark: str, module: str) -> bool:
    """Kill the main process of the server whose mark begins so; say whether there was one.

    The supervisor and the gate are to find out by themselves.
    """
    killed = False
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        marked = any(one.startswith(f"TOKGATE_MARK={mark}".encode()) for one in environment)
        if marked and module.encode() in words:
            os.kill(int(folder.name), signal.SIGKILL)
            killed = True
    return killed


if __name__ == "__main__":
    main()
