from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.verdicts.evidence import make_fingerprint
from tokgate.errors import BaselineError
from tokgate.verdicts.baselines.file import Absence, BaselineFile, BaselineLaunch, Provenance
from tokgate.verdicts.baselines.identity import Identity, identity_hash
from tokgate.verdicts.baselines.load import baseline_path, find, load, refuse_mixture
from tokgate.verdicts.baselines.save import save
from tokgate.verdicts.launch_phases import LaunchPhases
from tokgate.verdicts.ledger import anchors_of, levels_of

IDENTITY = {"simulated": "false", "args.tp_size": "8", "sglang.version": "0.5.23"}


def make_baseline(identity: Identity | None = None, **changes: Any) -> BaselineFile:
    identity = IDENTITY if identity is None else identity
    fields: dict[str, Any] = {
        "rig": "small",
        "arm": "baseline",
        "workload": "single",
        "simulated": identity["simulated"] == "true",
        "identity": identity,
        "identity_hash": identity_hash(identity),
        "fingerprint": make_fingerprint(),
        "provenance": Provenance(who="ada", when="2026-11-29T12:00:00+00:00", why="first", runs=("r1",)),
        "launches": (
            BaselineLaunch(run_id="r1", launch="01", samples={"decode_tok_s": ((44.5,), (44.6, 44.7))}),
        ),
    }
    return BaselineFile(**{**fields, **changes})


def phases(**changes: Any) -> dict[str, Any]:
    reading = {"phase": "verify", "source": "probe", "clock": "gpu", "n": 60, "mean_ms": 19.0, **changes}
    cycles = [{"batch": 1, "cycle_ms": [19.7]}]
    return {"run_id": "r1", "launch": "05", "cycles": cycles, "readings": [reading]}


def halved() -> dict[str, Any]:
    """A verify of 19.0 ms of a cycle of 19.7, and somebody's hand."""
    found = phases(source="device-timer")
    (verify,) = found["readings"]
    rest = {**verify, "phase": "rest", "clock": "wall", "mean_ms": 0.7}
    LaunchPhases.model_validate({**found, "readings": [verify, rest]})
    return {**found, "readings": [{**verify, "mean_ms": 9.5}, rest]}


def spoiled(tmp_path: Path, **changes: Any) -> Path:
    path = save(tmp_path, make_baseline())
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return path


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"schema_number": 2}, "schema_number 2, this tokgate reads 1"),
        ({"schema_number": None}, "schema_number None"),
        ({"identity": {"simulated": "false"}}, "edited by hand"),
        ({"identity_hash": "0" * 64}, "edited by hand"),
        ({"simulated": True}, "simulated contradicts the identity"),
        ({"launches": []}, "launches"),
        ({"launches": [{"run_id": "r", "launch": "l", "samples": {}}]}, "no launch holds a sample"),
        ({"launches": [{"run_id": "r", "launch": "l", "samples": {"ttft_ms": [[]]}}]}, "ttft_ms"),
        ({"launches": [{"run_id": "r", "launch": "l", "samples": {"ttft_ms": [[0]]}}]}, "ttft_ms"),
        ({"launches": [{"run_id": "r", "launch": "l", "samples": {"ttft_ms": [[-1]]}}]}, "ttft_ms"),
        ({"launches": [{"run_id": "r", "launch": "l", "samples": {"ttft_ms": [["x"]]}}]}, "ttft_ms"),
        ({"phases": [{"run_id": "r", "launch": "l", "cycles": [], "readings": []}]}, "phases.0"),
        ({"phases": [phases(mean_ms=-1.0)]}, "phases.0.readings.0.mean_ms"),
        ({"phases": [phases(mean_ms=float("nan"))]}, "phases.0.readings.0.mean_ms"),
        ({"phases": [phases(source="guess")]}, "phases.0.readings.0.source"),
        ({"phases": [phases(mean_ms=0.0)]}, "phases.0.readings.0.mean_ms: Value error, 0 ms"),
        ({"phases": [phases()] * 3}, "phases: 3 launches, 1 different ones: edited by hand"),
        ({"phases": [halved()]}, "add up to 10.200 ms, its cycle is 19.700 ms: edited by hand"),
        ({"launches": [{"run_id": "r", "launch": "l", "samples": {"ttft_ms": [[float("nan")]]}}]}, "ttft_ms"),
        ({"surprise": 1}, "surprise"),
        ({"identity": None}, "identity"),
    ],
)
def test_a_corrupt_file_is_an_error_that_names_the_place(
    tmp_path: Path, changes: dict[str, Any], found: str
) -> None:
    with pytest.raises(BaselineError) as caught:
        load(spoiled(tmp_path, **changes))

    assert found in caught.value.found
    assert caught.value.do


