"""Times draft, verify, draft_extend and plain decode from inside SGLang's scheduler processes.

SGLang (0.5.11 and later) finds it by the entry point beside this package when the folder that holds both is
on PYTHONPATH; earlier versions have no plugin framework and never look. Without TOKGATE_PROBE_OUT, a folder,
it does nothing. Whatever goes wrong in here is written to its file, or lost: the server goes on as if the probe
were not there.

    TOKGATE_PROBE_OUT          folder for phases-PID.jsonl (see recorder.py for its lines)
    TOKGATE_PROBE_SWITCH       file of one byte, "0" pauses recording, looked at once a cycle
    TOKGATE_PROBE_LIMIT_BYTES  a file never grows beyond this (64 MiB)
"""

from __future__ import annotations

import contextlib
import os
import sys

_installed = False


def register() -> None:
    """Hook what there is to hook, once, in scheduler processes only."""
    global _installed  # noqa: PLW0603 - as SGLang's own guard; a second entry point must not hook twice
    folder = os.environ.get("TOKGATE_PROBE_OUT")
    if not folder or _installed:
        return
    try:
        from tokgate_probe.place import scheduler_place  # noqa: PLC0415 - nothing to do, nothing imported

        place = scheduler_place()
        if place is None:
            return
        from tokgate_probe.install import install  # noqa: PLC0415

        _installed = True
        install(folder, place)
    except Exception as error:  # noqa: BLE001 - a probe never breaks its host
        with contextlib.suppress(Exception):  # nobody may be reading stderr any more
            print(f"tokgate_probe: not installed: {error!r}", file=sys.stderr)
