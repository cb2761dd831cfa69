"""SGLang's own benchmark client as one candidate of benchmarks/client.py; runs under a Python that has SGLang.

`sglang.benchmark.serving` does what it always does. Around its request function we take the CPU time, and afterwards
the arrival times that it reckons with: its start, time to first token and inter-token latencies.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from contextlib import redirect_stdout
from itertools import accumulate
from typing import Any

from sglang.benchmark import serving


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Window:
    """From the first request to the last byte."""

    def __init__(self) -> None:
        self.began: tuple[float, float] | None = None
        self.ended = (0.0, 0.0)
        self.arrivals: dict[str, list[int]] = {}

    def around(self, function: Any) -> Any:
        async def timed(request_func_input: Any, pbar: Any = None) -> Any:
            if self.began is None:
                self.began = (cpu_s(), time.monotonic())
            output = await function(request_func_input=request_func_input, pbar=pbar)
            self.ended = (cpu_s(), time.monotonic())
            # perf_counter is the monotonic clock on Linux, the one in the events.
            first = output.start_time + output.ttft
            stamps = accumulate(output.itl, initial=first)
            self.arrivals[str(request_func_input.prompt)] = [int(t * 1e9) for t in stamps]
            return output

        return timed


def main() -> None:
    asked = json.loads(sys.argv[1])
    window = Window()
    serving.ASYNC_REQUEST_FUNCS["sglang"] = window.around(serving.ASYNC_REQUEST_FUNCS["sglang"])
    streams, tokens = str(asked["streams"]), str(asked["tokens"])
    sys.argv = ["serving", "--backend", "sglang", "--host", "127.0.0.1", "--port", str(asked["port"])]
    sys.argv += ["--model", asked["tokenizer"], "--tokenizer", asked["tokenizer"]]
    sys.argv += ["--dataset-name", "random-ids", "--random-input-len", "16", "--random-output-len", tokens]
    sys.argv += ["--random-range-ratio", "1.0", "--num-prompts", streams, "--warmup-requests", "0"]
    sys.argv += ["--disable-tqdm", "--output-file", "/dev/null"]
    with redirect_stdout(sys.stderr):
        serving.cli_main()
    if window.began is None:
        sys.exit("it sent no request")
    cpu, wall = window.ended[0] - window.began[0], window.ended[1] - window.began[1]
    print(json.dumps({"cpu_s": cpu, "wall_s": wall, "arrivals": window.arrivals}))


if __name__ == "__main__":
    main()