TWO_NUMBERS = {"decode_tok_s": ((44.5,), (44.6,)), "ttft_ms": ((20.0,), (21.0,))}


def remembering(**samples: tuple[tuple[float, ...], ...]) -> dict[str, Any]:
    """A file whose anchor is of two numbers and whose one launch holds these samples."""
    runs = tuple(BaselineLaunch(run_id="r1", launch=name, samples=TWO_NUMBERS) for name in ("01", "02"))
    anchor = anchors_of(levels_of(runs), when="2026-11-29T12:00:00+00:00", why="first", sessions=("r1",))
    kept = runs[1].model_copy(update={"samples": samples})
    return {
        "launches": [runs[0].model_dump(mode="json"), kept.model_dump(mode="json")],
        "anchor": {name: level.model_dump(mode="json") for name, level in anchor.items()},
    }


def without(changes: dict[str, Any], part: str, metric: str) -> dict[str, Any]:
    for one in (changes["anchor"],) if part == "anchor" else [run["samples"] for run in changes["launches"]]:
        one.pop(metric, None)
    return changes


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        (
            without(remembering(**TWO_NUMBERS), "samples", "decode_tok_s"),
            "decode_tok_s: no launch holds a sample of it, its level says 44.55: edited by hand",
        ),
        (
            without(remembering(**TWO_NUMBERS), "anchor", "decode_tok_s"),
            "decode_tok_s: the samples give 44.55, and no level of it is remembered: edited by hand",
        ),
        (
            remembering(ttft_ms=TWO_NUMBERS["ttft_ms"]),
            "decode_tok_s: there are samples of 2 starts in 1 server runs of 1 sessions, its level says 4 starts in 2 server runs",
        ),
    ],
)
def test_samples_and_levels_of_a_number_that_do_not_belong_together_are_named(
    tmp_path: Path, changes: dict[str, Any], found: str
) -> None:
    """Without the samples nothing would be compared, and a slower server would pass."""
    path = save(tmp_path, make_baseline())
    spoiled(tmp_path, **remembering(**TWO_NUMBERS))
    load(path)
    spoiled(tmp_path, **changes)

    with pytest.raises(BaselineError) as caught:
        load(path)
    assert found in caught.value.found
    assert str(path) in caught.value.tried


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"schema_number": 1}']
)
def test_garbage_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = save(tmp_path, make_baseline())
    path.write_bytes(content)

    with pytest.raises(BaselineError):
        load(path)


def test_a_renamed_file_is_an_error(tmp_path: Path) -> None:
    path = save(tmp_path, make_baseline())
    moved = path.rename(path.with_name("0123456789ab.json"))

    with pytest.raises(BaselineError, match="renamed or copied"):
        load(moved)


def test_a_missing_file_is_an_error_of_load_and_an_absence_of_find(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="No such file"):
        load(tmp_path / "x.json")

    assert find(tmp_path, "small", IDENTITY) == Absence(
        path=f"baselines/small/{identity_hash(IDENTITY)[:12]}.json", identity=IDENTITY
    )


def test_a_corrupt_file_is_never_an_absence(tmp_path: Path) -> None:
    save(tmp_path, make_baseline()).write_text("{")

    with pytest.raises(BaselineError):
        find(tmp_path, "small", IDENTITY)


