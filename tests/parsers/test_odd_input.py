"""Every reader gets what no server should print: it never raises, is done soon, and lists what it did not understand."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

import tokgate.parsers
from tests.parsers.mutations import mutated
from tokgate.parsers.batch_lines import read_batch_lines
from tokgate.parsers.cgroup import read_cgroup
from tokgate.parsers.crashes import find_cause
from tokgate.parsers.decode_summary import group_by_load, summarise_decode
from tokgate.parsers.device_timer import read_device_timer
from tokgate.parsers.environ import read_environ
from tokgate.parsers.foreign_json import load_json
from tokgate.parsers.generation_stream import (
    read_chat_stream,
    read_completions_stream,
    read_generate_stream,
)
from tokgate.parsers.log_prefix import log_lines, strip_prefixes
from tokgate.parsers.logged_body import read_logged_bodies
from tokgate.parsers.meta_info import read_meta_info, read_usage
from tokgate.parsers.metric_names import golden_families
from tokgate.parsers.model_config import read_model_config
from tokgate.parsers.nccl_conf import read_conf
from tokgate.parsers.nccl_info import read_nccl
from tokgate.parsers.nvidia_smi import read_gpus, read_holders, read_table
from tokgate.parsers.nvidia_smi_failure import read_failure
from tokgate.parsers.nvidia_smi_list import read_gpu_list
from tokgate.parsers.nvidia_smi_pmon import read_pmon
from tokgate.parsers.nvidia_smi_table import read_smi_table
from tokgate.parsers.nvidia_smi_topology import read_topology
from tokgate.parsers.overwritten import read_overwritten
from tokgate.parsers.phase_trace import read_phase_trace
from tokgate.parsers.probe_file import read_probe_file
from tokgate.parsers.process_table import read_process_table, read_stat
from tokgate.parsers.prometheus import read_metrics
from tokgate.parsers.sse import SseStream, split_events
from tokgate.parsers.startup import read_arguments, read_startup
from tokgate.parsers.telemetry_lines import read_line
from tokgate.parsers.torch_trace import read_torch_trace
from tokgate.records import Unread

DATA = Path(__file__).parent / "data"
LINE_BYTES = 10_000_000
LINE_CPU_S = 1.0  # of this process, so that a busy machine fails nobody
SMALL_CPU_S = 0.5


class Reader(NamedTuple):
    read: Callable[[str], Any]
    sound: str  # a text of its own kind, or the files of that pattern under data/
    torn: str | None = (
        None  # one of its own kind that nobody can read; None: the answer has no place to say so
    )

    def samples(self) -> list[str]:
        found = sorted(DATA.glob(self.sound)) if self.sound.count("\n") == 0 and "*" in self.sound else []
        return [path.read_bytes().decode("utf-8", "replace") for path in found] or [self.sound]


def events(text: str) -> SseStream:
    data = raw(text)
    middle = len(data) // 2
    return split_events([(1, data[:middle]), (2, data[middle:])])


def raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def decode_lines(text: str) -> Any:
    lines = read_batch_lines(text)
    return lines, summarise_decode(lines.decode), group_by_load(lines.decode)


SMI = "index, name, memory.used [MiB], pid, used_gpu_memory [MiB]\n0, H200, 12 MiB, 77, 5 MiB\n"
STAT = "77 (sglang::sched (1)) S 1 77 77 " + "0 " * 16 + "4711"

PROBE = (
    '{"probe": 1, "pid": 7, "mark": "m", "clock": "host", "hooked": ["verify a.b"], "missing": []}\n'
    '["verify", 5.359, 1, 1, 123456789]\n{"end": true, "written": 1, "dropped": 0}\n'
)

READERS = {
    "batch lines": Reader(
        decode_lines, "batch_lines/*.log", "[2026-01-01 00:00:01 TP0] Decode batch. #running-req: 1"
    ),
    "startup": Reader(read_startup, "startup/*.log", "[2026-01-01 00:00:01] KV Cache is allocated. #tok"),
    "arguments": Reader(
        lambda text: read_arguments(text, closing=")"), "tp_size=8, port=30000, api_key='x')"
    ),
    "arguments of a dict": Reader(lambda text: read_arguments(text, closing="}"), "'tp_size': 8, 'x': {}}"),
    "crashes": Reader(find_cause, "crashes/*.log"),
    "log lines": Reader(lambda text: list(log_lines(text)), "batch_lines/*.log"),
    "one log line": Reader(strip_prefixes, "sglang-1  | [2026-01-01 00:00:01 TP0] Decode batch"),
    "nccl": Reader(read_nccl, "nccl_info/*.log"),
    "nccl.conf": Reader(read_conf, "NCCL_ALGO=Ring\n# a comment\nNCCL_PROTO = LL\n", "what is this\n"),
    "metrics": Reader(read_metrics, "prometheus/*.prom", "sglang:num_running_reqs{model 1\n"),
    "JSON": Reader(load_json, "meta_info/*.body.json", '{"a":'),
    "meta_info": Reader(lambda text: read_meta_info(load_json(text)[0]), "meta_info/*.body.json", "[1, 2]"),
    "usage": Reader(
        lambda text: read_usage(load_json(text)[0]),
        '{"usage": {"prompt_tokens": 3, "completion_tokens": 5}, "choices": []}',
        '{"usage": 3}',
    ),
    "logged bodies": Reader(
        read_logged_bodies,
        "Finish: obj=GenerateReqInput(), out={'text': 'a}', 'meta_info': {'prompt_tokens': 3, 'x': [1]}}\n",
        "out={'text': 'a', 'meta_info': {'prompt_tok",
    ),
    "event stream": Reader(events, "generation_stream/*.sse", "no field of an event\n\n"),
    "generate stream": Reader(
        lambda text: read_generate_stream(events(text)), "generation_stream/generate*.sse", "data: {\n\n"
    ),
    "completions stream": Reader(
        lambda text: read_completions_stream(events(text)),
        "generation_stream/completions*.sse",
        "data: {\n\n",
    ),
    "chat stream": Reader(
        lambda text: read_chat_stream(events(text)), "generation_stream/chat*.sse", "data: {\n\n"
    ),
    "environ": Reader(lambda text: read_environ(raw(text)), "PATH=/bin\0NCCL_ALGO=Ring\0", "no variable\0"),
    "nvidia-smi CSV": Reader(read_table, SMI, "index, name\n0, H200, 3\n"),
    "nvidia-smi GPUs": Reader(read_gpus, SMI, "index, name\n0, H200, 3\n"),
    "nvidia-smi holders": Reader(read_holders, SMI, "pid, name\n7, a, b, c\n"),
    "nvidia-smi failure": Reader(
        read_failure, "Failed to initialize NVML: Driver/library version mismatch\n"
    ),
    "nvidia-smi table": Reader(
        read_smi_table,
        "| Processes:  |\n|    0   N/A  N/A   77   C   python   5MiB |\n",
        "| Processes:  |\n|    0   N/A  N/A   no  C |\n",
    ),
    "nvidia-smi -L": Reader(read_gpu_list, "GPU 0: NVIDIA H200 (UUID: GPU-0)\n", "GPU nothing\n"),
    "nvidia-smi pmon": Reader(read_pmon, "# gpu  pid  type\n# Idx  #  C/G\n 0  77  C\n"),
    "nvidia-smi topo": Reader(read_topology, "\tGPU0\tGPU1\nGPU0\t X \tNV18\nGPU1\tNV18\t X \n"),
    "telemetry line": Reader(
        lambda text: read_line(raw(text), 1, fields={"temperature.gpu": "temperature.gpu"}, index_of={}),
        "0, 55, 100\n",
    ),
    "cgroup": Reader(read_cgroup, "0::/system.slice/docker-0123456789ab.scope\n"),
    "stat": Reader(read_stat, STAT),
    "process table": Reader(
        lambda text: read_process_table(load_json(text)[0]),
        json.dumps([{"stat": STAT, "cmdline": "a\0b\0", "user": "u", "mark": None}]),
        "[1, {}]",
    ),
    "overwritten": Reader(lambda text: read_overwritten(text, {}), "0.5.9", "no version"),
    "metric names": Reader(golden_families, "0.5.9"),
    "device timer": Reader(
        lambda text: read_device_timer(read_metrics(""), read_metrics(text), concurrency=1),
        "prometheus/*.prom",
        "sglang:num_running_reqs{model 1\n",
    ),
    "probe file": Reader(
        lambda text: read_probe_file([raw(text)], name="phases-7.jsonl"), PROBE, f"{PROBE}what is this\n"
    ),
    "phase trace": Reader(
        lambda text: read_phase_trace([raw(text)], file="trace.json", concurrency=1),
        '{"traceEvents": [{"cat": "gpu_user_annotation", "name": "draft", "ts": 1, "dur": 1}]}',
        '{"traceEvents": [3',
    ),
    "model config": Reader(
        read_model_config,
        '{"architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "num_attention_heads": 32, "vocab_size": 128256}',
        '{"hidden_size": "wide"}',
    ),
    "torch trace": Reader(
        lambda text: read_torch_trace([raw(text)]), '{"traceEvents": [{"ph": "X", "name": "k", "dur": 1}]}'
    ),
}


def oddities(text: str) -> Iterator[tuple[str, str]]:
    """Yield (what was done, the text) for one sound text."""
    rng = random.Random(11)
    lines = text.split("\n")
    yield "random bytes", rng.randbytes(3000).decode("latin-1")
    yield "random bytes in it", text[: len(text) // 2] + rng.randbytes(300).decode("latin-1") + text
    for at in {round(n * (len(lines) - 1) / 40) for n in range(41)}:
        line = "\n".join(lines[:at])
        yield f"cut behind line {at}", line
        yield f"cut inside line {at + 1}", line + "\n" + lines[at][: len(lines[at]) // 2]
    for seed in range(3):
        yield "shuffled lines", "\n".join(random.Random(seed).sample(lines, len(lines)))
    yield "upside down", "\n".join(reversed(lines))
    for digits in ("9" * 30, "9" * 400, "9" * 5000, "1e999", "-1", "٣", "²", "nan", "0x1F", "1_000"):
        yield f"numbers become {digits[:8]}", "".join(digits if c.isdigit() else c for c in text)[:200_000]
    yield "colours", "\n".join(f"\x1b[32m{line}\x1b[0m" for line in lines)
    yield "torn escapes", text.replace(" ", "\x1b[")
    yield "CRLF", text.replace("\n", "\r\n")
    yield "CR alone", text.replace("\n", "\r")
    yield "NUL", text.replace(" ", "\0")
    yield "NULs in front", "\0" * 5000 + text
    yield "invalid UTF-8, replaced", raw(text).replace(b" ", b"\xff\xfe").decode("utf-8", "replace")
    yield "invalid UTF-8, escaped", raw(text).replace(b" ", b"\xff\xfe").decode("utf-8", "surrogateescape")
    yield "UTF-16", text.encode("utf-16").decode("latin-1")
    yield "line separators", text.replace(" ", "\u2028").replace(",", "\x0c")
    yield "wide", text.replace(" ", "\u3000")
    yield "no blanks", text.replace(" ", "")
    yield "no lines", text.replace("\n", " ")
    yield "twice", text + text
    yield "nested", "[" * 3000 + text + "{" * 3000


@pytest.mark.parametrize("name", READERS)
def test_never_raises_and_its_answer_can_be_written(name: str) -> None:
    reader = READERS[name]
    for sample in reader.samples():
        for what, text in oddities(sample):
            began = time.process_time()
            answer = reader.read(text)
            took = time.process_time() - began
            assert took < SMALL_CPU_S, f"{what}: {took:.2f} s for {len(text)} characters"
            writable(answer, what)


@pytest.mark.parametrize("name", READERS)
def test_never_raises_on_damaged_files(name: str) -> None:
    reader = READERS[name]
    for sample in reader.samples():
        for text in mutated(raw(sample), seed=23, count=25):
            writable(reader.read(text), "damage")


@pytest.mark.parametrize("name", READERS)
def test_one_line_of_ten_megabytes_is_done_within_a_second(name: str) -> None:
    reader = READERS[name]
    first = max(reader.samples()[0].split("\n"), key=len)
    for unit in ("9", " ", ",", "[", "\x1b[", first or "x"):
        text = (unit * (LINE_BYTES // len(unit) + 1))[:LINE_BYTES]
        began = time.process_time()
        reader.read(text)
        took = time.process_time() - began
        assert took < LINE_CPU_S, f"{took:.2f} s for {unit[:40]!r} over and over"


@pytest.mark.parametrize("name", [name for name, reader in READERS.items() if reader.torn is not None])
def test_what_was_not_understood_is_listed(name: str) -> None:
    reader = READERS[name]
    assert any(reasons(reader.read(reader.torn or ""))), name
    sound = [reason for sample in reader.samples()[:1] for reason in reasons(reader.read(sample))]
    assert len(sound) <= 5, sound


def test_every_reader_is_here() -> None:
    public = set()
    for module in pkgutil.iter_modules(tokgate.parsers.__path__):
        loaded = importlib.import_module(f"tokgate.parsers.{module.name}")
        public |= {
            function
            for name, function in inspect.getmembers(loaded, inspect.isfunction)
            if name.startswith(("read_", "find_cause", "split_events", "load_json"))
            and function.__module__ == loaded.__name__
        }
    used = {name for reader in READERS.values() for name in called(reader.read)}
    assert {function.__name__ for function in public} <= used


def called(function: Callable[..., Any]) -> set[str]:
    helpers = {"events": events, "decode_lines": decode_lines}
    names = {function.__name__, *function.__code__.co_names}
    return names | {inner for name in names & helpers.keys() for inner in helpers[name].__code__.co_names}


def writable(answer: Any, what: str) -> None:
    """Fail unless every record in `answer` can be written as JSON and every text as UTF-8."""
    for part in parts(answer):
        try:
            if isinstance(part, BaseModel):
                part.model_dump_json(fallback=repr)
            elif isinstance(part, str):
                part.encode()
        except (ValueError, RecursionError) as error:
            pytest.fail(f"{what}: {type(part).__name__}: {error}"[:500])


def parts(answer: Any) -> Iterator[Any]:
    if isinstance(answer, SseStream):
        yield from answer.unread  # its `rest` is bytes on purpose
    elif isinstance(answer, list | tuple):
        for part in answer:
            yield from parts(part)
    else:
        yield answer


def reasons(answer: Any) -> Iterator[str]:
    """Yield every reason why something was not understood, wherever it stands in an answer."""
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], str):
        yield answer[1]  # (value, why) of load_json
    elif isinstance(answer, list | tuple):
        for part in answer:
            yield from reasons(part)
    elif isinstance(answer, Unread):
        yield answer.why
    elif isinstance(answer, BaseModel):
        yield from (note.why for note in getattr(answer, "unread", ()))
