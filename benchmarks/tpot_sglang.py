"""SGLang's own benchmark client, request by request on order; runs under a Python that has SGLang, for benchmarks/tpot_agreement.py.

`sglang.benchmark.serving` does what it always does, command line and report included. Only before each request it
writes "ready" and waits for a line on stdin, so that another client can send at the same moment. The clock of a request
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

    async def on_order(request_func_input: Any, pbar: Any = None) -> Any:
        print("ready", file=answer, flush=True)
        if not sys.stdin.readline():
            os._exit(1)  # whoever gives the orders is gone
        return await original(request_func_input=request_func_input, pbar=pbar)

    serving.ASYNC_REQUEST_FUNCS["sglang"] = on_order
    with redirect_stdout(sys.stderr):
        serving.cli_main()


if __name__ == "__main__":
    main()
