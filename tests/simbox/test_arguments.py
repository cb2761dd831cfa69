"""The command line is SGLang's, and refused as SGLang refuses it."""

from __future__ import annotations

import pytest

from simbox.arguments import parse

KIMI = [
    "--model-path",
    "/m",
    "--trust-remote-code",
    "--tp-size",
    "8",
    "--mem-fraction-static",
    "0.88",
    "--host",
    "0.0.0.0",
    "--port",
    "8000",
    "--num-continuous-decode-steps",
    "4",
    "--disable-custom-all-reduce",
]


@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_the_incidents_command_line_is_taken(version: str) -> None:
    command = parse([*KIMI, "--sim-version", version], {})
    assert command.args["tp_size"] == 8
    assert command.args["mem_fraction_static"] == 0.88
    assert command.args["decode_log_interval"] == 40
    assert "decode_log_interval" not in command.given
    assert "tp_size" in command.given


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model-path", "/m", "--tp-sizes", "8"], "unrecognized arguments: --tp-sizes 8"),
        (["--model-path", "/m", "--tp-size", "many"], "argument --tp-size/--tensor-parallel-size: invalid"),
        (["--model-path", "/m", "--load-format", "odd"], "invalid choice: 'odd'"),
        (["--tp-size", "8"], "the following arguments are required: --model-path/--model"),
        (["--model-path", "/m", "--cuda-graph-max-bs", "8", "--sim-version", "0.5.9", "--x"], "--x"),
    ],
)
def test_what_sglang_refuses_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(words, {})
    assert ended.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("launch_server.py: error: ")
    assert said in last


def test_abbreviations_and_second_names_work() -> None:
    assert parse(["--model", "/m", "--tensor-parallel-size", "2"], {}).args["tp_size"] == 2
    assert parse(["--model-path", "/m", "--tokenizer-p", "/t"], {}).args["tokenizer_path"] == "/t"


def test_our_own_options_are_not_part_of_the_line() -> None:
    command = parse(
        ["--model-path", "/m", "--sim-scenario", "heat,drift", "--sim-scenario", "dies", "--sim-seed", "3"],
        {},
    )
    assert command.line == ("--model-path", "/m")
    assert command.scenarios == ("heat", "drift", "dies")
    assert command.seed == 3


def test_the_environment_may_say_it_instead() -> None:
    told = {"SIMBOX_VERSION": "0.5.9", "SIMBOX_SCENARIO": "heat", "SIMBOX_STATE": "/s", "SIMBOX_SEED": "4"}
    command = parse(["--model-path", "/m"], told)
    assert (command.version, command.scenarios, str(command.state), command.seed) == (
        "0.5.9",
        ("heat",),
        "/s",
        4,
    )
