"""What several hosts of a pool measured in one session is stored as what it is: as many sessions as hosts."""

from __future__ import annotations

from pathlib import Path

from tests.cli.baseline_checkout import Checkout, write_run
from tests.verdicts.evidence import controls, eagle3
from tokgate.records.fleet import FLEET, Fleet, HostSeen, HostState, Shift, ShiftState


def fleet_run(checkout: Checkout, *hosts: str, lost: str = "") -> Path:
    """Three hosts of which each measured controls and arm, as one session leaves them."""
    run = checkout.root / "reports" / "20261130T120000-small"
    shifts = []
    for number, name in enumerate(hosts, start=1):
        part = write_run(run / "hosts" / name, *controls(), eagle3())
        text = (part / "run.json").read_text()
        (part / "run.json").write_text(text.replace(f'"run_id":"{name}"', f'"run_id":"{run.name}"'))
        shifts.append(
            Shift(
                number=number,
                host=name,
                worker="gw0, pid 1 1",
                folder=f"hosts/{name}",
                state=ShiftState.LOST if name == lost else ShiftState.MEASURED,
                began_at="2026-11-30T12:00:00+00:00",
            )
        )
    seen = tuple(HostSeen(name=name, address=f"ssh://{name}", state=HostState.ADMITTED) for name in hosts)
    (run / FLEET).write_text(
        Fleet(hosts=seen, groups=("eagle3-2step",), shifts=tuple(shifts)).model_dump_json()
    )
    return run


def test_the_run_of_a_pool_is_stored_with_what_each_host_measured(checkout: Checkout) -> None:
    run = fleet_run(checkout, "gpu7", "gpu8", "gpu9", lost="gpu9")
    stored = checkout.tokgate("update", str(run), "--why", "the pool, quiet")

    assert stored.exit_code == 0, stored.output
    shown = checkout.tokgate("show", "small").output
    assert "single on baseline, 4 server runs" in shown, (
        "of gpu7 and gpu8; what a lost host measured is judged nowhere"
    )
    assert "hosts/gpu8" in shown


def test_one_host_is_added_to_another_and_none_twice(checkout: Checkout) -> None:
    run = fleet_run(checkout, "gpu7", "gpu8")
    first, second = (str(run / "hosts" / name) for name in ("gpu7", "gpu8"))
    assert checkout.tokgate("update", first, "--why", "first").exit_code == 0
    assert "(extended)" in checkout.tokgate("update", second, "--why", "second", "--append").output

    again = checkout.tokgate("update", second, "--why", "again", "--append")
    assert again.exit_code != 0
    assert "in it already" in again.output


def test_a_run_of_which_no_host_measured_to_the_end_stores_nothing(checkout: Checkout) -> None:
    refused = checkout.tokgate("update", str(fleet_run(checkout, "gpu7", lost="gpu7")), "--why", "why")

    assert refused.exit_code != 0
    assert "no host of the pool measured to the end" in refused.output
