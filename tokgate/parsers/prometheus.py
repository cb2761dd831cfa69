"""A server's /metrics text, and what happened between two scrapes of it.

Sample lines are read one by one with prometheus_client's own parser: given a whole text it gives up at the
first bad line, and one torn line must not cost the other five hundred samples.

Only differences of counters are measurements. A gauge freezes at its last value when the load ends (sglang#4244)
or reads 0 on an idle server (`is_cuda_graph`), so `delta` refuses gauges.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

from tokgate.records import Record, Unread

from .foreign_json import writable

MAX_LINE = 16_384
MAX_UNREAD = 200

# A sidecar in front of SGLang writes `sglang_` for `sglang:`.
_SEPARATOR = re.compile(r"^sglang[:_]")
_COMMENT = re.compile(r"#\s+(?P<what>HELP|TYPE)\s+(?P<name>[A-Za-z_:][\w:]*)(?:\s+(?P<rest>.*))?$")
_PARTS = ("_bucket", "_count", "_sum", "_total")
# The same work is counted once per rank: adding them up counts it twice.
_RANK_LABEL = re.compile(r"pid|rank|\w+_rank")


class MetricSample(Record):
    """One line: `name` is canonical ("sglang:…"); value may be NaN or infinite, as printed."""

    name: str
    labels: dict[str, str]
    value: float


class Family(Record):
    name: str  # canonical
    type: str | None  # "counter", "gauge", "histogram", …; None: no TYPE line
    help: str | None = None
    samples: tuple[MetricSample, ...] = ()


class Scrape(Record):
    families: dict[str, Family]
    complete: bool  # the text ended with a newline, as the format demands; False: it was cut
    unread: tuple[Unread, ...] = ()


class Delta(Record):
    """`value` is None where the difference would not be a fact, and `why` says so."""

    value: float | None
    why: str | None = None
    series: int = 0  # how many series were added up


def canonical(name: str) -> str:
    """Return the metric's name as SGLang itself writes it."""
    return _SEPARATOR.sub("sglang:", name, count=1)


def read_metrics(text: str) -> Scrape:
    """Read the text exposition format; lines that cannot be read are listed, never fatal."""
    lines = writable(text).split("\n")
    complete = not lines[-1].strip()
    unread: list[Unread] = []
    if not complete:
        # The number at the end of a cut line looks like a whole one.
        unread.append(Unread(line=len(lines), text=lines[-1][:500], why="cut: no newline at the end"))
        lines.pop()
    types: dict[str, str] = {}
    helps: dict[str, str] = {}
    samples: dict[str, list[MetricSample]] = {}
    for number, raw in enumerate(lines, start=1):
        line = raw.strip()
        if line.startswith("#"):
            if match := _COMMENT.match(line[:MAX_LINE]):
                of = types if match["what"] == "TYPE" else helps
                of[canonical(match["name"])] = (match["rest"] or "").strip()
        elif line:
            try:
                sample = _sample(line)
            except (ValueError, IndexError, ArithmeticError) as error:  # a time stamp of 400 digits
                unread.append(Unread(line=number, text=line[:500], why=f"not a sample: {error}"[:200]))
                continue
            samples.setdefault(sample.name, []).append(sample)
    families: dict[str, Family] = {}
    owners = {name: _family_of(name, types) for name in samples}
    for name in [*types, *owners.values()]:
        if name not in families:
            own = tuple(s for sample, owner in owners.items() if owner == name for s in samples[sample])
            families[name] = Family(
                name=name, type=types.get(name) or None, help=helps.get(name), samples=own
            )
    if len(unread) > MAX_UNREAD:
        more = len(unread) - MAX_UNREAD
        unread[MAX_UNREAD:] = [Unread(text="", why=f"and {more} more lines")]
    return Scrape(families=families, complete=complete, unread=tuple(unread))


def series(scrape: Scrape, name: str, /, **labels: str) -> tuple[MetricSample, ...]:
    """Return the samples called `name` ("…_total", "…_seconds_sum") that carry all of `labels`."""
    name = canonical(name)
    family = scrape.families.get(_family_of(name, scrape.families))
    if family is None:
        return ()
    return tuple(
        s
        for s in family.samples
        if s.name == name and all(s.labels.get(key) == value for key, value in labels.items())
    )


def model_of(scrape: Scrape) -> str | None:
    """Return the one model the server names (label `model_name`, `name` in 0.3); None: none, or several."""
    found = {
        model
        for family in scrape.families.values()
        if family.name.startswith("sglang:")
        for s in family.samples
        if (model := s.labels.get("model_name") or s.labels.get("name"))
    }
    return found.pop() if len(found) == 1 else None


