"""SGLang's benchmark client as a process that measures a barrier start when it is told to (on_order.py)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tokgate.client.exchange import Target
from tokgate.rig.models import Rig

ROOT = Path(__file__).parents[2]
ON_ORDER = ROOT / "benchmarks" / "agreement" / "on_order.py"
CLIENT_STUBS = (
    ROOT / "rigs" / "sglang-cpu" / "client_stubs"
)  # it imports `datasets`, of which nothing is used


class TheirsError(Exception):
    """Their client ended, or said something else than was waited for; the text has the end of its output."""


@dataclass(frozen=True)
class Took:
    """One request by their clock, seconds. `latency` ends with the stream's [DONE], as in their report."""

    start: float
    ttft: float
    latency: float
    tokens: int
    itl_sum: float  # from the first chunk with text to the last

    @property
    def tpot_ms(self) -> float:
        """As their report reckons it: from the first chunk to [DONE], over all tokens but one."""
        return 1000 * (self.latency - self.ttft) / (self.tokens - 1)

    @property
    def decode_tok_s(self) -> float:
        return 1000 / self.tpot_ms


def total_tok_s(took: Sequence[Took]) -> float:
    """All tokens of a barrier start over the time from its first request to its last end."""
    ends = max(one.start + one.latency for one in took)
    return sum(one.tokens for one in took) / (ends - min(one.start for one in took))


@dataclass(frozen=True)
class Report:
    """What their report says at the end."""

    completed: int
    median_tpot_ms: float
    output_throughput: float  # tok/s over the whole duration, prefill and pauses included


class Theirs:
    def __init__(self, process: subprocess.Popen[str], errors: Path, result: Path) -> None:
        self._process, self._errors, self._result = process, errors, result

    def ready(self) -> list[list[int]] | None:
        """Return the prompts of the next start, ids; None: it has made all of them and has ended."""
        told = self._line()
        return None if told is None else self._of(told, "ready")

    def go(self) -> None:
        assert self._process.stdin is not None  # a pipe
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def took(self) -> tuple[Took, ...]:
        found = self._of(self._line() or {}, "took")
        bad = [one["why"] for one in found if not one.pop("good")]
        if bad:
            raise TheirsError(f"a request of theirs failed: {str(bad[0])[-300:]}")
        return tuple(Took(**{key: value for key, value in one.items() if key != "why"}) for one in found)

    def report(self) -> Report:
        if self._process.wait() or not self._result.exists():
            raise TheirsError(f"it ended with {self._process.returncode}: {self._last_words()}")
        told = json.loads(self._result.read_text(encoding="utf-8").splitlines()[-1])
        return Report(int(told["completed"]), float(told["median_tpot_ms"]), float(told["output_throughput"]))

    def _line(self) -> dict[str, Any] | None:
        assert self._process.stdout is not None  # a pipe
        line = self._process.stdout.readline()
        if not line:
            return None
        told: dict[str, Any] = json.loads(line)
        return told

    def _of(self, told: dict[str, Any], key: str) -> Any:
        if key not in told:
            raise TheirsError(f"instead of {key!r} it said {str(told)[:200]!r}: {self._last_words()}")
        return told[key]

    def _last_words(self) -> str:
        return self._errors.read_text(encoding="utf-8", errors="replace")[-1500:]


@contextmanager
def theirs(
    rig: Rig,
    target: Target,
    folder: Path,
    *,
    streams: int,
    starts: int,
    input_tokens: int,
    output_tokens: int,
) -> Iterator[Theirs]:
    """Start their client, under the rig's own Python; it takes some seconds to import and then waits.

    Whatever happens it is gone behind the block.
    """
    result, errors = folder / f"theirs-{streams}.jsonl", folder / f"theirs-{streams}.txt"
    options = {
        "backend": "sglang", "host": target.host, "port": target.port,
        "model": rig.server.model_path, "tokenizer": rig.server.model_path,
        "dataset-name": "random-ids", "random-input-len": input_tokens, "random-output-len": output_tokens,
        "random-range-ratio": 1.0, "num-prompts": starts * streams, "max-concurrency": streams,
        "warmup-requests": 0, "seed": 1, "output-file": result,
    }  # fmt: skip
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    path = ":".join(filter(None, (rig.server.environment.get("PYTHONPATH"), str(CLIENT_STUBS))))
    environment = {**os.environ, **rig.server.environment, "PYTHONPATH": path}
    if target.api_key is not None:
        environment["OPENAI_API_KEY"] = target.api_key
    with (
        errors.open("w", encoding="utf-8") as said,
        subprocess.Popen(
            [rig.server.python, str(ON_ORDER), str(streams), *words, "--tokenize-prompt", "--disable-tqdm"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        ) as process,
    ):
        try:
            yield Theirs(process, errors, result)
        finally:
            process.kill()


def same_tpot(took: Sequence[Took], report: Report) -> bool:
    """Say whether what was told request by request is what their report is made of."""
    return abs(median(one.tpot_ms for one in took) / report.median_tpot_ms - 1) < 1e-6
