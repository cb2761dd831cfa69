from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig
from tokgate.rig.values import ArgValue
from tokgate.server.command_line import MASK, Extra, LaunchLine, arm_environment, launch_line, rig_line

REPOSITORY = Path(__file__).parents[2]

INCIDENT = (
    "NCCL_PROTO=LL NCCL_ALGO=Ring NCCL_P2P_LEVEL=SYS NCCL_MAX_NCHANNELS=16 NCCL_BUFFSIZE=16777216 "
    "NCCL_NTHREADS=512 nohup /root/ml-env/bin/python3 -m sglang.launch_server "
    "--model-path /shared/kimi-k2.5-int4 --trust-remote-code --tp-size 8 --mem-fraction-static 0.88 "
    "--host 0.0.0.0 --port 8000 --num-continuous-decode-steps 4 --disable-custom-all-reduce"
)
EAGLE3 = (
    " --speculative-algorithm EAGLE3 --speculative-draft-model-path /shared/kimi-k2.5-eagle3"
    " --speculative-num-steps 2 --speculative-eagle-topk 1 --speculative-num-draft-tokens 3"
)

# What a shell would take apart, expand or drop.
HOSTILE = (
    "two words",
    "it's",
    'say "a"',
    "$HOME `id` $(id) \\",
    "a\nb",
    "naïve 東京 🚀",
    "",
    "*",
    "~",
    "#x",
    "a;b&c|d>e",
    "!x",
    "trailing\n",
    "\ttab ",
)


def _rig(server: dict[str, Any] | None = None, **eagle3: Any) -> Rig:
    return Rig.model_validate(
        {
            "name": "small",
            "gpus": {"count": 0},
            "server": {"python": "/opt/python", "model_path": "/m", **(server or {})},
            "arms": [
                {"name": "baseline", "kind": "baseline"},
                {
                    "name": "eagle3",
                    "kind": "eagle3",
                    "draft_model_path": "/d",
                    "num_steps": 2,
                    "topk": 1,
                    "num_draft_tokens": 3,
                    **eagle3,
                },
            ],
            "prompt_sets": {"ids": {"kind": "token-ids", "length": 4, "first_id": 3, "last_id": 9}},
            "workloads": [{"name": "w", "prompts": "ids", "output_tokens": 4, "repeats": 1}],
        }
    )


def _launched(rig: Rig, arm: str = "baseline", **changes: Any) -> LaunchLine:
    settings: dict[str, Any] = {
        "port": 31234,
        "api_key": "k3y" if rig.server.api_key == "random" else None,
        "mark": "run-1",
        "log": "server.log",
        "pass_environment": {},
    }
    return launch_line(rig, rig.arm(arm), **(settings | changes))


def _reasons(launched: LaunchLine) -> dict[str, str]:
    return {a.what: a.reason for a in launched.line.additions}


# (i) the rig's own line


def test_the_incidents_plain_line_to_the_byte() -> None:
    rig = load_rig("kimi-k2.5-8gpu", root=REPOSITORY)
    assert rig_line(rig, rig.arm("baseline")) == INCIDENT + " > LOG 2>&1 &"


def test_the_incidents_eagle3_line_to_the_byte() -> None:
    rig = load_rig("kimi-k2.5-8gpu", root=REPOSITORY)
    assert rig_line(rig, rig.arm("eagle3-2step")) == INCIDENT + EAGLE3 + " > LOG 2>&1 &"


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"tp_size": 8}, "--tp-size 8"),
        ({"flag": True}, "--flag"),
        ({"flag": False}, ""),
        ({"ids": (1, 2.5, "x y")}, "--ids 1 2.5 'x y'"),
        ({"share": 0.88}, "--share 0.88"),
        ({"text": ""}, "--text ''"),
        ({"b": 1, "a": 2}, "--b 1 --a 2"),
        ({"json": '{"a": "b"}'}, """--json '{"a": "b"}'"""),
    ],
)
def test_how_arguments_are_spelled(args: dict[str, ArgValue], expected: str) -> None:
    rig = _rig({"args": args})
    line = f"nohup /opt/python -m sglang.launch_server --model-path /m {expected}".rstrip()
    assert rig_line(rig, rig.control, "out dir/log") == f"{line} > 'out dir/log' 2>&1 &"


def test_an_arms_arguments_follow_and_replace_the_servers() -> None:
    rig = _rig(
        {"args": {"backend": "torch", "metrics": True, "x": 1}}, args={"backend": "amx", "metrics": False}
    )
    line = rig_line(rig, rig.arm("eagle3"))
    assert "--model-path /m --x 1 --speculative-algorithm" in line
    assert "--speculative-num-draft-tokens 3 --backend amx > LOG" in line
    assert "--backend torch --metrics --x 1" in rig_line(rig, rig.control)


