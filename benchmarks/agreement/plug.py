"""A long prompt that keeps a server's scheduler busy: what comes meanwhile waits, and is then prefilled together."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from tokgate.client.prompts import PromptValue
from tokgate.server.running import RunningServer

FIRST_TOKENS = 1500  # about a second on a CPU, 0.03 s on an H200
BUSY_S = 1.0  # two clients of one machine send within some hundredths of a second
MOST_TOKENS = 8000  # of a server that does not tell how long a prompt may be
TAKEN_UP = 0.2  # of that time: by then the scheduler has begun with it
ROOM = 16  # tokens left of the longest prompt
TIMEOUT_S = 300.0


class Plug:
    """A prompt as long as it takes to keep this server busy for BUSY_S, or as long as the server takes one."""

    def __init__(self, server: RunningServer) -> None:
        self._server = server
        self._send(FIRST_TOKENS)  # the first of this length may compile kernels
        took = self._send(FIRST_TOKENS)
        longest = server.run.server_info.get("max_req_input_len")
        most = longest - ROOM if isinstance(longest, int) else MOST_TOKENS
        self.tokens = min(most, max(FIRST_TOKENS, int(FIRST_TOKENS * BUSY_S / took)))
        self.busy_s = self._send(self.tokens)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """The server is busy when the block begins; the block ends no sooner than the prompt."""
        with ThreadPoolExecutor(1) as pool:
            sent = pool.submit(self._send, self.tokens)
            time.sleep(self.busy_s * TAKEN_UP)
            yield
            sent.result()

    def _send(self, tokens: int) -> float:
        self._server.control.flush_cache()
        began = time.monotonic()
        self._server.control.generate_once(PromptValue(ids=(7,) * tokens), tokens=1, timeout_s=TIMEOUT_S)
        return time.monotonic() - began