def delta(before: Scrape, after: Scrape, name: str, /, **labels: str) -> Delta:
    """Return how much a counter grew between two scrapes of one server, over all series with `labels`.

    `name` is a sample's name: a counter's ("sglang:generation_tokens_total") or a histogram's part
    ("sglang:time_to_first_token_seconds_sum"). A series that only the later scrape has counts from zero:
    SGLang creates them at their first increment. Series of several ranks are not added up; name one.
    """
    if reason := _not_a_counter(before, after, canonical(name)):
        return Delta(value=None, why=reason)
    if reset := first_reset(before, after):
        return Delta(value=None, why=f"the server restarted between the scrapes: {reset}")
    return growth(before, after, name, **labels)


def growth(before: Scrape, after: Scrape, name: str, /, **labels: str) -> Delta:
    """Return the `delta` of scrapes that `first_reset` has been asked about: it looks at every series of both."""
    name = canonical(name)
    if reason := _not_a_counter(before, after, name):
        return Delta(value=None, why=reason)
    old, new = series(before, name, **labels), series(after, name, **labels)
    wanted = name + (f"{dict(labels)}" if labels else "")
    if not old and not new:
        return Delta(value=None, why=f"{wanted} is in neither scrape")
    if ranks := _several_ranks((*old, *new)):
        return Delta(value=None, why=f"{wanted} is counted per rank: name one of {ranks}")
    earlier, later = _by_labels(old), _by_labels(new)
    if len(earlier) < len(old) or len(later) < len(new):
        return Delta(value=None, why=f"{wanted} has a series twice in one scrape")
    if lost := earlier.keys() - later.keys():
        return Delta(value=None, why=f"{len(lost)} series of {wanted} are gone from the later scrape")
    if later.keys() - earlier.keys() and (before.unread or not before.complete):
        return Delta(value=None, why=f"{wanted} may be missing from the earlier scrape, which was damaged")
    values = [*earlier.values(), *later.values()]
    if not all(math.isfinite(value) for value in values):
        return Delta(value=None, why=f"{wanted} is not a finite number")
    try:
        grown = math.fsum(later.values()) - math.fsum(earlier.values())
    except OverflowError:
        grown = math.inf
    if not math.isfinite(grown):
        return Delta(value=None, why=f"{wanted} is too large to be added up")
    return Delta(value=grown, series=len(later))


def first_reset(before: Scrape, after: Scrape) -> str | None:
    """Name a counter that went down: the process behind /metrics is another one. None: none did."""
    for family in before.families.values():
        later = after.families.get(family.name)
        if later is None or "gauge" in {family.type, later.type}:
            continue
        values = {(s.name, *sorted(s.labels.items())): s.value for s in later.samples}
        for s in family.samples:
            now = values.get((s.name, *sorted(s.labels.items())))
            # In multiprocess mode a value is a sum over files in no fixed order: the last digits may go down.
            if now is not None and now < s.value - 1e-9 * max(1.0, s.value) and _counts(s.name, family.type):
                return f"{s.name} went from {s.value:g} to {now:g}"
    return None


def _sample(line: str) -> MetricSample:
    if len(line) > MAX_LINE:
        raise ValueError(f"longer than {MAX_LINE} characters")
    found = [s for family in text_string_to_metric_families(line) for s in family.samples]
    if len(found) != 1:
        raise ValueError("no sample in it")
    return MetricSample(name=canonical(found[0].name), labels=found[0].labels, value=float(found[0].value))


def _family_of(sample_name: str, known: Mapping[str, object]) -> str:
    if sample_name in known:
        return sample_name
    for part in _PARTS:
        base = sample_name.removesuffix(part)
        if base != sample_name and base in known:
            return base
    return sample_name


def _counts(sample_name: str, family_type: str | None) -> bool:
    if family_type == "counter":
        return not sample_name.endswith("_created")
    if family_type in {"histogram", "summary"}:
        return sample_name.endswith(("_bucket", "_count", "_sum"))
    return family_type is None and sample_name.endswith(_PARTS)


def _not_a_counter(before: Scrape, after: Scrape, name: str) -> str | None:
    for scrape in (after, before):
        family = scrape.families.get(_family_of(name, scrape.families))
        if family is not None and not _counts(name, family.type):
            return f"{name} is a {family.type or 'metric of unknown type'}: only counters can be subtracted"
    return None


def _by_labels(samples: tuple[MetricSample, ...]) -> dict[frozenset[tuple[str, str]], float]:
    return {frozenset(s.labels.items()): s.value for s in samples}


def _several_ranks(samples: tuple[MetricSample, ...]) -> str | None:
    seen: dict[str, Counter[str]] = {}
    for s in samples:
        for key, value in s.labels.items():
            if _RANK_LABEL.fullmatch(key):
                seen.setdefault(key, Counter())[value] += 1
    several = [
        f"{key}={'/'.join(sorted(values)[:9])}" for key, values in sorted(seen.items()) if len(values) > 1
    ]
    return ", ".join(several) or None
