"""The truth file agrees with what a client sees and with itself."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from simbox.environment import lay

from .serving import EAGLE3, TUNED, serving


def test_client_server_and_truth_agree(tmp_path: Path) -> None:
    with serving(tmp_path, "--tp-size", "2", *EAGLE3, **TUNED) as server:
        info = server.generate("compare", tokens=64)["meta_info"]
        arrivals = []
        with server.streaming("compare", tokens=64) as events:
            for event in events:
                arrivals.append((time.monotonic_ns(), event))  # noqa: PERF401 - stamped as they come
        whole, streamed = server.truth("request", expected=2)
        assert whole["decode_tok_s"] == pytest.approx(info["decode_throughput"], rel=1e-6)
        assert whole["accepted"] == streamed["accepted"]
        assert whole["verify_ct"] == info["spec_verify_ct"]
        # Each chunk arrived after it was sent, and the last one is [DONE].
        assert len(streamed["chunk_ns"]) == len(arrivals) - 1
        assert all(sent <= came for sent, (came, _) in zip(streamed["chunk_ns"], arrivals, strict=False))
        steps = {t["n"]: t for t in server.truth("step")}
        mine = [t for t in steps.values() if streamed["rid"] in t["accepted"]]
        assert [t["accepted"][streamed["rid"]] for t in mine] == streamed["accepted"]
        # What was planned is what was due: deadlines are absolute and lateness does not add up.
        planned = sum(sum(t["phases_ms"].values()) for t in mine)
        assert (mine[-1]["due_ns"] - mine[0]["due_ns"]) / 1e6 == pytest.approx(
            planned - sum(mine[0]["phases_ms"].values()), abs=0.01
        )
        last = server.truth("lateness")[-1]
        assert last["steps"] == len(steps)
        assert last["p50_ms"] >= 0.0


@pytest.mark.parametrize(
    ("arguments", "knobs", "tok_s"),
    [
        ((), "", 88.8),
        (("--disable-cuda-graph",), "", 1000 / (11.261 + 8.5 + 0.27)),
        ((), "patch_ms = 0.904\n", 82.2),
    ],
)
def test_a_served_generation_has_the_models_speed(
    tmp_path: Path, arguments: tuple[str, ...], knobs: str, tok_s: float
) -> None:
    with serving(tmp_path, "--tp-size", "2", *arguments, knobs=knobs, **TUNED) as server:
        server.generate(tokens=64)
        (request,) = server.truth("request", expected=1)
        steps = [t for t in server.truth("step") if t["what"] == "decode"][-63:]
        # By plan, which no busy machine disturbs.
        assert 63_000 / sum(sum(t["phases_ms"].values()) for t in steps) == pytest.approx(tok_s, rel=0.01)
        assert request["completion_tokens"] == 64


def test_a_tree_with_a_patch_is_slower(tmp_path: Path) -> None:
    spent = {}
    for name in ("clean", "patched"):
        tree = tmp_path / f"tree-{name}"
        tree.mkdir()
        lay(name, tree)
        path = f"{Path(__file__).parents[2]}:{tree}"
        with serving(tmp_path / name, "--tp-size", "2", PYTHONPATH=path, **TUNED) as server:
            spent[name] = server.truth("start")[0]["knobs"]["patch_ms"]
    assert spent == {"clean": 0.0, "patched": 0.904}


def test_starts_differ_and_a_seed_repeats_them(tmp_path: Path) -> None:
    def factors(state: Path) -> list[float]:
        found = []
        for _ in range(2):
            with serving(state, "--sim-seed", "3") as server:
                found.append(server.truth("start")[-1]["start_factor"])
        return found

    first = factors(tmp_path / "a")
    assert first == factors(tmp_path / "b")
    assert first[0] != first[1]
