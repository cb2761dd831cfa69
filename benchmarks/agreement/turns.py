"""Our client and SGLang's, turn by turn on one server: the same prompts, the one first and then the other."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.agreement.plug import Plug
from benchmarks.agreement.theirs import Report, Theirs, Took, theirs
from tokgate.client.interpret import interpret
from tokgate.client.prompts import PromptValue, payload
from tokgate.client.stream import Request, run_batch
from tokgate.records import Generation
from tokgate.rig.models import Rig
from tokgate.server.running import RunningServer
from tokgate.stats.samples import batch_samples, samples_of

TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Asked:
    """`together`: both send at once, while the server is busy with a long prompt, and are served by the same steps."""

    streams: int
    starts: int  # turns that count
    warm_ups: int
    input_tokens: int
    output_tokens: int
    together: bool = False


@dataclass(frozen=True)
class Ours:
    """One barrier start by our client; of each stream, but `total_tok_s`."""

    tpot_ms: tuple[float, ...]
    client_tok_s: tuple[float, ...]  # first chunk to last
    server_tok_s: tuple[float, ...]  # decode_throughput, as the server told
    done_ms: tuple[float, ...]  # from the last chunk to the end of the stream
    accept_length: tuple[float, ...]  # of a speculating server
    total_tok_s: float


@dataclass(frozen=True)
class Turn:
    ours_first: bool
    ours: Ours
    theirs: tuple[Took, ...]


class OursError(Exception):
    """A request of ours gave no figures."""


def take_turns(
    rig: Rig, server: RunningServer, asked: Asked, folder: Path, say: Callable[[str], None] = print
) -> tuple[tuple[Turn, ...], Report]:
    """Return the turns that count, and their report; folder: where their client leaves it. TheirsError, OursError."""
    turns: list[Turn] = []
    starts = asked.starts + asked.warm_ups
    plug = Plug(server) if asked.together else None
    options = {"input_tokens": asked.input_tokens, "output_tokens": asked.output_tokens}
    with theirs(rig, server.target, folder, streams=asked.streams, starts=starts, **options) as them:
        while (prompts := them.ready()) is not None:
            number = len(turns)
            first = number % 2 == 0
            one = (
                _both(server, asked, prompts, them, plug)
                if plug is not None
                else _in_turn(server, asked, prompts, them, first)
            )
            turns.append(Turn(first, *one))
            if (number + 1) % 10 == 0:
                say(f"turn {number + 1} of {starts}")
        report = them.report()
    if len(turns) != starts or report.completed != starts * asked.streams:
        raise OursError(
            f"{len(turns)} of {starts} turns were made, they completed {report.completed} requests"
        )
    return tuple(turns), report


def _in_turn(
    server: RunningServer, asked: Asked, prompts: Sequence[Sequence[int]], them: Theirs, ours_first: bool
) -> tuple[Ours, tuple[Took, ...]]:
    mine: Ours | None = None
    if ours_first:
        server.control.flush_cache()
        mine = ask(server, asked, prompts)
    server.control.flush_cache()
    them.go()
    took = them.took()
    if mine is None:
        server.control.flush_cache()
        mine = ask(server, asked, prompts)
    return mine, took


def _both(
    server: RunningServer, asked: Asked, prompts: Sequence[Sequence[int]], them: Theirs, plug: Plug
) -> tuple[Ours, tuple[Took, ...]]:
    with plug.busy():
        them.go()
        mine = ask(server, asked, prompts)
    return mine, them.took()


def ask(server: RunningServer, asked: Asked, prompts: Sequence[Sequence[int]]) -> Ours:
    """Make one barrier start with these prompts."""
    requests = []
    for ids in prompts:
        name = uuid.uuid4().hex
        value = PromptValue(ids=tuple(ids))
        body = payload("generate", value, output_tokens=asked.output_tokens, request_id=name)
        requests.append(Request(name, "generate", body, asked.output_tokens))
    raw = run_batch(server.target, requests, timeout_s=TIMEOUT_S).responses
    launch = server.run.launch.id
    return figures_of(
        [interpret(one, launch=launch, workload="clients", index=i) for i, one in enumerate(raw)]
    )


def figures_of(answers: Sequence[Generation]) -> Ours:
    """Return our figures of one barrier start. OursError: a generation was not good, or lacks a number."""
    bad = next((one for one in answers if not one.good), None)
    if bad is not None:
        raise OursError(f"a generation of ours was not good: {bad.status.value}, {bad.why}")
    columns: dict[str, list[float]] = {}
    for answer in answers:
        for sample in samples_of(answer):
            if sample.value is not None:
                columns.setdefault(sample.metric, []).append(sample.value)
    (total,) = batch_samples(answers)
    told = [a.counters.decode_throughput for a in answers if a.counters and a.counters.decode_throughput]
    ends = [(a.end_ns - a.chunk_ns[-1]) / 1e6 for a in answers if a.end_ns is not None and a.chunk_ns]
    short = [
        name for name in ("tpot_ms", "client_decode_tok_s") if len(columns.get(name, ())) != len(answers)
    ]
    if short or len(told) != len(answers) or total.value is None:
        raise OursError(
            f"no figures of {', '.join(short) or 'the server'}: {total.why or 'see its meta_info'}"
        )
    return Ours(
        tpot_ms=tuple(columns["tpot_ms"]),
        client_tok_s=tuple(columns["client_decode_tok_s"]),
        server_tok_s=tuple(told),
        done_ms=tuple(ends),
        accept_length=tuple(columns.get("accept_length", ())),
        total_tok_s=total.value,
    )
