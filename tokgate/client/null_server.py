"""A server that does nothing but send SSE events on time, to measure a client with.

A program of its own, standard library only. It answers any POST with as many events as the body asks tokens for,
`--rate` a second and stream, in the shape of SGLang's /generate; any GET with `{}`. Every event carries
`"sent_ns"`, CLOCK_MONOTONIC just before its send, so that a client on the same machine knows exactly how long
it was under way. First line of standard output: {"port": …}. It runs until standard input ends, then prints
what it did: events, how late it was itself, its CPU time.

    python -m tokgate.client.null_server --rate 50 --pattern even
"""

from __future__ import annotations

import argparse
import heapq
import json
import resource
import select
import socket
import sys
import time
from typing import Any

HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
)
SECOND = 1_000_000_000
# The fractional part of the golden ratio spreads any number of streams evenly over one interval.
SPREAD = 0.6180339887498949


class Stream:
    """One response under way; `due_ns` is when its next event should leave."""

    def __init__(self, sock: socket.socket, key: str, tokens: int, first_due_ns: int) -> None:
        self.sock = sock
        self.key = key
        self.tokens = tokens
        self.sent = 0
        self.start_ns = first_due_ns
        self.due_ns = first_due_ns


class NullServer:
    def __init__(self, *, rate: float, pattern: str, pad: int, cumulative: bool, keep_sends: bool) -> None:
        self.rate = rate
        self.pattern = pattern
        self.pad = "x" * pad
        self.cumulative = cumulative
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.listener.setblocking(False)
        self.reading: dict[socket.socket, bytes] = {}
        self.queue: list[tuple[int, int, Stream]] = []
        self.streams = 0
        self.events = 0
        self.dropped = 0
        self.late_ns: list[int] = []
        self.sends: dict[str, list[int]] | None = {} if keep_sends else None

    def run(self) -> None:
        sys.stdout.write(json.dumps({"port": self.listener.getsockname()[1]}) + "\n")
        sys.stdout.flush()
        while True:
            wait = max(0.0, (self.queue[0][0] - time.monotonic_ns()) / SECOND) if self.queue else None
            # select and not epoll: its limit of time is in microseconds, epoll's in milliseconds.
            ready, _, _ = select.select([self.listener, sys.stdin, *self.reading], [], [], wait)
            if sys.stdin in ready:
                return
            for sock in ready:
                if sock is self.listener:
                    self.accept()
                elif isinstance(sock, socket.socket):
                    self.read(sock)
            now = time.monotonic_ns()
            while self.queue and self.queue[0][0] <= now:
                self.send(heapq.heappop(self.queue)[2])

    def accept(self) -> None:
        try:
            sock, _ = self.listener.accept()
        except OSError:
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reading[sock] = b""

    def read(self, sock: socket.socket) -> None:
        try:
            data = sock.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            del self.reading[sock]
            sock.close()
            return
        self.reading[sock] += data
        head, end, body = self.reading[sock].partition(b"\r\n\r\n")
        if not end:
            return
        wanted = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                wanted = int(line.split(b":")[1])
        if len(body) < wanted:
            return
        del self.reading[sock]
        if head.startswith(b"POST"):
            self.begin(sock, body)
        else:
            sock.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
            sock.close()

    def begin(self, sock: socket.socket, body: bytes) -> None:
        payload: dict[str, Any] = json.loads(body or b"{}")
        tokens = payload.get("sampling_params", payload)
        asked = int(tokens.get("max_new_tokens") or payload.get("max_tokens") or 16)
        interval = SECOND / self.rate
        now = time.monotonic_ns()
        if self.pattern == "burst":  # as one decode step of a batch does: all streams in the same instant
            first = int((now // interval + 2) * interval)
        else:
            first = int(now + interval + (self.streams * SPREAD % 1.0) * interval)
        self.streams += 1
        sock.send(HEAD)
        key = str(payload.get("rid") or payload.get("text") or payload.get("input_ids"))
        stream = Stream(sock, key, asked, first)
        heapq.heappush(self.queue, (stream.due_ns, id(stream), stream))

    def event(self, stream: Stream, now: int) -> bytes:
        n = stream.sent + 1
        last = n == stream.tokens
        ids = ",".join(["7"] * n) if self.cumulative else "7"
        text = self.pad * n if self.cumulative else self.pad
        finish = f'{{"type":"length","length":{n}}}' if last else "null"
        data = (
            f'data: {{"text":"{text}","output_ids":[{ids}],"meta_info":{{"id":"null-server",'
            f'"finish_reason":{finish},"prompt_tokens":8,"completion_tokens":{n},"cached_tokens":0}},'
            f'"sent_ns":{now}}}\n\n'
        ).encode()
        chunk = b"%x\r\n%b\r\n" % (len(data), data)
        return chunk + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n" if last else chunk

    def send(self, stream: Stream) -> None:
        now = time.monotonic_ns()
        chunk = self.event(stream, now)
        self.late_ns.append(now - stream.due_ns)
        if self.sends is not None:
            self.sends.setdefault(stream.key, []).append(now)
        try:
            whole = stream.sock.send(chunk) == len(chunk)
        except OSError:  # a client that went away, or one that does not read
            whole = False
        if not whole:
            self.dropped += 1
            stream.sock.close()
            return
        self.events += 1
        stream.sent += 1
        if stream.sent == stream.tokens:
            stream.sock.close()
            return
        # From the start and not from the last one: a late event makes no other late.
        stream.due_ns = stream.start_ns + int(stream.sent * SECOND / self.rate)
        heapq.heappush(self.queue, (stream.due_ns, id(stream), stream))

    def report(self) -> dict[str, Any]:
        late = sorted(self.late_ns)
        used = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "streams": self.streams,
            "events": self.events,
            "dropped": self.dropped,
            "late_p50_ms": late[len(late) // 2] / 1e6 if late else None,
            "late_p99_ms": late[int(len(late) * 0.99)] / 1e6 if late else None,
            "cpu_s": used.ru_utime + used.ru_stime,
            "sends": self.sends,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rate", type=float, default=50.0, help="events a second and stream")
    parser.add_argument("--pattern", choices=["even", "burst"], default="even", help="spread, or all at once")
    parser.add_argument("--pad", type=int, default=8, help="bytes of text an event")
    parser.add_argument(
        "--cumulative", action="store_true", help="repeat all earlier text and ids, as SGLang does"
    )
    parser.add_argument(
        "--keep-sends", action="store_true", help="report the send times of every prompt's stream"
    )
    server = NullServer(**vars(parser.parse_args()))
    server.run()
    sys.stdout.write(json.dumps(server.report()) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
