"""Bodies, errors and streams of one running server are SGLang's."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from .serving import EAGLE3, TUNED, Serving, serving

KEY = "s3cret"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("box")
    options = ["--tp-size", "2", "--enable-metrics", "--context-length", "4096", "--decode-log-interval", "4"]
    with serving(folder, *options, *EAGLE3, **TUNED) as running:
        yield running


def test_a_whole_answer(server: Serving) -> None:
    answer = server.generate("def main(", tokens=32)
    info = answer["meta_info"]
    assert len(answer["output_ids"]) == info["completion_tokens"] == 32
    assert info["prompt_tokens"] == 3
    assert info["finish_reason"] == {"type": "length", "length": 32}
    # The last verify counts in full, so it may overshoot.
    histogram = info["spec_correct_drafts_histogram"]
    assert sum(histogram) == info["spec_verify_ct"]
    assert sum(n * count for n, count in enumerate(histogram)) == info["spec_num_correct_drafts"]
    assert info["spec_num_proposed_drafts"] == 2 * info["spec_verify_ct"]
    assert 32 <= 1 + info["spec_num_correct_drafts"] + info["spec_verify_ct"] <= 34
    assert info["spec_accept_length"] == 32 / info["spec_verify_ct"]
    decode_s = info["e2e_latency"] - info["first_token_latency"]
    assert info["decode_throughput"] == pytest.approx(31 / decode_s)


def test_the_same_prompt_has_the_same_answer_and_a_cached_prefix(server: Serving) -> None:
    first, second = server.generate("say it twice please"), server.generate("say it twice please")
    assert first["output_ids"] == second["output_ids"]
    assert second["meta_info"]["cached_tokens"] == second["meta_info"]["prompt_tokens"] - 1
    assert server.ask("POST", "/flush_cache")[0] == 200
    assert server.generate("say it twice please")["meta_info"]["cached_tokens"] == 0


def test_a_stream_is_cumulative_and_ends_with_the_whole_story(server: Serving) -> None:
    events = server.stream("stream this", tokens=16)
    assert events[-1] == "[DONE]"
    chunks = [json.loads(e) for e in events[:-1]]
    counts = [c["meta_info"]["completion_tokens"] for c in chunks]
    assert counts[0] == 1
    assert counts[-1] == 16
    assert counts == sorted(set(counts))
    assert all(b["text"].startswith(a["text"]) for a, b in itertools.pairwise(chunks))
    assert [c["meta_info"]["finish_reason"] for c in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert chunks[-1]["meta_info"]["spec_verify_ct"] == len(chunks) - 1


def test_a_batch_of_prompts(server: Serving) -> None:
    status, body = server.ask(
        "POST", "/generate", {"text": ["one", "two"], "sampling_params": {"max_new_tokens": 4}}
    )
    assert status == 200
    assert [a["meta_info"]["completion_tokens"] for a in json.loads(body)] == [4, 4]


def test_chat_and_completions(server: Serving) -> None:
    chat = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
    whole = json.loads(server.ask("POST", "/v1/chat/completions", chat)[1])
    assert whole["object"] == "chat.completion"
    assert whole["usage"]["completion_tokens"] == 5
    text = whole["choices"][0]["message"]["content"]
    streamed = server.ask(
        "POST",
        "/v1/chat/completions",
        chat | {"stream": True, "stream_options": {"include_usage": True}},
    )[1].decode()
    chunks = [json.loads(e.removeprefix("data: ")) for e in streamed.split("\n\n") if e and "[DONE]" not in e]
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"]) == text
    assert chunks[-1]["usage"]["completion_tokens"] == 5
    assert chunks[-2]["choices"][0]["finish_reason"] == "length"
    completion = json.loads(server.ask("POST", "/v1/completions", {"prompt": "hi", "max_tokens": 3})[1])
    assert completion["choices"][0]["finish_reason"] == "length"
    assert completion["usage"] == {
        "prompt_tokens": 1,
        "total_tokens": 4,
        "completion_tokens": 3,
        "prompt_tokens_details": None,
        "reasoning_tokens": 0,
    }


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "said"),
    [
        ("POST", "/generate", b"{bad", 400, "JSON decode error"),
        ("POST", "/generate", {"sampling_params": {}}, 400, "Either text, input_ids or input_embeds"),
        ("POST", "/generate", {"text": "a", "sampling_params": {"nope": 1}}, 500, "Internal Server Error"),
        ("POST", "/generate", {"text": "a", "sampling_params": {"max_new_tokens": "many"}}, 500, "Internal"),
        ("POST", "/generate", {"text": "a", "sampling_params": {"temperature": -1}}, 400, "non-negative"),
        ("POST", "/generate", {"input_ids": [5] * 5000}, 400, "The input (5000 tokens) is longer than"),
        ("POST", "/generate", {"input_ids": [5] * 5000, "stream": True}, 200, '"code":400'),
        ("POST", "/generate", {"text": "a", "sampling_params": {"max_new_tokens": 9999}}, 400, "Requested token count"),
        ("POST", "/v1/completions", {"model": "x"}, 400, "Field required"),
        ("POST", "/v1/chat/completions", b"{bad", 400, "JSON decode error"),
        ("POST", "/stop_profile", None, 500, "Internal Server Error"),
        ("GET", "/generate", None, 405, "Method Not Allowed"),
        ("GET", "/nope", None, 404, "Not Found"),
    ],
)  # fmt: skip
def test_errors(server: Serving, *, method: str, path: str, body: object, status: int, said: str) -> None:
    got, text = server.ask(method, path, body)
    assert got == status
    assert said in text.decode()


def test_a_profile_holds_the_steps_and_their_all_reduces(server: Serving, tmp_path: Path) -> None:
    wanted = {"num_steps": 3, "output_dir": str(tmp_path)}
    assert server.ask("POST", "/start_profile", wanted) == (200, b"Start profiling.\n")
    server.generate("profile me", tokens=16)
    server.await_line("Profiling done.")
    files = sorted(tmp_path.glob("*.trace.json.gz"))
    assert [f.name.split("-", 1)[1] for f in files] == ["TP-0.trace.json.gz", "TP-1.trace.json.gz"]
    trace = json.loads(gzip.decompress(files[1].read_bytes()))
    assert trace["simulated"]
    events = [(e["cat"], e["name"]) for e in trace["traceEvents"]]
    marks = [name for kind, name in events if kind == "gpu_user_annotation"]
    assert marks[:2] == ["scheduler.run_batch", "step[EXTEND bs=1 toks=3]"]
    cycle = ["scheduler.run_batch", "draft", "step[TARGET_VERIFY bs=1]", "draft_extend"]
    assert marks[2:] == cycle * 2
    assert events.count(("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL")) == 3 * 122
    # It has stopped by itself.
    assert server.ask("POST", "/stop_profile")[0] == 500


def test_everything_says_that_it_is_simulated(server: Serving) -> None:
    assert "SIMULATED by simbox" in server.lines[0]
    info = server.json("/server_info")
    assert info["simulated"]["by"] == "SIMULATED by simbox"
    assert Path(info["simulated"]["truth"]).is_file()
    assert "SIMULATED" in server.json("/model_info")["simulated"]
    assert server.ask("GET", "/metrics")[1].startswith(b"# SIMULATED by simbox")


def test_server_info_tells_arguments_and_acceptance(server: Serving) -> None:
    server.generate("some work before asking", tokens=32)
    info = server.json("/get_server_info")
    assert info["version"] == "0.5.23"
    assert info["tp_size"] == 2
    assert info["speculative_num_draft_tokens"] == 3
    assert 1.0 < info["internal_states"][0]["avg_spec_accept_length"] <= 3.0
    assert server.json("/v1/models")["data"][0]["max_model_len"] == 4096


def test_health_waits_a_second(server: Serving) -> None:
    assert server.ask("GET", "/health")[0] == 200
    assert server.ask("GET", "/health_generate")[0] == 200


def test_metrics_count_what_was_served(server: Serving) -> None:
    def read(name: str) -> float:
        page = server.ask("GET", "/metrics")[1].decode()
        return next(float(line.rsplit(" ", 1)[1]) for line in page.splitlines() if line.startswith(name))

    tokens, passes = (
        read("sglang:generation_tokens_total"),
        read('sglang:cuda_graph_passes_total{mode="decode_c'),
    )
    verifies = server.generate("count this", tokens=20)["meta_info"]["spec_verify_ct"]
    assert read("sglang:generation_tokens_total") == tokens + 20
    assert read('sglang:cuda_graph_passes_total{mode="decode_c') == passes + verifies


def test_the_log_tells_prefill_decode_and_access(server: Serving) -> None:
    server.generate("for the log", tokens=40)
    decode = next(line for line in server.lines if "Decode batch, #running-req: 1" in line)
    assert " TP0] " in decode
    assert "accept len: " in decode
    assert "cuda graph: True, gen throughput (token/s): " in decode
    assert any("Prefill batch, #new-seq: 1, #new-token: " in line for line in server.lines)
    server.await_line('"POST /generate HTTP/1.1" 200 OK')


def test_a_key_is_asked_for_and_never_shown(tmp_path: Path) -> None:
    with serving(tmp_path, "--api-key", KEY) as server:
        assert server.ask("POST", "/generate", {"text": "a"}) == (401, b'{"error":"Unauthorized"}')
        assert server.ask("GET", "/server_info", key="other")[0] == 401
        assert server.ask("GET", "/health")[0] == 200
        status, body = server.ask("GET", "/server_info", key=KEY)
        assert status == 200
        assert KEY.encode() not in body
        assert not any(KEY in line for line in server.lines)


def test_an_unknown_token_ends_the_server(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        with pytest.raises((ConnectionError, OSError)):
            server.ask("POST", "/generate", {"input_ids": [10**7], "sampling_params": {"max_new_tokens": 2}})
        server.await_line("device-side assert triggered")
        assert server.process.wait(20) == -9


def test_what_is_played_is_told_to_nobody(tmp_path: Path) -> None:
    with serving(tmp_path, scenarios=["draft-slow"]) as server:
        said = "\n".join(server.lines) + json.dumps([server.json("/server_info"), server.json("/model_info")])
        assert "SIMULATED" in said
        assert "draft-slow" not in said
        assert server.truth("start")[0]["scenarios"][0] == "draft-slow"
