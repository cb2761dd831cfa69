"""aiohttp as one candidate of benchmarks/client.py: stamps what iter_any gives, reads nothing."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import resource
import sys
import time

import aiohttp

SENT = re.compile(rb'"sent_ns":(\d+)')
Pieces = list[tuple[int, bytes]]


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def take(session: aiohttp.ClientSession, url: str, body: dict[str, object], pieces: Pieces) -> None:
    async with session.post(url, json=body) as response:
        async for data in response.content.iter_any():
            pieces.append((time.monotonic_ns(), data))


async def run(port: int, streams: int, tokens: int) -> tuple[float, float, list[Pieces]]:
    body: dict[str, object] = {"sampling_params": {"max_new_tokens": tokens}, "stream": True}
    kept: list[Pieces] = [[] for _ in range(streams)]
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        gc.collect()
        gc.disable()
        before, began = cpu_s(), time.monotonic()
        url = f"http://127.0.0.1:{port}/generate"
        await asyncio.gather(*(take(session, url, body, pieces) for pieces in kept))
        return cpu_s() - before, time.monotonic() - began, kept


def main() -> None:
    asked = json.loads(sys.argv[1])
    used, wall, kept = asyncio.run(run(asked["port"], asked["streams"], asked["tokens"]))
    lags = [(ns - int(t)) / 1e6 for pieces in kept for ns, data in pieces for t in SENT.findall(data)]
    print(json.dumps({"cpu_s": used, "wall_s": wall, "lags_ms": lags}))


if __name__ == "__main__":
    main()
