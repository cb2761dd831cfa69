"""What junit.xml says beyond passed and failed: name and value pairs for pytest's properties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokgate.records import Verdict, worst

from .verdict_file import VerdictFile
from .visible import one_line


def run_properties(file: VerdictFile) -> Iterator[tuple[str, str]]:
    """Yield the properties of the whole test suite."""
    yield "tokgate.outcome", file.outcome.value
    yield "tokgate.exit_code", str(file.exit_code)
    yield "tokgate.headline", one_line(file.headline)
    yield "tokgate.simulated", str(file.simulated).lower()
    yield "tokgate.rig", one_line(file.run.rig)
    yield "tokgate.run_id", one_line(file.run.run_id)


def verdict_properties(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, str]]:
    """Yield the properties of one test: its outcome, then what each verdict measured.

    Names read `tokgate.value.METRIC.ARM.WORKLOAD`; what a verdict does not know has no property.
    """
    if not verdicts:
        return
    yield "tokgate.outcome", worst(v.outcome for v in verdicts).value
    for verdict in verdicts:
        parts = (verdict.metric or verdict.check, verdict.arm or verdict.launch, verdict.workload)
        name = ".".join(one_line(p, 80) for p in parts if p)
        yield f"tokgate.headline.{name}", one_line(verdict.headline)
        for kind, value in (
            ("value", verdict.value),
            ("change", verdict.change),
            ("reference", verdict.reference.value if verdict.reference else None),
            ("n", verdict.n or None),
        ):
            if value is not None:
                yield f"tokgate.{kind}.{name}", repr(value)
        if verdict.unit and verdict.value is not None:
            yield f"tokgate.unit.{name}", one_line(verdict.unit, 40)
