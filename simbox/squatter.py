"""Somebody else's process on a GPU: `python -m simbox.squatter STATE GPU MIB LIFE_S KIND`. Started by box.py."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from simbox import ledger

NAME = "python3"  # what nvidia-smi calls it


def main() -> None:
    state, kind = Path(sys.argv[1]), sys.argv[5]
    gpu, mib, life_s = map(float, sys.argv[2:5])
    end = time.monotonic() + life_s
    holding = os.pipe()
    if os.fork():
        os.close(holding[1])
        os.read(holding[0], 1)  # the caller may look at the GPUs as soon as we return
        return
    if kind == "invited":
        os.write(holding[1], b".")
        while not (state / "invitation").exists():
            if time.monotonic() > end or not (state / "box.json").exists():
                return
            time.sleep(0.05)
    if kind == "zombie":
        # The child dies and is never waited for: a zombie that the driver still counts.
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        pid, back = child, ledger.NEVER
    else:
        pid, back = os.getpid(), 0.0
    ledger.claim(state, ledger.Holder(int(gpu), pid, ledger.start_ticks(pid), int(mib), NAME, back))
    os.write(holding[1], b".")
    # The box coming down ends it, and with it a zombie of its own.
    while time.monotonic() < end and (state / "box.json").exists():
        ledger.touch(state, int(gpu), pid)
        time.sleep(0.25)


if __name__ == "__main__":
    main()
