"""One barrier start: N requests at once, every arrival stamped and kept, nothing read meanwhile.

A synchronous loop over non-blocking sockets. While it runs it does three things an arrival: `recv`, read the
clock, append. HTTP, SSE and JSON are taken apart afterwards (`http_response`, `interpret`), so that reading one
stream never delays the stamp of another. docs/client.md has the reason and the figures.
"""

from __future__ import annotations

import gc
import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tokgate.records import ClientLoad, GenerationStatus

from .exchange import RawResponse, Request, Target, request_bytes
from .http_response import HEAD_LIMIT, ended_without_close, status_of
from .in_flight import InFlight, resolve, words

__all__ = ["BatchOutcome", "RawResponse", "Request", "Target", "run_batch"]

RESPONSE_LIMIT = 64 * 1024 * 1024  # bytes held of one response, bookkeeping included
# A stamp, a tuple and a bytes header: charged with every arrival, so that a drip of single bytes is bounded too.
PIECE_OVERHEAD = 128
READ_SIZE = 64 * 1024
TICK_NS = 100_000_000  # between looks at should_stop and at streams that have gone quiet


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """One response per request, in order; `load` is the client's own part between first send and last end."""

    responses: tuple[RawResponse, ...]
    load: ClientLoad


def run_batch(
    target: Target,
    requests: Sequence[Request],
    *,
    timeout_s: float,
    connect_timeout_s: float = 10.0,
    response_limit: int = RESPONSE_LIMIT,
    should_stop: Callable[[], str | None] | None = None,
) -> BatchOutcome:
    """Connect all, then send all back to back, then stamp what arrives until every stream has ended.

    Answers for every request, whatever the server does. `timeout_s` limits the whole batch from its first send.
    `should_stop` is asked about ten times a second and must be quick: a reason ends every open stream as cut.
    """
    exchanges = [InFlight(request, request_bytes(target, request), response_limit) for request in requests]
    batch = _Batch(exchanges, should_stop)
    try:
        with _no_collection():
            batch.connect(target, time.monotonic_ns() + int(connect_timeout_s * 1e9))
            # This thread's time: what else the gate's process does is not the client.
            cpu_ns, wall_ns = time.thread_time_ns(), time.monotonic_ns()
            batch.run(int(timeout_s * 1e9))
            cpu_ns, wall_ns = time.thread_time_ns() - cpu_ns, time.monotonic_ns() - wall_ns
    finally:
        batch.close()
    events = sum(exchange.events() for exchange in exchanges)
    return BatchOutcome(
        responses=tuple(exchange.response() for exchange in exchanges),
        load=ClientLoad(cpu_s=cpu_ns / 1e9, wall_s=wall_ns / 1e9, events=events),
    )


