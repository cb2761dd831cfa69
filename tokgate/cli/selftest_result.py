"""What a self-test found, as `tokgate selftest` prints it."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.cli.table import table
from tokgate.records.selftest import Found, SelfTest
from tokgate.verdicts.selftest_file import bounds, percent


def result(found: SelfTest) -> Iterator[str]:
    """Yield what a self-test found, as a table."""
    many = len(found.launches)
    yield f"{found.id}: {found.arm}, {many} of {found.restarts} server runs, SGLang {found.sglang_version}, tokgate {(found.tokgate_commit or found.tokgate_version)[:16]}"
    if found.why_incomplete is not None:
        yield f"incomplete: {found.why_incomplete}"
    for launch in found.launches:
        for fault in dict.fromkeys((*launch.faults, *(b.fault for b in launch.blocks if b.fault))):
            yield f"  {launch.launch}: {fault.splitlines()[0] if fault else fault}"
    if not found.found:
        yield "nothing could be compared: too few server runs were measured"
        return
    rows = [_row(one) for one in found.found if _is_speed(found, one)]
    yield table(
        (
            "planted",
            "workload",
            "metric",
            "really lost",
            "called",
            "95 % bound",
            "resampled",
            "one run alone",
            "sees from",
        ),
        rows,
    )
    yield (
        f"unchanged server, any metric: {found.alarms.seen} of {found.alarms.of} sessions alarmed ({bounds(found.alarms)})"
    )
    yield (
        f"called: sessions of up to {found.session_runs} server runs against a baseline of {found.baseline_runs}, confirmed by "
        "restarts; independent given that baseline. Resampled ones share runs: no bound. One run alone: unconfirmed"
    )


def _row(one: Found) -> tuple[str, ...]:
    really = "" if one.really is None else percent(one.really)
    if one.really_interval is not None:
        really += f" ({percent(one.really_interval[0])} … {percent(one.really_interval[1])})"
    return (
        "nothing" if not one.planted else percent(one.planted),
        one.workload,
        one.metric,
        really,
        f"{one.trials.seen} of {one.trials.of}",
        bounds(one.trials),
        f"{one.resampled[0]} of {one.resampled[1]}",
        f"{one.alone.seen} of {one.alone.of}",
        "" if one.smallest is None else percent(one.smallest),
    )


def _is_speed(found: SelfTest, one: Found) -> bool:
    """Say whether the row is of the throughput, or of another metric that alarmed."""
    speeds = {(f.workload, f.metric) for f in found.found if f.planted}
    return (one.workload, one.metric) in speeds or one.trials.seen > 0
