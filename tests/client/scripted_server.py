"""A TCP server that does to each connection exactly what a test says."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tokgate.client.exchange import Target


class Connection:
    """One accepted connection, and the words a test needs for it."""

    def __init__(self, sock: socket.socket, over: threading.Event) -> None:
        self.sock = sock
        self.over = over  # set when the test is done: nobody waits beyond it
        self.request = b""

    def read_request(self) -> bytes:
        """Read head and body of one request."""
        while b"\r\n\r\n" not in self.request:
            self._more()
        head, _, body = self.request.partition(b"\r\n\r\n")
        lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        length = int(lengths[0].split(b":")[1]) if lengths else 0
        while len(body) < length:
            self._more()
            body = self.request.partition(b"\r\n\r\n")[2]
        return self.request

    def _more(self) -> None:
        data = self.sock.recv(65536)
        if not data:
            raise ConnectionResetError("the client went away")
        self.request += data

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self.sock.sendall(part)

    def reset(self) -> None:
        """Close with RST, as the kernel of a killed server does when bytes are left unread."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def hold(self) -> None:
        """Keep the connection open, saying nothing, until the test is over."""
        self.over.wait(30)


Script = Callable[[Connection], None]


@contextmanager
def serving(script: Script) -> Iterator[Target]:
    """Run `script` for every connection, each in a thread; yields where to connect."""
    over = threading.Event()
    threads: list[threading.Thread] = []
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def one(sock: socket.socket) -> None:
        with sock, suppress(OSError):
            script(Connection(sock, over))

    def accept() -> None:
        while not over.is_set():
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            sock.settimeout(30)
            threads.append(threading.Thread(target=one, args=(sock,), daemon=True))
            threads[-1].start()

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield Target("127.0.0.1", listener.getsockname()[1], "the-key")
    finally:
        over.set()
        # Closing does not wake a thread in accept; shutting down does.
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in (acceptor, *threads):
            thread.join(10)


HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
)
END = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(tokens: int, *, finish: bool = False) -> bytes:
    """One chunk of a cumulative /generate stream, whose ids are all 7."""
    ids = ",".join("7" * tokens)
    reason = f'{{"type":"length","length":{tokens}}}' if finish else "null"
    return chunk(
        f'data: {{"text":"{"x" * tokens}","output_ids":[{ids}],"meta_info":{{"finish_reason":{reason},'
        f'"prompt_tokens":2,"completion_tokens":{tokens},"cached_tokens":0,"num_retractions":0}}}}\n\n'.encode()
    )


DONE = chunk(b"data: [DONE]\n\n")


def whole_stream(tokens: int) -> list[bytes]:
    events = [event(n, finish=n == tokens) for n in range(1, tokens + 1)]
    return [HEAD, *events, DONE, END]
