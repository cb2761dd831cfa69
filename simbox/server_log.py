"""Log lines as SGLang writes them, in the words of the version spoken."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class ServerLog:
    """Writes whole lines to standard error with one system call each, so that processes never mix within one."""

    version: str
    tag: str = ""  # " TP3", empty with one rank and in the main process

    def line(self, text: str) -> None:
        """Write one stamped line."""
        stamp = datetime.now().strftime("%Y-%m-%d %H:%M:%S")  # noqa: DTZ005 - SGLang logs local time without a zone
        self.bare(f"[{stamp}{self.tag}] {text}")

    def bare(self, text: str) -> None:
        """Write a line without stamp, such as NCCL's or a traceback's."""
        try:
            os.write(2, f"{text}\n".encode(errors="replace"))
        except OSError:
            # The reader of our output is gone; the server itself goes on, as SGLang does.
            return

    def server_args(self, args: dict[str, Any]) -> None:
        """Say what was asked for, keys redacted; 0.5.9 prints a record, 0.5.23 a dictionary."""
        shown = {k: "<redacted>" if "api_key" in k and v else v for k, v in args.items()}
        if self.version == "0.5.9":
            self.line(f"server_args=ServerArgs({', '.join(f'{k}={v!r}' for k, v in shown.items())})")
        else:
            self.line(f"server_args={shown!r}")

    def access(self, client: str, request: str, status: str) -> None:
        """Write uvicorn's access line."""
        self.line(f'INFO:     {client} - "{request} HTTP/1.1" {status}')

    def prefill(
        self, *, seqs: int, new: int, cached: int, usage: float, running: int, queued: int, tok_s: float
    ) -> None:
        text = (
            f"Prefill batch, #new-seq: {seqs}, #new-token: {new}, #cached-token: {cached}, token usage: {usage:.2f}, "
            f"#running-req: {running}, #queue-req: {queued}, "
        )
        if self.version == "0.5.9":
            self.line(text + f"input throughput (token/s): {tok_s:.2f}, cuda graph: False")
        else:
            self.line(text + f"#pending-token: 0, cuda graph: False, input throughput (token/s): {tok_s:.2f}")

    def decode(
        self,
        *,
        running: int,
        tokens: int,
        usage: float,
        spec: tuple[float, int] | None,
        graph: bool,
        tok_s: float,
        queued: int,
    ) -> None:
        """`spec`: mean accept length since the last line and the number of draft tokens."""
        middle = ""
        if spec is not None:
            length, draft_tokens = spec
            # What "accept rate" divides changed in April 2026 without a mark.
            old = self.version == "0.5.9"
            rate = length / draft_tokens if old else (length - 1) / max(1, draft_tokens - 1)
            middle = f"accept len: {length:.2f}, accept rate: {rate:.2f}, "
        self.line(
            f"Decode batch, #running-req: {running}, #token: {tokens}, token usage: {usage:.2f}, {middle}"
            f"cuda graph: {graph}, gen throughput (token/s): {tok_s:.2f}, #queue-req: {queued}"
        )

    def capture(self, what: str, tokens: int, sizes: Sequence[int], avail: float, seconds: float) -> None:
        """Two lines about capturing CUDA graphs; `what`: decode, target verify, draft decode, draft extend."""
        if self.version == "0.5.9":
            name = {"draft decode": "draft ", "draft extend": "draft extend "}.get(what, "")
            self.line(
                f"Capture {name}cuda graph begin. This can take up to several minutes. avail mem={avail:.2f} GB"
            )
            self.line(f"Capture cuda graph bs {list(sizes)}")
            self.line(
                f"Capture {name}cuda graph end. Time elapsed: {seconds:.2f} s. mem usage=0.10 GB. avail mem={avail - 0.1:.2f} GB."
            )
            return
        self.line(
            f"Capture {what} CUDA graph begin. backend=full, num_tokens_per_req={tokens}, bs={list(sizes)}, avail mem={avail:.2f} GB"
        )
        self.line(
            f"Capture {what} CUDA graph end. elapsed={seconds:.2f} s, mem usage=0.10 GB, avail mem={avail - 0.1:.2f} GB."
        )