def test_an_arms_environment_joins_and_wins() -> None:
    rig = _rig(
        {"nccl": {"NCCL_PROTO": "LL"}, "environment": {"A": "1", "B": "2"}}, environment={"A": "9", "C": "3"}
    )
    assert rig_line(rig, rig.control).startswith("NCCL_PROTO=LL A=1 B=2 nohup ")
    assert rig_line(rig, rig.arm("eagle3")).startswith("NCCL_PROTO=LL A=9 B=2 C=3 nohup ")


def test_pinned_acceptance_is_two_variables() -> None:
    rig = _rig(acceptance=2.5)
    assert arm_environment(rig, rig.arm("eagle3")) == {
        "SGLANG_SIMULATE_ACC_LEN": "2.5",
        "SGLANG_SIMULATE_ACC_TOKEN_MODE": "real-draft-token",
    }
    assert arm_environment(rig, rig.control) == {}


def test_a_tree_cannot_keep_real_draft_tokens() -> None:
    rig = _rig(acceptance=2, topk=4, num_draft_tokens=8)
    assert arm_environment(rig, rig.arm("eagle3")) == {"SGLANG_SIMULATE_ACC_LEN": "2.0"}


# through a real shell


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A python that writes its arguments and its environment to its output, at a path with odd characters."""
    folder = tmp_path / 'it\'s a $HOME "here"'
    folder.mkdir()
    script = folder / "pyth*n"
    script.write_text(
        f"#!{sys.executable} -I\nimport json, os, sys\nprint(json.dumps([sys.argv, dict(os.environ)]))\n"
    )
    script.chmod(0o755)
    return script


def _through_sh(line: str, log: Path, environment: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """Run a line with sh, wait for what it left in the background, and return what the stand-in saw."""
    subprocess.run(
        ["sh", "-c", f"{line}\nwait"], env=environment, stdin=subprocess.DEVNULL, check=True, timeout=30
    )
    argv, variables = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])
    # sh sets PWD itself, bash as sh these as well; Python sets LC_CTYPE where the locale is C.
    own = {"PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"}
    return argv, {k: v for k, v in variables.items() if k not in own}


def _hostile_rig(python: Path) -> Rig:
    return _rig(
        {
            "python": str(python),
            "model_path": "/models/it's $x\n東",
            "args": {f"arg_{i}": value for i, value in enumerate(HOSTILE)} | {"many": HOSTILE, "flag": True},
            "environment": {f"VAR_{i}": value for i, value in enumerate(HOSTILE)},
            "nccl": {"NCCL_ALGO": "^Tree;x"},
            "pass_environment": ("PATH", "ODD"),
        },
        args={"draft_arg": "$(exit 3)"},
        environment={"VAR_0": "the arm's own"},
    )


def _hostile_words() -> list[str]:
    words = ["--model-path", "/models/it's $x\n東"]
    for i, value in enumerate(HOSTILE):
        words += [f"--arg-{i}", value]
    return ["-m", "sglang.launch_server", *words, "--many", *HOSTILE, "--flag"]


def _hostile_variables() -> dict[str, str]:
    return {"NCCL_ALGO": "^Tree;x"} | {f"VAR_{i}": v for i, v in enumerate(HOSTILE)}


def test_a_shell_hands_the_rigs_line_on_unharmed(stand_in: Path, tmp_path: Path) -> None:
    rig = _hostile_rig(stand_in)
    log = tmp_path / "a log's $name"
    path = {"PATH": os.environ["PATH"]}
    argv, variables = _through_sh(rig_line(rig, rig.control, str(log)), log, path)
    assert argv == [str(stand_in), *_hostile_words()]
    assert variables == path | _hostile_variables()


def test_a_shell_hands_the_launched_line_on_unharmed(stand_in: Path, tmp_path: Path) -> None:
    rig = _hostile_rig(stand_in)
    log = tmp_path / "log"
    host = {"PATH": os.environ["PATH"], "ODD": "a b'c\n$d", "LEAK": "x"}
    launched = _launched(
        rig, "eagle3", api_key="s3cret $key", mark="m 'x'", log=str(log), pass_environment=host,
        extra_python_path=("/probe dir",),
    )  # fmt: skip
    argv, variables = _through_sh(launched.secret, log, launched.environment)
    assert argv == [
        str(stand_in), *_hostile_words(),
        "--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "/d",
        "--speculative-num-steps", "2", "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "3",
        "--draft-arg", "$(exit 3)",
        "--host", "127.0.0.1", "--port", "31234", "--enable-metrics", "--api-key", "s3cret $key",
    ]  # fmt: skip
    assert variables == {
        "PATH": host["PATH"], "ODD": host["ODD"],
        **_hostile_variables(), "VAR_0": "the arm's own",
        "SPT_NOENV": "1", "TOKGATE_MARK": "m 'x'", "PYTHONPATH": "/probe dir",
    }  # fmt: skip
    # The record tells the same, but for the key.
    assert list(launched.line.argv) == [*argv[:-1], MASK]
    assert launched.line.environment == {k: v for k, v in variables.items() if k not in launched.environment}


# (ii) the line as launched


def test_the_incidents_line_as_launched() -> None:
    rig = load_rig("kimi-k2.5-8gpu", root=REPOSITORY)
    launched = _launched(rig)
    expected = INCIDENT.replace("nohup ", "SPT_NOENV=1 TOKGATE_MARK=run-1 ")
    expected = expected.replace("0.0.0.0", "127.0.0.1").replace("8000", "31234")
    assert launched.line.shown == f"{expected} --enable-metrics --api-key **** > server.log 2>&1"
    assert launched.secret == f"{expected} --enable-metrics --api-key k3y > server.log 2>&1"
    assert list(_reasons(launched)) == [
        "SPT_NOENV=1",
        "TOKGATE_MARK=run-1",
        "--host 127.0.0.1 (for 0.0.0.0)",
        "--port 31234 (for 8000)",
        "--enable-metrics",
        "--api-key ****",
        "no nohup, no &",
    ]
    assert all(_reasons(launched).values())


def test_what_the_rig_forbids_is_not_added() -> None:
    args = {"host": "0.0.0.0", "port": 8000, "enable_metrics": True}
    rig = _rig({"args": args, "bind": "as-written", "port": "as-written", "api_key": "none"})
    launched = _launched(rig)
    assert launched.line.shown == launched.secret
    assert "--host 0.0.0.0 --port 8000 --enable-metrics > server.log 2>&1" in launched.secret
    assert list(_reasons(launched)) == ["SPT_NOENV=1", "TOKGATE_MARK=run-1", "no nohup, no &"]


def test_what_is_missing_is_appended_and_what_is_equal_is_no_addition() -> None:
    launched = _launched(_rig({"args": {"host": "127.0.0.1", "enable_metrics": False}}))
    assert "--model-path /m --host 127.0.0.1 --port 31234 --enable-metrics --api-key" in launched.secret
    assert "--port 31234" in _reasons(launched)
    assert not any("--host" in what for what in _reasons(launched))


def test_the_environment_is_closed() -> None:
    rig = _rig({"pass_environment": ("PATH", "LD_LIBRARY_PATH")})
    launched = _launched(rig, pass_environment={"PATH": "/bin", "NCCL_ALGO": "Tree", "SGLANG_X": "1"})
    assert launched.environment == {"PATH": "/bin"}


def test_the_probe_comes_first_on_the_python_path() -> None:
    written = _rig({"environment": {"PYTHONPATH": "/stubs", "B": "1"}})
    assert _launched(written, extra_python_path=("/p", "/q")).secret.startswith(
        "PYTHONPATH=/p:/q:/stubs B=1 "
    )
    passed = _rig({"pass_environment": ("PYTHONPATH",)})
    launched = _launched(passed, extra_python_path=("/p",), pass_environment={"PYTHONPATH": "/host"})
    assert "PYTHONPATH=/p:/host" in launched.secret
    assert "PYTHONPATH=/p:/host" in _reasons(launched)


def test_the_key_is_nowhere_but_in_the_secret_line() -> None:
    launched = _launched(_rig(), api_key="hunter2")
    assert "hunter2" in launched.secret
    assert "hunter2" not in launched.line.model_dump_json()


def test_a_value_that_looks_like_the_mask_is_quoted() -> None:
    launched = _launched(_rig({"args": {"pattern": MASK}}))
    assert "--pattern '****'" in launched.line.shown
    assert "--pattern '****'" in launched.secret


@pytest.mark.parametrize(
    ("policy", "key"), [("random", None), ("none", "k"), ("random", "-k"), ("random", "")]
)
def test_key_and_policy_must_agree(policy: str, key: str | None) -> None:
    with pytest.raises(ValueError, match=r"api_key|API key"):
        _launched(_rig({"api_key": policy}), api_key=key)


def test_what_one_launch_needs_beyond_its_rig_is_an_addition_with_its_reason() -> None:
    rig = _rig({"nccl": {"NCCL_DEBUG": "WARN"}, "api_key": "none"})
    launched = launch_line(
        rig,
        rig.control,
        port=1,
        api_key=None,
        mark="m",
        log="LOG",
        pass_environment={},
        extra=(
            Extra("NCCL_DEBUG", "INFO", "NCCL says what it took"),
            Extra("NCCL_DEBUG_SUBSYS", "ENV", "and why"),
        ),
    )
    assert launched.line.environment["NCCL_DEBUG"] == "INFO"
    assert "NCCL_DEBUG_SUBSYS=ENV" in launched.secret
    told = {a.what: a.reason for a in launched.line.additions}
    assert told["NCCL_DEBUG=INFO (for WARN)"] == "NCCL says what it took"
    assert told["NCCL_DEBUG_SUBSYS=ENV"] == "and why"