def test_a_folder_that_cannot_be_looked_into_is_never_an_absence(tmp_path: Path) -> None:
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines/small").symlink_to("small")

    with pytest.raises(BaselineError, match="look for the baseline"):
        find(tmp_path, "small", IDENTITY)


def test_an_absence_names_the_nearest_neighbour_and_what_differs(tmp_path: Path) -> None:
    save(tmp_path, make_baseline({**IDENTITY, "args.tp_size": "4", "sglang.version": "0.5.22"}))
    near = make_baseline({**IDENTITY, "args.tp_size": "4"})
    save(tmp_path, near)

    found = find(tmp_path, "small", IDENTITY)

    assert isinstance(found, Absence)
    assert found.nearest == near.name
    assert [(d.key, d.before, d.now) for d in found.differs] == [("args.tp_size", "4", "8")]


def test_a_simulated_machine_is_no_neighbour_of_a_real_one(tmp_path: Path) -> None:
    save(tmp_path, make_baseline({**IDENTITY, "simulated": "true"}))
    found = find(tmp_path, "small", IDENTITY)

    assert isinstance(found, Absence)
    assert found.nearest is None


def test_a_corrupt_neighbour_is_told(tmp_path: Path) -> None:
    path = save(tmp_path, make_baseline({**IDENTITY, "args.tp_size": "4"}))
    path.write_text("{")
    found = find(tmp_path, "small", IDENTITY)

    assert isinstance(found, Absence)
    assert found.unreadable[0].startswith(path.name)


@pytest.mark.parametrize("rig", ["..", "../x", "a/b", "", ".hidden", "A"])
def test_a_rig_name_leads_nowhere_else(rig: str) -> None:
    with pytest.raises(BaselineError, match="no name of a rig"):
        baseline_path(Path("/nowhere"), rig, IDENTITY)


def test_another_rigs_file_is_refused(tmp_path: Path) -> None:
    """Its name would lead out of this rig's folder."""
    path = save(tmp_path, make_baseline())
    copied = tmp_path / "baselines" / "large" / path.name
    copied.parent.mkdir()
    copied.write_text(path.read_text())

    with pytest.raises(BaselineError, match="belongs to rig 'small'"):
        load(copied)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = save(tmp_path, make_baseline())
    path.unlink()
    os.mkfifo(path)

    with pytest.raises(BaselineError, match="no regular file"):
        load(path)


@pytest.mark.parametrize("value", [1e308, 5e-324])
def test_a_value_that_nothing_can_be_compared_with(tmp_path: Path, value: float) -> None:
    path = save(tmp_path, make_baseline())
    path.write_text(path.read_text().replace("44.5", repr(value)))

    with pytest.raises(BaselineError, match=r"launches\.0\.samples"):
        load(path)


@pytest.mark.parametrize("stored", ["true", "false"])
def test_a_folder_holds_simulated_or_real_baselines_never_both(tmp_path: Path, stored: str) -> None:
    save(tmp_path, make_baseline({**IDENTITY, "simulated": stored}))

    refuse_mixture(tmp_path, "small", simulated=stored == "true")
    refuse_mixture(tmp_path, "other", simulated=stored != "true")
    with pytest.raises(BaselineError, match="a rig of its own name"):
        refuse_mixture(tmp_path, "small", simulated=stored != "true")


def test_a_file_from_before_phases_were_kept_says_nothing_of_them(tmp_path: Path) -> None:
    path = save(tmp_path, make_baseline())
    raw = json.loads(path.read_text())
    del raw["phases"]
    path.write_text(json.dumps(raw))
    assert load(path).phases == ()


def test_phases_are_read_back_as_they_were_kept(tmp_path: Path) -> None:
    kept = LaunchPhases.model_validate(phases())
    stored = make_baseline(phases=(kept,))
    assert load(save(tmp_path, stored)).phases == (kept,)
