"""Seeded damage to a text: what full disks, killed writers, bad memory and careless copies do to a file."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

Mutation = Callable[[random.Random, bytes], bytes]


def cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def behead(rng: random.Random, data: bytes) -> bytes:
    return data[rng.randrange(len(data) + 1) :]


def flip_bits(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.randint(1, 40)):
        if out:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def drop_bytes(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at + rng.randint(1, 200) :]


def join_lines(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    for _ in range(min(len(lines) - 1, rng.randint(1, 5))):
        at = rng.randrange(len(lines) - 1) if len(lines) > 1 else 0
        lines[at : at + 2] = [b"".join(lines[at : at + 2])]
    return b"\n".join(lines)


def cut_every_line(rng: random.Random, data: bytes) -> bytes:
    return b"\n".join(line[: rng.randrange(len(line) + 1)] for line in data.split(b"\n"))


def shuffle_lines(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


def interleave(rng: random.Random, data: bytes) -> bytes:
    at, other = rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)
    return data[:at] + data[other : other + rng.randint(1, 300)] + data[at:]


def swap_words(rng: random.Random, data: bytes) -> bytes:
    words = data.split(b" ")
    for _ in range(rng.randint(1, 20)):
        a, b = rng.randrange(len(words)), rng.randrange(len(words))
        words[a], words[b] = words[b], words[a]
    return b" ".join(words)


def poison(rng: random.Random, data: bytes) -> bytes:
    poisons = (
        b"\x00" * 50,
        b"\x1b[",
        b"\x1b]",
        b"\xff\xfe",
        b"\r",
        b"{" * 300,
        b"9" * 5000,
        b"\xe2\x80\xa8",
        b'"\\',
        b"|",
    )
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(poisons) + data[at:]


ALL: tuple[Mutation, ...] = (
    cut,
    behead,
    flip_bits,
    drop_bytes,
    join_lines,
    cut_every_line,
    shuffle_lines,
    interleave,
    swap_words,
    poison,
)


def mutated(data: bytes, *, seed: int, count: int) -> Iterator[str]:
    """Yield `count` damaged versions of `data`, one to three kinds of damage each; the same for a seed."""
    rng = random.Random(seed)
    for _ in range(count):
        out = data
        for mutation in rng.choices(ALL, k=rng.randint(1, 3)):
            out = mutation(rng, out)
        yield out.decode("utf-8", errors="replace")
