"""SGLang's own benchmark client, taking turns; runs under a Python that has SGLang, for benchmarks/tpot_agreement.py.

`sglang.benchmark.serving` does what it always does, command line and report included. Only before each request it
writes "ready" and waits for a line on stdin: another client then has the server to itself meanwhile. The clock of a request
starts inside, after that.
"""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from typing import Any

from sglang.benchmark import serving


def main() -> None:
    answer = sys.stdout
    original = serving.ASYNC_REQUEST_FUNCS["sglang"]

    async def in_turn(request_func_input: Any, pbar: Any = None) -> Any:
        print("ready", file=answer, flush=True)
        if not sys.stdin.readline():
            os._exit(1)  # whoever we take turns with is gone
        return await original(request_func_input=request_func_input, pbar=pbar)

    serving.ASYNC_REQUEST_FUNCS["sglang"] = in_turn
    with redirect_stdout(sys.stderr):
        serving.cli_main()


if __name__ == "__main__":
    main()
