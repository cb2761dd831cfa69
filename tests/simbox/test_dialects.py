"""The two dialects differ where SGLang's do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .serving import EAGLE3, TUNED, serving


def test_0_5_9_speaks_the_old_words(tmp_path: Path) -> None:
    options = [
        "--sim-version",
        "0.5.9",
        "--tp-size",
        "2",
        "--decode-log-interval",
        "5",
        "--skip-server-warmup",
    ]
    with serving(tmp_path, *options, *EAGLE3, **TUNED) as server:
        answer = server.generate(tokens=32)
        info = answer["meta_info"]
        assert info["spec_accept_token_num"] == sum(
            n * count for n, count in enumerate(info["spec_accept_histogram"])
        )
        assert info["spec_draft_token_num"] == 2 * info["spec_verify_ct"]
        assert info["total_retractions"] == 0
        assert not {"spec_num_correct_drafts", "first_token_latency", "num_retractions"} & set(info)
        (truth,) = server.truth("request", expected=1)
        # The first token, prefill's, is counted here.
        assert info["decode_throughput"] == pytest.approx(truth["decode_tok_s"] * 32 / 31)
        assert server.json("/server_info")["version"] == "0.5.9"
        assert any("server_args=ServerArgs(model_path='/models/target'" in line for line in server.lines)
        assert any("Capture cuda graph bs [1, 2, 4," in line for line in server.lines)
        decode = server.await_line("Decode batch, #running-req: 1")
        length = float(decode.split("accept len: ")[1].split(",")[0])
        assert float(decode.split("accept rate: ")[1].split(",")[0]) == pytest.approx(length / 3, abs=0.006)
        prefill = server.await_line("Prefill batch")
        assert prefill.endswith("cuda graph: False")
        chunk = json.loads(server.stream("in chunks", tokens=4)[0])
        assert "total_retractions" in chunk["meta_info"]


def test_0_5_23_speaks_the_new_words(tmp_path: Path) -> None:
    options = ["--tp-size", "2", "--decode-log-interval", "5", "--skip-server-warmup"]
    with serving(tmp_path, *options, *EAGLE3, **TUNED) as server:
        info = server.generate(tokens=32)["meta_info"]
        assert {"spec_num_correct_drafts", "first_token_latency", "num_retractions"} <= set(info)
        decode = server.await_line("Decode batch, #running-req: 1")
        length = float(decode.split("accept len: ")[1].split(",")[0])
        assert float(decode.split("accept rate: ")[1].split(",")[0]) == pytest.approx(
            (length - 1) / 2, abs=0.006
        )
        assert any("server_args={'model_path': '/models/target'" in line for line in server.lines)
        assert any("Capture target verify CUDA graph begin. backend=full" in line for line in server.lines)


def test_verify_without_a_graph_shows_in_the_log(tmp_path: Path) -> None:
    options = ["--tp-size", "2", "--decode-log-interval", "2"]
    with serving(tmp_path, *options, *EAGLE3, scenarios=["verify-no-graph"], **TUNED) as server:
        server.generate(tokens=8)
        assert "cuda graph: False" in server.await_line("Decode batch")
        assert not any("Capture target verify" in line for line in server.lines)


def test_nccl_tells_what_it_understood(tmp_path: Path) -> None:
    debug = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,TUNING"}
    with serving(tmp_path, "--tp-size", "2", **(TUNED | debug | {"NCCL_P2P_LEVEL": "sys"})) as server:
        said = [line for line in server.lines if "NCCL INFO" in line]
        for rank in (0, 1):
            assert any(f"[{rank}] NCCL INFO NCCL_PROTO set by environment to LL" in line for line in said)
            assert any(f"[{rank}] NCCL INFO 16 coll channels, " in line for line in said)
        assert not any("P2P_LEVEL" in line for line in said)
        assert any("Enabled NCCL Func/Proto/Algo Matrix:" in line for line in said)
        assert any("-> Algo RING proto LL channel" in line for line in said)
