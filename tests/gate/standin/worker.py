"""A child of the stand-in, named as SGLang names its own: `python -S worker.py NAME`; lives as long as its parent."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15  # linux/prctl.h


def main() -> None:
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_NAME, sys.argv[1].encode()[:15])
    if "stays" in sys.argv:  # a child that escapes: neither its parent's end nor TERM moves it
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.write(1, b"up\n")
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
