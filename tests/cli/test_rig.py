"""`tokgate rig …` as a person meets it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tokgate.cli.main import main

REPOSITORY = Path(__file__).parents[2]


def tokgate(*arguments: str, root: Path = REPOSITORY) -> Result:
    return CliRunner().invoke(main, ["--root", str(root), *arguments])


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of one rig, and one that is broken."""
    rigs = tmp_path / "rigs"
    rigs.mkdir()
    text = (REPOSITORY / "rigs" / "sglang-cpu.toml").read_text(encoding="utf-8")
    (rigs / "sglang-cpu.toml").write_text(text, encoding="utf-8")
    (rigs / "broken.toml").write_text('name = "broken"\n[gpus]\ncuont = 1\n')
    return tmp_path


def test_show_prints_the_rigs_own_line() -> None:
    result = tokgate("rig", "show", "kimi-k2.5-8gpu", "--arm", "baseline")
    assert result.exit_code == 0
    assert (
        "NCCL_PROTO=LL NCCL_ALGO=Ring NCCL_P2P_LEVEL=SYS NCCL_MAX_NCHANNELS=16 NCCL_BUFFSIZE=16777216 NCCL_NTHREADS=512 nohup /root/ml-env/bin/python3 -m sglang.launch_server --model-path /shared/kimi-k2.5-int4 --trust-remote-code --tp-size 8 --mem-fraction-static 0.88 --host 0.0.0.0 --port 8000 --num-continuous-decode-steps 4 --disable-custom-all-reduce > LOG 2>&1 &"
        in result.stdout.splitlines()
    )


def test_show_prints_the_line_as_launched_and_why_it_differs() -> None:
    lines = tokgate("rig", "show", "kimi-k2.5-8gpu", "--arm", "eagle3-2step").stdout.splitlines()
    launched = lines[lines.index("(ii) as launched, by sh -c") + 2]
    assert launched.endswith("--speculative-num-draft-tokens 3 --enable-metrics --api-key **** > LOG 2>&1")
    assert "nohup" not in launched
    reasons = lines[lines.index("What the gate changes, and why:") :]
    assert "  SPT_NOENV=1" in reasons
    assert "  --host 127.0.0.1 (for 0.0.0.0)" in reasons
    assert max(len(line) for line in reasons) <= 80


def test_show_without_a_key_policy() -> None:
    result = tokgate("rig", "show", "sglang-cpu", "--arm", "baseline", "--rig-set", "server.api_key=none")
    assert result.exit_code == 0
    assert "--api-key" not in result.stdout


def test_show_without_an_arm_lists_what_the_rig_holds() -> None:
    result = tokgate("rig", "show", "kimi-k2.5-8gpu")
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["eagle3-3step", "eagle3", "3", "1", "4", "natural"] in rows
    assert ["conc8", "generate", "random", "(512", "ids)", "8", "256", "6", "1"] in rows
    assert ["decode_tok_s", "baseline", "single", "at", "least", "86.1"] in rows
    assert ["speed-up", "*", "single", "at", "least", "1"] in rows


def test_overrides_show() -> None:
    result = tokgate(
        "rig", "show", "kimi-k2.5-8gpu", "--arm", "baseline", "--rig-set", "server.args.tp_size=4"
    )
    assert result.stdout.count("--tp-size 4") == 2


def test_an_unknown_arm_is_a_usage_error() -> None:
    result = tokgate("rig", "show", "kimi-k2.5-8gpu", "--arm", "eagle3")
    assert result.exit_code == 4
    assert result.stdout == ""
    assert 'no such arm; nearest known name: "eagle3-' in result.stderr


def test_list(checkout: Path) -> None:
    result = tokgate("rig", "list", root=checkout)
    assert result.exit_code == 0
    assert "broken" in result.stdout
    assert "2 problems" in result.stdout or "problems" in result.stdout
    assert "SGLang 0.5.23 on CPU" in result.stdout


def test_check_without_a_name_is_a_line_a_rig() -> None:
    result = tokgate("rig", "check")
    assert result.exit_code == 0
    told = result.stdout.splitlines()
    assert sum(line.startswith(("kimi-k2.5-8gpu: ok, 3 notes", "sglang-cpu: ok")) for line in told) == 2
    assert "note: " not in result.stdout
    assert len(told) == len(list((REPOSITORY / "rigs").glob("*.toml"))) + 1
    assert "note: " in tokgate("rig", "check", "kimi-k2.5-8gpu").stdout


