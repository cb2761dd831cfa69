"""A generation's exact part, comparable with a prediction."""

from __future__ import annotations

from tests.golden import Prediction
from tokgate.records import Generation


def exact_part(answer: Generation) -> Prediction:
    """Return output, verify calls and histogram of a speculated answer; fails where the server did not tell."""
    assert answer.output_ids is not None
    assert answer.counters is not None
    spec = answer.counters.spec
    assert spec is not None
    assert spec.verify_ct is not None
    assert spec.correct_drafts_histogram is not None
    return Prediction(answer.output_ids, spec.verify_ct, spec.correct_drafts_histogram)
