"""Claim: our tok/s, the server's own and those of SGLang's benchmark client are the same within 0.5 %.

    python -m benchmarks.clients [--rig sglang-cpu] [--arms baseline,eagle3-2step] [--turns 24] [--streams 1,16]
        [--together] [--out FOLDER]

One server an arm. In each turn our client and `sglang.benchmark.serving` (run by the rig's own Python, in one process for
all turns) make the same barrier start, its prompts, ours first in every other turn, the prefix cache flushed before each. So
what the machine does in these minutes it does to both. With --together both send at once, while the server is busy with a
long prompt: they are prefilled in one batch and served by the very same decode steps, so that it does not matter how busy
the machine is; for one stream of each, and no more than the server takes at once.

Compared are a stream's decode speeds: ours from the first chunk to the last, the server's `decode_throughput` of the same
request, and 1 / TPOT as their report has it; of several streams also all tokens over all time. Exit code 0: all within the
limit, with the whole interval of the median ratio; 13: one is not, surely; 10: more turns would tell.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.agreement.judged import LIMIT, Word, ratios, reasons, table, worst
from benchmarks.agreement.theirs import TheirsError
from benchmarks.agreement.turns import Asked, OursError, take_turns
from tokgate.hosts.connection import connect
from tokgate.records import Launch
from tokgate.records.redactor import Redactor
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig
from tokgate.server.launch import start
from tokgate.server.running import RunningServer

ROOT = Path(__file__).parents[1]
CODES: dict[Word, int] = {"within": 0, "undecided": 10, "apart": 13}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rig", default="sglang-cpu")
    parser.add_argument("--rig-set", action="append", default=[])
    parser.add_argument("--arms", help="with commas (all)")
    parser.add_argument("--streams", default="1", help="of a start, with commas")
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--limit", type=float, default=LIMIT)
    parser.add_argument("--out", type=Path, help="keep every turn's figures here")
    for name, default in {"turns": 24, "warm-ups": 2, "input-tokens": 64, "output-tokens": 128}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    rig = load_rig(asked.rig, root=ROOT, overrides=asked.rig_set)
    words: list[Word] = []
    for arm in asked.arms.split(",") if asked.arms else [arm.name for arm in rig.arms]:
        with served(rig, arm) as server, tempfile.TemporaryDirectory() as place:
            for streams in map(int, asked.streams.split(",")):
                sizes = Asked(
                    streams=streams,
                    starts=asked.turns,
                    warm_ups=asked.warm_ups,
                    input_tokens=asked.input_tokens,
                    output_tokens=asked.output_tokens,
                    together=asked.together,
                )
                words.append(compare(rig, server, sizes, asked.out or Path(place), limit=asked.limit))
    sys.exit(max(CODES[word] for word in words))


def compare(rig: Rig, server: RunningServer, asked: Asked, folder: Path, *, limit: float = LIMIT) -> Word:
    """Measure on a running server, print the table, leave all figures in `folder`. Exits 1 where nothing was measured."""
    folder.mkdir(parents=True, exist_ok=True)
    arm = server.run.launch.arm
    try:
        turns, report = take_turns(rig, server, asked, folder, say=lambda text: print(text, file=sys.stderr))
    except (TheirsError, OursError) as error:
        gone = server.why_gone()  # what it died of is the better reason
        sys.exit(f"{rig.name}, {arm}, {asked.streams} streams: {error}" + (f"; {gone}" if gone else ""))
    counted = turns[asked.warm_ups :]
    found = ratios(counted)
    how = (
        "both at once, the same decode steps" if asked.together else "in turns, ours first in every other one"
    )
    simulated = ", SIMULATED" if rig.simulated else ""
    print(
        f"\n{rig.name}{simulated}, {arm}, SGLang {server.run.sglang_version}, {asked.streams} streams: {asked.starts} turns of "
        f"{asked.input_tokens} + {asked.output_tokens} tokens, {how}\n"
    )
    print("\n".join(table(counted, found, limit)), end="\n\n")
    took = [one for turn in turns for one in turn.theirs]
    print("\n".join(f"  {line}" for line in reasons(counted, took, report)), flush=True)
    told = {
        "rig": rig.name,
        "simulated": rig.simulated,
        "arm": arm,
        "sglang": server.run.sglang_version,
        "limit": limit,
        "asked": dataclasses.asdict(asked),
        "outcome": worst(found, limit),
        "ratios": {one.name: [one.median, one.interval, one.word(limit), one.held] for one in found},
        "report": dataclasses.asdict(report),
        "turns": [dataclasses.asdict(turn) for turn in turns],
    }
    file = folder / f"clients-{arm}-{asked.streams}.json"
    file.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return worst(found, limit)


@contextmanager
def served(rig: Rig, arm: str) -> Iterator[RunningServer]:
    """Start one arm of the rig; it is stopped behind the block."""
    redactor = Redactor()
    with tempfile.TemporaryDirectory() as folder:
        server = start(
            connect(rig.host, redactor=redactor),
            rig,
            Launch(id=f"01-{arm}", arm=arm, role="arm"),
            mark=f"benchmark-clients/{uuid.uuid4().hex[:8]}",
            redactor=redactor,
            folder=Path(folder),
        )
        try:
            yield server
        finally:
            server.stop()
            server.collect(Path(folder))


if __name__ == "__main__":
    main()
