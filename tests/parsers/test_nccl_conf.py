"""nccl.conf as NCCL takes it: to the letter."""

from __future__ import annotations

import random
import string

import pytest

from tokgate.parsers.nccl_conf import read_conf


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("NCCL_ALGO=Ring\nNCCL_PROTO=LL\n", {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}),
        ("# NCCL_ALGO=Ring\n\n", {}),
        # The first line counts: NCCL sets only what is not set yet.
        ("NCCL_ALGO=Ring\nNCCL_ALGO=Tree\n", {"NCCL_ALGO": "Ring"}),
        # Whatever stands behind the = is the value.
        ('NCCL_ALGO="Ring"  # tuned\n', {"NCCL_ALGO": '"Ring"  # tuned'}),
        ("NCCL_ALGO=ring;allreduce:tree=1\n", {"NCCL_ALGO": "ring;allreduce:tree=1"}),
        ("NCCL_ALGO=Ring\r\n", {"NCCL_ALGO": "Ring"}),
        ("NCCL_ALGO=", {"NCCL_ALGO": ""}),
        ("", {}),
    ],
)
def test_what_it_sets(text: str, variables: dict[str, str]) -> None:
    assert read_conf(text).variables == variables


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (" NCCL_ALGO=Ring", "blanks and all"),
        ("export NCCL_ALGO=Ring", "blanks and all"),
        ("NCCL_ALGO = Ring", "blanks and all"),
        ("NCCL_ALGO Ring", "no = in it"),
        ("NCCL_ALGO: Ring", "no = in it"),
    ],
)
def test_what_sets_nothing_is_told(line: str, why: str) -> None:
    reading = read_conf(f"NCCL_PROTO=LL\n{line}\n")
    assert reading.variables == {"NCCL_PROTO": "LL"}
    assert [(u.line, u.text) for u in reading.unread] == [(2, line)]
    assert why in reading.unread[0].why


@pytest.mark.parametrize("seed", range(5))
def test_it_never_raises(seed: int) -> None:
    rng = random.Random(seed)
    alphabet = string.printable + "\x00\ud800\u00e9=#"
    for _ in range(200):
        reading = read_conf("".join(rng.choice(alphabet) for _ in range(rng.randrange(300))))
        assert all("=" not in name for name in reading.variables)
