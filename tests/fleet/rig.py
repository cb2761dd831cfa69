"""A small rig on the simulated box: as many arms as a test wants, each measured in a few seconds."""

from __future__ import annotations

from pathlib import Path

NAME = "fleet"
_HEAD = """
schema_number = 1
name = "fleet"
description = "a small pool of simulated boxes"
simulated = true

{host}

[gpus]
count = 8
model = "RTX PRO 6000"
reader = "nvidia-smi"
wait_s = 30

[server]
python = "{{root}}/simbox/bin/python3"
module = "simbox.launch_server"
model_path = "{{root}}/simbox/models/kimi-k2.5-int4"
pass_environment = ["PATH", "HOME", "USER", "LANG", "SIMBOX_STATE"]
start_timeout_s = 90
silence_timeout_s = 60
stop_timeout_s = 20
time_limit_s = 900

[server.args]
trust_remote_code = true
tp_size = 2
host = "0.0.0.0"
port = 8000
disable_custom_all_reduce = true

[instruments]
skip = "this rig is about hosts"

[sampling]
gpu_time_s = {sampling_s}

[[arms]]
name = "baseline"
kind = "baseline"
"""
_ARM = """
[[arms]]
name = "{name}"
kind = "eagle3"
draft_model_path = "{{root}}/simbox/models/kimi-k2.5-eagle3"
num_steps = 2
topk = 1
num_draft_tokens = 3
"""
_TAIL = """
[prompt_sets.short]
kind = "token-ids"
length = 64
first_id = 1000
last_id = 100000
seed = 25

[[workloads]]
name = "single"
prompts = "short"
concurrency = 1
output_tokens = {tokens}
repeats = 6
warmup = 1
timeout_s = 20

[lossless]
mode = "exact"
prompts = "short"
count = 1
output_tokens = 16

[[twins]]
arm = "*"
workload = "single"
at_least = 0.5

[floors]
decode_tok_s = {{ relative = 0.2 }}
client_decode_tok_s = {{ relative = 1.0 }}
cycle_ms = {{ relative = 0.2 }}
ttft_ms = {{ relative = 100.0 }}
tpot_ms = {{ relative = 100.0 }}
e2e_ms = {{ relative = 100.0 }}
"""
MORE = """path = ["{root}/simbox/bin"]
heartbeat_limit_s = 20
command_timeout_s = 30
"""


def write_rig(folder: Path, host: str, arms: list[str], *, tokens: int = 32, sampling_s: int = 0) -> Path:
    """Write the rig and return its file. `host`: its [host] table."""
    text = _HEAD.format(host=host, sampling_s=sampling_s).replace("{{root}}", "{root}")
    text += "".join(_ARM.format(name=name) for name in arms)
    path = folder / f"{NAME}.toml"
    path.write_text(text + _TAIL.format(tokens=tokens))
    return path
