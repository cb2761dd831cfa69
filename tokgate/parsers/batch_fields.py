"""The text of one batch line: where it begins, and its `name: value` pairs."""

from __future__ import annotations

import re

from .log_prefix import PrefixedLine, strip_prefixes

# "Decode batch. #running-req", since 0.5.6 "Decode batch, ", with SGLANG_LOG_FORWARD_ITERS "Decode batch [17], "
_HEAD = re.compile(r"(?P<kind>Decode|Prefill) batch(?: \[[0-9]{1,15}\])?[.,] *(?=#)")
_WORDS = re.compile(r"(?P<kind>Decode|Prefill) batch\b")
_STAMP = re.compile(r"\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")
# In front of an unknown logger's message; never a quote, so that a logged prompt is not taken for a line.
_FOREIGN_PREFIX = re.compile(r"[^'\"`(){}=\\]{1,160}")
_FIELD = re.compile(r"(?P<key>[#A-Za-z][^:]{0,79}): *(?P<value>[^,]{0,79})")
_COUNT = re.compile(r"[0-9]{1,15}")
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
_GRAPH = re.compile(r"[a-z]{2,10} graph")


class Unreadable(Exception):  # noqa: N818 - a reader's way out, turned into an Unread by its caller
    """The line names a batch but cannot be read; the message says why."""


def names_a_batch(text: str) -> str | None:
    """Return "Decode" or "Prefill" when the words stand anywhere in `text`."""
    match = _WORDS.search(text)
    return match["kind"] if match else None


def split_joined(line: PrefixedLine) -> list[PrefixedLine]:
    """Part a batch line from what another write left behind it on the same line."""
    lines = []
    while _HEAD.match(line.text) and (stamp := _STAMP.search(line.text)):
        lines.append(line.model_copy(update={"text": line.text[: stamp.start()]}))
        line = strip_prefixes(line.text[stamp.start() :])
    return [*lines, line]


def head(line: PrefixedLine) -> tuple[str, bool]:
    """Return (the fields' text, whether the prefix was odd) of a line that begins a batch message.

    Raises Unreadable where the words stand inside another message, such as a logged prompt.
    """
    if match := _HEAD.match(line.text):
        return line.text[match.end() :], line.damaged
    match = _HEAD.search(line.text)
    if match and _FOREIGN_PREFIX.fullmatch(line.text, 0, match.start()):
        return line.text[match.end() :], True
    raise Unreadable("names a batch inside other text")


class Fields:
    """The pairs of one line; what is taken is gone, so that the rest can be kept as it is."""

    def __init__(self, text: str) -> None:
        self.rest: dict[str, str] = {}
        for part in text.split(","):
            if not part.strip():
                continue  # several versions end the line with ", "
            match = _FIELD.fullmatch(part.strip())
            if match is None:
                raise Unreadable(f"not a field: {part.strip()[:40]!r}")
            if match["key"] in self.rest:
                raise Unreadable(f"field {match['key']!r} twice: two lines written into one")
            self.rest[match["key"]] = match["value"].strip()

    def count(self, key: str) -> int | None:
        """Take a whole number; None where the line does not have the field."""
        value = self.rest.pop(key, None)
        if value is None:
            return None
        if not _COUNT.fullmatch(value):
            raise Unreadable(f"{key}: {value[:40]!r} is not a count")
        return int(value)

    def number(self, key: str) -> float | None:
        """Take a decimal number; None where the line does not have the field."""
        value = self.rest.pop(key, None)
        if value is None:
            return None
        if not _NUMBER.fullmatch(value):
            raise Unreadable(f"{key}: {value[:40]!r} is not a number")
        return float(value)

    def needed_count(self, key: str) -> int:
        value = self.count(key)
        if value is None:
            raise Unreadable(f"torn: no {key}")
        return value

    def needed_number(self, key: str) -> float:
        value = self.number(key)
        if value is None:
            raise Unreadable(f"torn: no {key}")
        return value

    def graph(self) -> tuple[str | None, bool | None]:
        """Take ("cuda graph", True); (None, None) in versions that do not say."""
        word = next((key for key in self.rest if _GRAPH.fullmatch(key)), None)
        if word is None:
            return None, None
        value = self.rest.pop(word)
        if value not in {"True", "False"}:
            raise Unreadable(f"{word}: {value[:40]!r} is neither True nor False")
        return word, value == "True"
