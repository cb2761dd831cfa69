"""Arguments are completed as SGLang completes them."""

from __future__ import annotations

import pytest

from simbox.arguments import parse
from simbox.knobs import Knobs
from simbox.resolved import ArgumentsRefusedError, Resolved, resolve

from .serving import EAGLE3


def of(*words: str) -> Resolved:
    return resolve(parse(["--model-path", "/m", *words], {}), Knobs())


def test_a_plain_server() -> None:
    plain = of("--tp-size", "8")
    assert (plain.ranks, plain.speculative, plain.max_running) == (8, False, 256)
    assert plain.args["tokenizer_path"] == "/m"
    assert plain.shape.graph_max_batch == 256


def test_speculation_runs_fewer_requests_and_fixes_the_draft_tokens() -> None:
    eagle = of(*EAGLE3[:-2], "--speculative-num-draft-tokens", "5")
    assert (eagle.max_running, eagle.shape.draft_steps, eagle.shape.draft_tokens) == (48, 2, 3)
    assert eagle.shape.verify_graph


@pytest.mark.parametrize("flag", ["--disable-cuda-graph", "--disable-decode-cuda-graph"])
def test_without_graphs(flag: str) -> None:
    eagle = of(flag, *EAGLE3)
    assert (eagle.graph_sizes, eagle.shape.verify_graph) == ((), False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--tp-size", "9"), "invalid device ordinal"),
        (("--speculative-algorithm", "EAGLE3"), "speculative_draft_model_path"),
    ],
)
def test_what_cannot_work(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(ArgumentsRefusedError, match=said):
        of(*words)
