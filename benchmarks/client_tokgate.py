"""tokgate's client as one candidate of benchmarks/client.py."""

from __future__ import annotations

import json
import resource
import sys
import time

from tokgate.client.exchange import Target
from tokgate.client.headroom import lags_ms, null_requests
from tokgate.client.interpret import interpret
from tokgate.client.stream import run_batch


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    asked = json.loads(sys.argv[1])
    requests = null_requests(asked["streams"], asked["tokens"])
    before, began = cpu_s(), time.monotonic()
    outcome = run_batch(Target("127.0.0.1", asked["port"]), requests, timeout_s=60)
    used, wall = cpu_s() - before, time.monotonic() - began
    before = cpu_s()
    read = [interpret(raw, launch="", workload="", index=i) for i, raw in enumerate(outcome.responses)]
    after = cpu_s() - before
    if not all(generation.good for generation in read):
        sys.exit(f"a generation was not good: {next(g.why for g in read if not g.good)}")
    print(json.dumps({"cpu_s": used, "wall_s": wall, "after_s": after, "lags_ms": lags_ms(outcome)}))


if __name__ == "__main__":
    main()
