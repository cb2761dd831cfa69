"""No reader raises, and none makes up numbers, whatever has happened to the file."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import pytest

from tests.parsers.mutations import mutated
from tests.parsers.traces import decode, trace
from tokgate.parsers.batch_lines import BatchLines, read_batch_lines
from tokgate.parsers.decode_summary import group_by_load, summarise_decode
from tokgate.parsers.log_prefix import log_lines, strip_prefixes
from tokgate.parsers.nccl_info import read_nccl
from tokgate.parsers.nccl_ranks import nccl_ranks
from tokgate.parsers.nccl_records import NcclReading
from tokgate.parsers.prometheus import Scrape, delta, read_metrics
from tokgate.parsers.torch_trace import TraceReading, read_torch_trace
from tokgate.records.nccl import NcclRank

DATA = Path(__file__).parent / "data"
PER_FILE = 25


def files(folder: str, suffix: str) -> list[Path]:
    return sorted((DATA / folder).glob(f"*.{suffix}"))


@pytest.mark.parametrize("path", files("batch_lines", "log"), ids=lambda path: path.stem)
def test_batch_lines(path: Path) -> None:
    for text in mutated(path.read_bytes(), seed=1, count=PER_FILE):
        lines = read_batch_lines(text)
        for reading in lines.decode:
            assert 0 <= reading.gen_throughput < math.inf
            assert 1 <= reading.line <= text.count("\n") + 1
            assert reading.accept_len is None or math.isfinite(reading.accept_len)
        summary = summarise_decode(lines.decode)
        assert len(summary.kept) + len(summary.dropped) == len(lines.decode)
        assert (summary.median_throughput is None) == (summary.why_no_throughput is not None)
        groups = group_by_load(lines.decode)
        assert sum(len(group) for group in groups.values()) == len(lines.decode)
        assert BatchLines.model_validate_json(lines.model_dump_json()) == lines


@pytest.mark.parametrize("path", files("prometheus", "prom"), ids=lambda path: path.stem)
def test_prometheus(path: Path) -> None:
    sound = read_metrics(path.read_text())
    for text in mutated(path.read_bytes(), seed=2, count=PER_FILE):
        scrape = read_metrics(text)
        assert isinstance(scrape, Scrape)
        for name in (*sound.families, *scrape.families):
            for told in (delta(sound, scrape, name), delta(scrape, sound, name)):
                assert (told.value is None) == (told.why is not None)
                assert told.value is None or math.isfinite(told.value)


@pytest.mark.parametrize("path", files("nccl_info", "log"), ids=lambda path: path.stem)
def test_nccl_info(path: Path) -> None:
    for text in mutated(path.read_bytes(), seed=3, count=PER_FILE):
        reading = read_nccl(text)
        assert NcclReading.model_validate_json(reading.model_dump_json()) == reading
        for matrix in reading.matrices:
            assert matrix.protocols.keys() == matrix.algorithms.keys()
        for rank in nccl_ranks(reading):
            assert NcclRank.model_validate_json(rank.model_dump_json()) == rank


@pytest.mark.parametrize("packed", [True, False])
def test_torch_trace(*, packed: bool) -> None:
    for text in mutated(trace(decode(), packed=False), seed=5, count=PER_FILE * 4):
        content = gzip.compress(text.encode()) if packed else text.encode()
        reading = read_torch_trace([content[:50], content[50:]])
        assert TraceReading.model_validate_json(reading.model_dump_json()) == reading
        assert reading.complete or reading.unread
        for kernel in reading.kernels:
            assert 0 <= kernel.in_steps <= kernel.calls
            assert 0 <= kernel.total_us < math.inf


@pytest.mark.parametrize("path", files("batch_lines", "log"), ids=lambda path: path.stem)
def test_log_prefix(path: Path) -> None:
    for text in mutated(path.read_bytes(), seed=4, count=PER_FILE):
        for number, line in log_lines(text):
            assert 1 <= number <= text.count("\n") + 1
            assert "\x1b" not in line.text
        for raw in text.split("\n"):
            strip_prefixes(raw)


def test_other_readers_files_are_harmless() -> None:
    for path in (*files("batch_lines", "log"), *files("prometheus", "prom"), *files("nccl_info", "log")):
        text = path.read_text()
        read_batch_lines(text)
        read_metrics(text)
        read_nccl(text)
