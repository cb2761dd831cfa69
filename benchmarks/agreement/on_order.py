"""SGLang's own benchmark client, start by start on order; runs under a Python that has SGLang, for benchmarks/clients.py.

`sglang.benchmark.serving` does what it always does, command line, warm-up and report included. Only before each barrier
start it says what it is about to ask and waits for a line on stdin, and behind each request it says what it measured.
Its clock of a request starts inside, after that. Lines of JSON on standard output:

    {"ready": [[ids, …], …]}      one prompt a stream; it waits
    {"took": [{…}, …]}            what its clock says of each request of that start: seconds, tokens
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import redirect_stdout
from typing import Any

from sglang.benchmark import serving


class Order:
    """Holds `streams` requests back until all of them are there and somebody says go."""

    def __init__(self, streams: int, answer: Any) -> None:
        self._streams = streams
        self._answer = answer
        self._waiting: list[Any] = []
        self._go = asyncio.Event()
        self._took: list[dict[str, Any]] = []

    def around(self, original: Any) -> Any:
        async def on_order(request_func_input: Any, pbar: Any = None) -> Any:
            await self._barrier(request_func_input)
            output = await original(request_func_input=request_func_input, pbar=pbar)
            self._note(output)
            return output

        return on_order

    async def _barrier(self, asked: Any) -> None:
        self._waiting.append(asked)
        go = self._go
        if len(self._waiting) < self._streams:
            await go.wait()
            return
        self._say({"ready": [list(one.prompt) for one in self._waiting]})
        if not sys.stdin.readline():
            os._exit(1)  # whoever gives the orders is gone
        self._waiting, self._go = [], asyncio.Event()
        go.set()

    def _note(self, output: Any) -> None:
        self._took.append(
            {
                "good": output.success,
                "why": output.error,
                "start": output.start_time,
                "ttft": output.ttft,
                "latency": output.latency,
                "tokens": output.output_len,
                "itl_sum": sum(output.itl),
            }
        )
        if len(self._took) == self._streams:
            self._say({"took": self._took})
            self._took = []

    def _say(self, told: dict[str, Any]) -> None:
        print(json.dumps(told), file=self._answer, flush=True)


def main() -> None:
    streams = int(sys.argv.pop(1))
    original = serving.ASYNC_REQUEST_FUNCS["sglang"]
    serving.ASYNC_REQUEST_FUNCS["sglang"] = Order(streams, sys.stdout).around(original)
    with redirect_stdout(sys.stderr):
        serving.cli_main()


if __name__ == "__main__":
    main()