def test_check_warns_of_quotes_within_a_gpus_name() -> None:
    result = tokgate("rig", "check", "kimi-k2.5-8gpu", "--rig-set", 'gpus.model="\\"NVIDIA H200\\""')
    assert "warning: gpus.model" in result.stdout


def test_check_says_what_nccl_and_sglang_make_of_the_settings() -> None:
    overrides = [
        "--rig-set", "server.nccl.NCCL_P2P_LEVEL=sys",
        "--rig-set", "server.environment.CUDA_DEVICE_MAX_CONNECTIONS=1",
    ]  # fmt: skip
    result = tokgate("rig", "check", "kimi-k2.5-8gpu", *overrides)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "kimi-k2.5-8gpu: in order, 2 warnings"
    assert max(map(len, lines)) <= 80
    text = " ".join(result.stdout.split())
    assert 'warning: NCCL_P2P_LEVEL = "sys": NCCL ignores "sys" without a word' in text
    assert "do: write SYS (NCCL 2.30.7 src/graph/paths.cc, ncclGetLevel;" in text
    assert 'warning: CUDA_DEVICE_MAX_CONNECTIONS = "1": SGLang sets it to 8 (engine.py)' in text
    assert text.index("warning: ") < text.index("note: NCCL_MAX_NCHANNELS")


def test_check_warns_of_an_argument_that_no_sglang_takes() -> None:
    misspelt = ("--rig-set", "server.args.mem_fraction_staic=0.8")
    result = tokgate("rig", "check", "sglang-cpu", *misspelt)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "sglang-cpu: in order, 1 warning"
    text = " ".join(result.stdout.split())
    assert "warning: server.args.mem_fraction_staic" in text
    assert "do: write mem_fraction_static" in text


def test_check_warns_of_starts_too_few_for_an_interval_of_a_phase() -> None:
    few = ("--rig-set", "instruments.repeats=3")
    result = tokgate("rig", "check", "--strict", "sim-8gpu", *few)
    assert result.exit_code == 4
    text = " ".join(result.stdout.split())
    assert text.startswith(
        'sim-8gpu: in order, 1 warning, SIMULATED warning: instruments.repeats = "3": what starts'
    )
    assert "what the probe costs stays unknown without more cost_pairs" in text
    assert "instruments.repeats" not in tokgate("rig", "check", "sim-8gpu").stdout
    skipped = ("--rig-set", "instruments.skip=no time", "--rig-set", "budgets=[]")
    assert "instruments.repeats" not in tokgate("rig", "check", "sim-8gpu", *few, *skipped).stdout


def test_check_notes_workloads_with_few_starts_and_derived_limits_of_several_streams() -> None:
    some = (
        "--rig-set", "workloads.single.repeats=4",
        "--rig-set", 'budgets=[{metric="verify_ms",break_even_margin=0.02}]',
    )  # fmt: skip
    result = tokgate("rig", "check", "--strict", "kimi-k2.5-8gpu", *some)
    assert result.exit_code == 0  # notes are no warnings
    text = " ".join(result.stdout.split())
    assert 'note: workloads.single.repeats = "4": fewer than 6 starts may be too few for steadiness' in text
    assert "under conc8 the break-even is of one stream: all streams together may lose" in text
    plain = " ".join(tokgate("rig", "check", "kimi-k2.5-8gpu").stdout.split())
    assert "note: workloads" not in plain
    assert "of one stream" not in plain


def test_check_lists_the_launches_with_instruments_and_the_derived_limits() -> None:
    text = " ".join(tokgate("rig", "check", "kimi-k2.5-8gpu").stdout.split())
    assert (
        "2 launches with instruments, where -m verify or -m eagle3 asks: 06-eagle3-2step-phases, "
        "07-eagle3-3step-phases phases: single, conc8; "
    ) in text
    assert (
        "derived limit, from the control arm of the same session: verify_ms of eagle3-2step, single: " in text
    )


