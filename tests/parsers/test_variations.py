"""Other spellings of what the files under data/ say: prefixes, orders, punctuation and versions nobody has shown us."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tokgate.parsers.batch_lines import BatchLines, read_batch_lines
from tokgate.parsers.crashes import find_cause
from tokgate.parsers.meta_info import golden_keys, read_meta_info
from tokgate.parsers.prometheus import read_metrics
from tokgate.parsers.sse import split_events
from tokgate.parsers.startup import read_startup

DATA = Path(__file__).parent / "data"
LOGS = sorted(
    path for folder in ("batch_lines", "startup", "crashes") for path in (DATA / folder).glob("*.log")
)
STAMPED = re.compile(r"^\[\d{4}-\d{2}-\d{2} ")

# Known by their form: whatever stands behind them is read as if they were not there.
PREFIXES: dict[str, Callable[[str], str]] = {
    "docker compose": lambda line: f"sglang-1  | {line}",
    "docker compose in colour": lambda line: f"\x1b[36mmy-sglang.server_2   | \x1b[0m{line}",
    "docker logs -t": lambda line: f"2026-01-15T13:56:49.123456789Z {line}",
    "containerd": lambda line: f"2026-01-15T13:56:49.123456789+00:00 stdout F {line}",
    "kubectl": lambda line: f"[pod/sgl-0/sglang] {line}",
    "journald": lambda line: f"Jan 15 13:56:49 host-a sglang[123]: {line}",
    "journald, ISO": lambda line: f"2026-01-15T13:56:49+0000 host-a python3[123]: {line}",
    "Ray": lambda line: f"\x1b[36m(SchedulerActor pid=123, ip=192.0.2.7)\x1b[0m {line}",
    "mpirun": lambda line: f"[1,0]<stdout>:{line}",
    "colour": lambda line: f"\x1b[32m{line}\x1b[0m",
    "CRLF": lambda line: f"{line}\r",
    "compose around containerd": lambda line: f"sglang-1  | 2026-01-15T13:56:49.1Z stdout F {line}",
}
# Of no known form: only SGLang's own stamp behind them shows where they end.
UNKNOWN_PREFIXES = {
    "stern": "sgl-0 sglang ",
    "pm2": "0|sglang  | ",
    "honcho": "13:56:49 sglang.1   | ",
    "syslog": "<14>1 2026-01-15T13:56:49.123Z host-a sglang 123 - - ",
    "a launcher's logger": "2026-01-15 13:56:49,123 INFO sglang: ",
    "a launcher's stamp": "[2026-01-15 13:56:49,123] ",
    "quoted mail": "> ",
    "indented": "    ",
    "a CI step": "test\tRun\t2026-01-15T13:56:49.1234567Z ",
}


def told(text: str) -> tuple[Any, ...]:
    """Return everything that logs are read for, but where the output came from."""
    batches, start, cause = read_batch_lines(text), read_startup(text), find_cause(text)
    return (
        [reading.model_dump() for reading in batches.decode],
        [reading.model_dump() for reading in batches.prefill],
        [(note.line, note.why) for note in batches.unread],
        start.model_dump(),
        cause and cause.model_dump(),
    )


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_known_prefix_changes_nothing(prefix: str) -> None:
    for path in LOGS:
        if path.stem.startswith(("python_missing", "python_not", "hostile")) or "compose" in path.stem:
            continue  # the shell's first words, hostile bytes, and files that have such a prefix already
        text = path.read_bytes().decode()
        varied = "\n".join(PREFIXES[prefix](line) if line else "" for line in text.split("\n"))
        assert told(varied) == told(text), path.name


@pytest.mark.parametrize("prefix", UNKNOWN_PREFIXES)
def test_an_unknown_prefix_in_front_of_a_stamp_changes_nothing(prefix: str) -> None:
    read = 0
    for path in LOGS:
        lines = [line for line in path.read_text().split("\n") if STAMPED.match(line)]
        text = "\n".join(lines)
        varied = "\n".join(UNKNOWN_PREFIXES[prefix] + line for line in lines)
        assert told(varied) == told(text), path.name
        read += len(lines)
    assert read > 100


def decode_line(rng: random.Random) -> tuple[str, dict[str, float | bool | str | None]]:
    """Make up a decode line in any mixture of what versions print, and what it says."""
    graph = rng.choice([None, True, False])
    word = rng.choice(["cuda graph", "npu graph", "cpu graph", "musa graph", "xpu graph"])
    accept = rng.choice([None, round(rng.uniform(1, 5), 2)])
    speed = round(rng.uniform(1, 9000), 2)
    requests, queued = rng.randint(1, 200), rng.randint(0, 50)
    pool = rng.choice(["token", "full token"])
    middle = [f"#{pool}: {rng.randint(0, 3_000_000)}, {pool} usage: 0.12"]
    middle += [rng.choice(["mamba num: 3, mamba usage: 0.10", "#swa token: 7, swa token usage: 0.06"])]
    middle += [f"accept len: {accept:.2f}, accept rate: 0.50"] if accept else []
    middle += [f"{word}: {graph}"] if graph is not None else []
    middle += ["pre-allocated usage: 0.00, #retracted-req: 0"] if rng.random() < 0.3 else []
    middle += ["a field of 2028: 7 things"] if rng.random() < 0.3 else []
    rng.shuffle(middle)
    rank = rng.choice(["", " TP0", " DP5 TP5", " PP0 TP3 EP3"])
    clock = rng.choice(["11:36:23", "11:36:23.123", "11:36:23,123"])
    end = rng.choice(["", ", ", ","])
    fields = [
        f"#running-req: {requests}",
        *middle,
        f"gen throughput (token/s): {speed:.2f}",
        f"#queue-req: {queued}",
    ]
    head = rng.choice(["Decode batch. ", "Decode batch, ", "Decode batch [17], "])
    line = f"[2026-07-02 {clock}{rank}] {head}{', '.join(fields)}{end}"
    return line, {
        "rank": rank.strip() or None,
        "running_req": requests,
        "queue_req": queued,
        "accept_len": accept,
        "graph": graph,
        "graph_word": None if graph is None else word,
        "gen_throughput": speed,
    }


def test_decode_lines_of_any_mixture_of_fields() -> None:
    rng = random.Random(5)
    for _ in range(400):
        line, meant = decode_line(rng)
        lines: BatchLines = read_batch_lines(line + "\n")
        assert not lines.unread, line
        (reading,) = lines.decode
        assert reading.model_dump(include=set(meant)) == meant, line


@pytest.mark.parametrize("path", sorted((DATA / "prometheus").glob("0*.prom")), ids=lambda path: path.stem)
def test_metrics_do_not_depend_on_the_order_of_lines_and_labels(path: Path) -> None:
    text = path.read_text()
    sound = read_metrics(text)
    lines = text.splitlines()
    random.Random(3).shuffle(lines)
    reordered = read_metrics("\n".join(re.sub(r"\{(.*)\}", swapped, line) for line in lines) + "\n")
    spaced = read_metrics(text.replace("\n", "\n\n"))
    stamped = read_metrics(re.sub(r"(?m)^(sglang.*)$", r"\1 1795968110000", text))
    renamed = read_metrics(re.sub(r"(?m)^(# \w+ |)sglang:", r"\1sglang_", text))
    crlf = read_metrics(text.replace("\n", "\r\n"))
    for other in (reordered, spaced, stamped, renamed, crlf):
        assert values(other) == values(sound)
        assert not other.unread
        assert {name: family.type for name, family in other.families.items()} == {
            name: family.type for name, family in sound.families.items()
        }


def swapped(match: re.Match[str]) -> str:
    labels = re.findall(r'\w+="(?:[^"\\]|\\.)*"', match[1])
    return "{" + ",".join(reversed(labels)) + "}"


def values(scrape: Any) -> dict[tuple[Any, ...], float]:
    return {
        (s.name, *sorted(s.labels.items())): s.value
        for family in scrape.families.values()
        for s in family.samples
    }


@pytest.mark.parametrize("dialect", golden_keys().dialects, ids=lambda dialect: dialect.name)
def test_meta_info_of_every_dialect_in_any_order(dialect: Any) -> None:
    spec = golden_keys().spec
    body = {
        "prompt_tokens": 9,
        "completion_tokens": 25,
        "cached_tokens": 1,
        spec["verify_ct"]: 12,
        spec["accept_length"]: 25 / 12,
        dialect.num_correct_drafts: 12,
        dialect.num_proposed_drafts: 36,
        dialect.correct_drafts_histogram: [2, 8, 2],
        "finish_reason": {"type": "length", "length": 25},
    }
    rng = random.Random(1)
    for _ in range(5):
        items = list(body.items())
        rng.shuffle(items)
        counters = read_meta_info({"text": "x", "meta_info": dict(items)})
        assert counters.spec is not None
        assert (counters.spec.verify_ct, counters.spec.num_correct_drafts) == (12, 12)
        assert counters.spec.num_proposed_drafts == 36
        assert counters.contradictions == ()
        assert counters.unread == ()


def test_an_event_stream_may_be_cut_into_pieces_anywhere_and_end_its_lines_in_any_way() -> None:
    events = [json.dumps({"text": "é" * n, "n": n}, ensure_ascii=False) for n in range(1, 6)]
    whole = "".join(f": a remark\nid: 7\ndata: {event}\n\n" for event in events) + "data: [DONE]\n\n"
    rng = random.Random(2)
    for ending in ("\n", "\r\n", "\r"):
        data = whole.replace("\n", ending).encode()
        for _ in range(30):
            cuts = sorted(rng.sample(range(len(data)), 7))
            pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
            stream = split_events(list(enumerate(pieces)))
            assert [event.data for event in stream.events] == events
            assert stream.done
            assert not stream.unread
