"""httpx as one candidate of benchmarks/client.py: a network backend that stamps each read from the socket."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import resource
import ssl
import sys
import time
from collections.abc import Iterable
from typing import Any

import httpcore
import httpx

SENT = re.compile(rb'"sent_ns":(\d+)')
Pieces = list[tuple[int, bytes]]


class StampingStream(httpcore.AsyncNetworkStream):
    def __init__(self, inner: httpcore.AsyncNetworkStream, kept: list[Pieces]) -> None:
        self._inner = inner
        self._pieces: Pieces = []
        kept.append(self._pieces)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's signature
        data = await self._inner.read(max_bytes, timeout)
        self._pieces.append((time.monotonic_ns(), data))
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore.AsyncNetworkStream:
        return await self._inner.start_tls(ssl_context, server_hostname, timeout)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class StampingBackend(httpcore.AsyncNetworkBackend):
    def __init__(self, kept: list[Pieces]) -> None:
        self._inner = httpcore.AnyIOBackend()
        self._kept = kept

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        stream = await self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
        return StampingStream(stream, self._kept)


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def take(client: httpx.AsyncClient, url: str, body: dict[str, object]) -> None:
    async with client.stream("POST", url, json=body) as response:
        async for _ in response.aiter_raw():
            pass


async def run(port: int, streams: int, tokens: int) -> tuple[float, float, list[Pieces]]:
    body: dict[str, object] = {"sampling_params": {"max_new_tokens": tokens}, "stream": True}
    kept: list[Pieces] = []
    transport = httpx.AsyncHTTPTransport(trust_env=False)
    # The documented way to another network backend is httpcore's pool, and httpx takes no pool of ours.
    transport._pool = httpcore.AsyncConnectionPool(  # noqa: SLF001
        max_connections=streams, network_backend=StampingBackend(kept)
    )
    async with httpx.AsyncClient(transport=transport, trust_env=False, timeout=None) as client:
        gc.collect()
        gc.disable()
        before, began = cpu_s(), time.monotonic()
        url = f"http://127.0.0.1:{port}/generate"
        await asyncio.gather(*(take(client, url, body) for _ in range(streams)))
        return cpu_s() - before, time.monotonic() - began, kept


def main() -> None:
    asked = json.loads(sys.argv[1])
    used, wall, kept = asyncio.run(run(asked["port"], asked["streams"], asked["tokens"]))
    lags = [(ns - int(t)) / 1e6 for pieces in kept for ns, data in pieces for t in SENT.findall(data)]
    print(json.dumps({"cpu_s": used, "wall_s": wall, "lags_ms": lags}))


if __name__ == "__main__":
    main()
