"""Which of a server's counters cannot all be true."""

from __future__ import annotations

import math

from tokgate.records import ServerCounters, SpecCounters

CLOSE = 0.01  # relative: rounding, never more


def contradictions(counters: ServerCounters, finish_length: int | None = None) -> tuple[str, ...]:
    """Return every contradiction in words; none for counters that may be true, or are not told.

    `finish_length` is the length that the finish reason itself names.
    """
    found: list[str] = []
    completion, prompt, cached = (
        counters.completion_tokens,
        counters.prompt_tokens,
        counters.cached_tokens,
    )
    if cached is not None and prompt is not None and cached > prompt:
        found.append(f"cached_tokens {cached} > prompt_tokens {prompt} (a retracted request counts twice)")
    if finish_length is not None and completion is not None and finish_length != completion:
        found.append(f"finished at length {finish_length}, completion_tokens {completion}")
    found.extend(_no_numbers(counters))
    found.extend(_times(counters))
    if counters.spec is not None:
        found.extend(_counts(counters.spec))
        if completion is not None:
            found.extend(_against_tokens(counters.spec, completion))
    return tuple(found)


def checked_again(counters: ServerCounters) -> ServerCounters:
    """Return counters that were kept in a file with every contradiction that they have now, those they came with first."""
    found = dict.fromkeys((*counters.contradictions, *contradictions(counters)))
    return counters.model_copy(update={"contradictions": tuple(found)})


def impossible_rate(rate: float | None, tokens: float | None, e2e_s: float | None) -> str | None:
    """Return why a decode rate means nothing, or None.

    Up to 0.5.16 an answer that was not streamed has its first token at its end, and millions of tok/s.
    """
    if rate is None:
        return None
    if tokens is None or tokens < 2:
        return "one token or none was generated, or nobody says how many"
    if rate <= 0:
        return "no tokens in the decode time"
    seconds = (tokens - 1) / rate
    if e2e_s and seconds < e2e_s / 1000:
        return (
            f"{tokens - 1:g} tokens in {seconds:g} s of {e2e_s:g} s: the first token's time is the last one's"
        )
    return None


def _no_numbers(counters: ServerCounters) -> list[str]:
    """A reader takes no such value from a body; a file that was edited may hold one."""
    spec = counters.spec
    named = {
        "e2e_latency": counters.e2e_latency_s,
        "first_token_latency": counters.first_token_latency_s,
        "queue_time": counters.queue_time_s,
        "decode_throughput": counters.decode_throughput,
        "spec_accept_length": spec.accept_length if spec is not None else None,
    }
    return [
        f"{name} is {value:g}"
        for name, value in named.items()
        if value is not None and not (math.isfinite(value) and value >= 0)
    ]


def _times(counters: ServerCounters) -> list[str]:
    found: list[str] = []
    e2e, first = counters.e2e_latency_s, counters.first_token_latency_s
    if e2e is None or first is None:
        return found
    if first > e2e:
        return [f"first token after {first:g} s, end after {e2e:g} s"]
    rate, tokens = counters.decode_throughput, counters.completion_tokens
    if rate is not None and tokens is not None and e2e > first:
        ours = (tokens - 1) / (e2e - first)
        if abs(ours - rate) > CLOSE * ours:
            found.append(f"decode_throughput {rate:g}, (tokens - 1) / (e2e - first token) {ours:g}")
    return found


def _counts(spec: SpecCounters) -> list[str]:
    found: list[str] = []
    correct, proposed = spec.num_correct_drafts, spec.num_proposed_drafts
    if correct is not None and proposed is not None and correct > proposed:
        found.append(f"{correct} correct drafts of {proposed} proposed")
    histogram = spec.correct_drafts_histogram
    if histogram is None:
        return found
    calls = sum(histogram)
    if spec.verify_ct is not None and calls != spec.verify_ct:
        found.append(f"the histogram counts {calls} verify calls, spec_verify_ct {spec.verify_ct}")
    accepted = sum(drafts * times for drafts, times in enumerate(histogram))
    if correct is not None and accepted != correct:
        found.append(f"the histogram counts {accepted} correct drafts, the counter {correct}")
    return found


def _against_tokens(spec: SpecCounters, completion: int) -> list[str]:
    found: list[str] = []
    calls, correct = spec.verify_ct, spec.num_correct_drafts
    if not calls:
        return found
    # Every call yields a token at least; a call may still be under way when the limit is reached.
    if calls > completion * (1 + CLOSE) + 1:
        found.append(f"{calls} verify calls for {completion} tokens, of which each call yields one at least")
    if spec.accept_length is not None and abs(spec.accept_length - completion / calls) > CLOSE * (
        completion / calls
    ):
        found.append(
            f"spec_accept_length {spec.accept_length:g}, tokens / verify calls {completion / calls:g}"
        )
    if correct is None:
        return found
    # Prefill gives the first token, every verify call its correct drafts and one more. The last call counts in
    # full although the limit may cut its tokens off.
    made = 1 + calls + correct
    if made < completion or ((most := _most_drafts(spec)) is not None and made - completion > most):
        found.append(f"{completion} tokens, but prefill and {calls} verify calls account for {made}")
    return found


def _most_drafts(spec: SpecCounters) -> float | None:
    """The most drafts one verify call can accept, and so the most that the limit can cut off."""
    if spec.num_proposed_drafts is not None and spec.verify_ct:
        return spec.num_proposed_drafts / spec.verify_ct
    if spec.correct_drafts_histogram is not None:
        return len(spec.correct_drafts_histogram) - 1
    return None
