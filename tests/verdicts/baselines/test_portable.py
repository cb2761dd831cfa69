"""A baseline that travels with the checkout says nothing of the machine it was made on, and asks nothing of another."""

from __future__ import annotations

from tests.verdicts.evidence import make_rig
from tokgate.records import Finding, Fingerprint
from tokgate.records.record import Unread
from tokgate.verdicts.baselines.portable import comparable, without_machine
from tokgate.verdicts.baselines.staleness import staleness

SOFTWARE = {
    "sglang.dirty": "no",
    "pythonpath.0": "/home/me/tokgate/stubs: x",
    "gpu.0.driver_version": "580",
}
MACHINE = {
    "host.boot_id": "b1", "host.kernel": "6.8", "gpu.driver": "NVRM 580", "server.python": "3.11 /home/me/x",
    "nccl./etc/nccl.conf": "NCCL_DEBUG=INFO", "startup.sitecustomize": "/usr/lib x", "startup": None, "sglang.location": "/home/me/tokgate/.simbox/sglang",
}  # fmt: skip
HERE = "/home/me/tokgate"


def whole(**more: str | None) -> Fingerprint:
    return Fingerprint(facts={**SOFTWARE, **MACHINE, **more})


def test_what_is_known_of_the_machine_is_left_out() -> None:
    before = whole().model_copy(
        update={
            "notes": (Finding(severity="note", what="/home/me/.nccl.conf", do="-"),),
            "unread": (Unread(text="host.cpu_governor", why="no cpufreq"),),
        }
    )
    kept = without_machine(before, HERE)
    assert kept.facts == {**SOFTWARE, "pythonpath.0": "{root}/stubs: x"}
    assert HERE not in kept.model_dump_json()
    assert (kept.notes, kept.unread) == ((), ())


def test_of_a_machine_unknown_then_nothing_is_asked_now() -> None:
    then, now = comparable(without_machine(whole(), HERE).facts, whole().facts, HERE)
    assert then == now


def test_a_machine_known_then_is_compared() -> None:
    then, now = comparable(whole().facts, whole(**{"host.boot_id": "b2"}).facts, HERE)
    assert (then["host.boot_id"], now["host.boot_id"]) == ("b1", "b2")


def test_another_boot_is_no_news_and_another_tree_is() -> None:
    rig = make_rig().model_copy(update={"checkout": "/elsewhere"})
    stored = without_machine(whole(), HERE)
    moved = {"pythonpath.0": "/elsewhere/stubs: x", "sglang.location": "/tmp/x", "host.boot_id": "b9"}
    same = staleness(rig, stored, whole(**moved))
    assert (same.since, same.warnings, same.differs) == (None, (), ())
    patched = staleness(rig, stored, whole(**moved, **{"sglang.dirty": "1f0c"}))
    assert [d.key for d in patched.differs] == ["sglang.dirty"]