def test_show_says_what_the_launch_with_instruments_carries() -> None:
    text = " ".join(tokgate("rig", "show", "sim-8gpu", "--arm", "eagle3-2step").stdout.split())
    assert "05-eagle3-2step-phases has this line with the probe in PYTHONPATH, TOKGATE_PROBE_OUT, " in text
    assert "-phases has" not in tokgate("rig", "show", "sim-8gpu", "--arm", "baseline").stdout


def test_a_strict_check_fails_on_warnings_alone() -> None:
    misspelt = ("--rig-set", "server.args.mem_fraction_staic=0.8")
    assert tokgate("rig", "check", "--strict", "kimi-k2.5-8gpu").exit_code == 0  # notes are none
    result = tokgate("rig", "check", "--strict", "sglang-cpu", *misspelt)
    assert result.exit_code == 4
    assert "1 warning, listed above" in result.stderr


def test_check_refuses_an_address_that_is_none() -> None:
    result = tokgate("rig", "check", "sglang-cpu", "--rig-set", "host.testinfra=bench@dgx01")
    assert result.exit_code == 4
    assert 'host.testinfra: found "bench@dgx01"; wanted local:// for this machine, or ssh://' in result.stderr
    assert "ssh://bench@dgx01 perhaps" in result.stderr


def test_check_refuses_what_nccl_would_refuse() -> None:
    result = tokgate("rig", "check", "kimi-k2.5-8gpu", "--rig-set", "server.nccl.NCCL_ALGO=Rings")
    assert result.exit_code == 4
    assert 'server.nccl.NCCL_ALGO: found "Rings"' in result.stderr
    assert "write Ring" in result.stderr


def test_check_lists_every_error_and_fails(checkout: Path) -> None:
    result = tokgate("rig", "check", "sglang-cpu", "broken", "missing", root=checkout)
    assert result.exit_code == 4
    assert result.stdout.startswith("sglang-cpu: ok\n  2 launches with instruments")
    assert "\n  sweep of eagle3-2step" in result.stdout
    assert "warning" not in result.stdout
    for part in ("gpus.cuont", "gpus.count", "server: found nothing", 'find the rig "missing"', "do:"):
        assert part in result.stderr


def test_schema_is_json() -> None:
    assert json.loads(tokgate("rig", "schema").stdout)["title"] == "tokgate rig"


def test_a_usage_error_has_no_traceback(checkout: Path) -> None:
    """The installed command, from a folder inside the checkout, without --root."""
    below = checkout / "deep" / "down"
    below.mkdir(parents=True)
    result = subprocess.run(
        [sys.executable, "-c", "from tokgate.cli.main import main; main()", "rig", "check", "broken"],
        cwd=below, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert result.returncode == 4
    assert result.stderr.startswith(f"tried: read the rig {checkout}/rigs/broken.toml\nfound: ")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "arguments", [("show", "odd"), ("show", "odd", "--arm", "baseline"), ("list",), ("check", "odd")]
)
def test_what_a_rig_says_reorders_nothing(checkout: Path, arguments: tuple[str, ...]) -> None:
    text = (checkout / "rigs" / "sglang-cpu.toml").read_text(encoding="utf-8")
    text = re.sub(r'(?m)^description = "', r'description = "\\u202e', text)
    text = re.sub(r"(?m)^\[server\.environment\]$", '[server.environment]\nODD = "a\\\\u202eb"', text)
    (checkout / "rigs" / "odd.toml").write_text(
        text.replace('name = "sglang-cpu"', 'name = "odd"'), encoding="utf-8"
    )
    told = tokgate("rig", *arguments, root=checkout)
    assert "\u202e" not in told.output
    assert ("\\u202e" in told.output) is (arguments[0] != "check")


@pytest.mark.parametrize("arguments", [(), ("--arm", "baseline")])
def test_a_simulated_rig_says_so_wherever_it_is_shown(arguments: tuple[str, ...]) -> None:
    simulated = ("--rig-set", "simulated=true")
    told = tokgate("rig", "show", "kimi-k2.5-8gpu", *arguments, *simulated).stdout
    assert told.startswith("SIMULATED  rig kimi-k2.5-8gpu: no number here says anything")
    assert "SIMULATED" not in tokgate("rig", "show", "kimi-k2.5-8gpu", *arguments).stdout
    checked = tokgate("rig", "check", "kimi-k2.5-8gpu", *simulated).stdout.splitlines()
    assert checked[0] == "kimi-k2.5-8gpu: ok, SIMULATED"
