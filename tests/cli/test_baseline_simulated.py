"""What was simulated never stands among what was measured."""

from __future__ import annotations

from pathlib import Path

from tests.cli.baseline_checkout import ONE, Checkout, write_run
from tests.verdicts.evidence import controls, make_rig


def simulated_run(checkout: Checkout, name: str) -> str:
    rig = make_rig(workloads=ONE, simulated=True)
    launches = [
        launch.model_copy(
            update={
                "server": launch.server.model_copy(
                    update={"server_info": {**launch.server.server_info, "simulated": True}}
                )
            }
        )
        for launch in controls()
        if launch.server is not None
    ]
    folder = write_run(checkout.root / "reports" / name, *launches, rig=rig)
    told = (folder / "run.json").read_text()
    (folder / "run.json").write_text(told.replace('"simulated":false', '"simulated":true'))
    return str(folder)


def test_every_command_on_a_simulated_rig_says_so_first(checkout: Checkout) -> None:
    run = simulated_run(checkout, "sim")
    for command in (("update", run, "--why", "first"), ("diff", run), ("show", "small")):
        told = checkout.tokgate(*command)
        assert told.exit_code == 0, told.output
        first = told.output.splitlines()[0]
        assert first == "SIMULATED  rig small: no number here says anything about a real machine"
    (stored,) = (path for path in checkout.files() if path.is_file())
    assert '"simulated": true' in stored.read_text()
    assert "SIMULATED" not in checkout.tokgate("diff", checkout.run("real", *controls())).output


def test_a_simulated_run_is_not_stored_among_real_baselines(checkout: Checkout) -> None:
    checkout.tokgate("update", checkout.run("real", *controls()), "--why", "first")
    before = checkout.files()
    refused = checkout.tokgate("update", simulated_run(checkout, "sim"), "--why", "first")

    assert refused.exit_code == 4
    assert "a real machine" in refused.stderr
    assert "a rig of its own name" in refused.stderr
    assert checkout.files() == before


def test_a_simulated_run_is_not_stored_in_the_folder_of_a_real_rig(checkout: Checkout) -> None:
    (checkout.root / "rigs").mkdir()
    real = (Path(__file__).parents[2] / "rigs/kimi-k2.5-8gpu.toml").read_text()
    (checkout.root / "rigs/small.toml").write_text(real.replace('name = "kimi-k2.5-8gpu"', 'name = "small"'))
    (checkout.root / "rigs/prompts").symlink_to(Path(__file__).parents[2] / "rigs/prompts")
    refused = checkout.tokgate("update", simulated_run(checkout, "sim"), "--why", "first")

    assert refused.exit_code == 4
    assert "rigs/small.toml says otherwise" in refused.stderr
    assert checkout.files() == []


def test_a_run_that_contradicts_itself_on_simulated_is_refused(checkout: Checkout) -> None:
    folder = Path(simulated_run(checkout, "sim"))
    (folder / "run.json").write_text((folder / "run.json").read_text().replace("true", "false", 1))
    refused = checkout.tokgate("update", str(folder), "--why", "first")

    assert refused.exit_code == 4
    assert "rig.json the opposite" in refused.stderr