@contextmanager
def _no_collection() -> Iterator[None]:
    # A full collection of a pytest process takes tens of milliseconds: an arrival would wait for it.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Batch:
    def __init__(self, exchanges: Sequence[InFlight], should_stop: Callable[[], str | None] | None) -> None:
        self._all = exchanges
        self._should_stop = should_stop
        # epoll itself and not the selectors module: that one costs 2 of 16 microseconds an event.
        self._epoll = select.epoll()
        self._open: dict[int, InFlight] = {}

    def connect(self, target: Target, deadline_ns: int) -> None:
        """Connect every exchange, or finish it as refused."""
        addresses, error = resolve(target)
        for exchange in self._all:
            if exchange.open(addresses):
                self._watch(exchange, select.EPOLLOUT)
            else:
                self._finish(exchange, GenerationStatus.REFUSED, error or exchange.error or "refused")
        waiting = len(self._open)
        while waiting and time.monotonic_ns() < deadline_ns:
            for fd, _ in self._epoll.poll(TICK_NS / 1e9):
                exchange = self._forget(fd)
                outcome = exchange.connected()
                if outcome is None:
                    self._watch(exchange, select.EPOLLOUT)
                    continue
                waiting -= 1
                if not outcome:
                    self._finish(exchange, GenerationStatus.REFUSED, exchange.error or "refused")
            if self._stopped():
                return
        for exchange in list(self._open.values()):
            self._finish(exchange, GenerationStatus.REFUSED, "no connection before the limit")

    def run(self, timeout_ns: int) -> None:
        """Send all requests, then take what arrives until every exchange is finished."""
        started_ns = time.monotonic_ns()
        for exchange in self._all:
            if exchange.end_ns is None:
                sent = exchange.send()
                self._watch(exchange, select.EPOLLIN if sent else select.EPOLLIN | select.EPOLLOUT)
        self._receive(started_ns + timeout_ns)
        what = f"not ended after {timeout_ns / 1e9:g} s"
        for exchange in list(self._open.values()):
            self._finish(exchange, GenerationStatus.TIMED_OUT, f"{what} {exchange.progress}")

    def _receive(self, deadline_ns: int) -> None:
        is_open, poll, clock = self._open, self._epoll.poll, time.monotonic_ns
        # Never past the deadline: epoll takes a negative time for "wait for ever".
        next_tick_ns = min(clock() + TICK_NS, deadline_ns)
        while is_open:
            now_ns = clock()
            if now_ns >= next_tick_ns:
                if now_ns >= deadline_ns or self._stopped():
                    return
                next_tick_ns = min(now_ns + TICK_NS, deadline_ns)
                self._tick()
            for fd, mask in poll((next_tick_ns - now_ns) / 1e9):
                exchange = is_open[fd]
                if mask & select.EPOLLOUT and exchange.send():
                    self._epoll.modify(fd, select.EPOLLIN)
                # Once a turn: a flood on one stream must not keep the others waiting.
                try:
                    data = exchange.receive(READ_SIZE)
                except BlockingIOError:
                    continue
                except OSError as error:
                    self._finish(exchange, GenerationStatus.CUT, f"{words(error)} {exchange.progress}")
                    continue
                # After recv and not before it: bytes that arrive between poll's return and this recv
                # would otherwise carry a time at which they had not yet been sent.
                arrived_ns = clock()
                if not data:
                    self._finish(exchange, None, None)
                    continue
                exchange.pieces.append((arrived_ns, data))
                exchange.held += len(data) + PIECE_OVERHEAD
                if exchange.held > exchange.limit:
                    what = f"more than {exchange.limit} bytes {exchange.progress}"
                    self._finish(exchange, GenerationStatus.GARBLED, what)

    def _tick(self) -> None:
        """Look for streams that have ended or gone wrong without the connection saying so."""
        for exchange in list(self._open.values()):
            arrived = len(exchange.pieces)
            quiet, exchange.seen_at_tick = arrived == exchange.seen_at_tick, arrived
            if not exchange.has_head and exchange.held > HEAD_LIMIT:
                exchange.has_head = status_of(exchange.pieces) is not None
                if not exchange.has_head and exchange.size > HEAD_LIMIT:
                    self._finish(exchange, GenerationStatus.GARBLED, f"no end of head {exchange.progress}")
                    continue
            if quiet and ended_without_close(exchange.pieces):
                self._finish(exchange, None, None)

    def _stopped(self) -> bool:
        reason = self._should_stop() if self._should_stop is not None else None
        if reason is None:
            return False
        for exchange in self._all:
            self._finish(exchange, GenerationStatus.CUT, f"given up: {reason} {exchange.progress}")
        return True

    def _watch(self, exchange: InFlight, events: int) -> None:
        if exchange.sock is not None:
            self._open[exchange.sock.fileno()] = exchange
            self._epoll.register(exchange.sock.fileno(), events)

    def _forget(self, fd: int) -> InFlight:
        self._epoll.unregister(fd)
        return self._open.pop(fd)

    def _finish(self, exchange: InFlight, kind: GenerationStatus | None, error: str | None) -> None:
        if exchange.sock is not None and exchange.sock.fileno() in self._open:
            self._forget(exchange.sock.fileno())
        exchange.finish(kind, error, time.monotonic_ns())

    def close(self) -> None:
        for exchange in self._all:
            exchange.shut()
        self._epoll.close()
