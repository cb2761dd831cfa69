"""Times draft, verify, draft_extend and plain decode from inside SGLang's scheduler processes.

SGLang (0.5.11 and later) finds it by the entry point beside this package when the folder that holds both is
on PYTHONPATH. Without TOKGATE_PROBE_OUT, a folder, it does nothing. Whatever goes wrong in here is written
to its file, or lost: the server goes on as if the probe were not there.

    TOKGATE_PROBE_OUT          folder for phases-PID.jsonl (see recorder.py for its lines)
    TOKGATE_PROBE_SWITCH       file of one byte, "0" pauses recording, looked at on every call
    TOKGATE_PROBE_LIMIT_BYTES  a file never grows beyond this (64 MiB)
"""

from __future__ import annotations

import os
import sys


def register() -> None:
    """Hook what there is to hook, in scheduler processes only."""
    folder = os.environ.get("TOKGATE_PROBE_OUT")
    if not folder or not _in_scheduler():
        return
    try:
        from tokgate_probe.install import install  # noqa: PLC0415 - other processes do without torch

        install(folder)
    except Exception as error:  # noqa: BLE001 - a probe never breaks its host
        print(f"tokgate_probe: not installed: {error!r}", file=sys.stderr)  # noqa: T201


def _in_scheduler() -> bool:
    """The same entry point runs in the main process and the detokenizer, where no phase ever runs."""
    frame = sys._getframe()  # noqa: SLF001 - the documented way to see one's callers
    while frame is not None:
        if frame.f_code.co_name.startswith("run_scheduler_process"):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False
