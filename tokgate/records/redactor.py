"""Secrets never reach a log line, a record or a report."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from .secret_shapes import SHOWN, without_known_shapes

# Shorter ones would be found in half of all words, and hide nothing anyway.
SHORTEST = 4
# Command lines of other people's processes: what stands in the way is quoted, and nobody has told us their secrets.
_NAME = r"[\w-]*(?:api[_-]?key|token|secret|passw(?:or)?d)"
_SECRET_WORD = re.compile(
    rf"(?P<name>(?:^|\s)(?:--?{_NAME}(?:=|\s+)|{_NAME}=))(?P<value>[^\s-]\S*)", re.IGNORECASE
)

# Names of variables and arguments whose values are secrets; TOKENIZERS_PARALLELISM and HF_TOKEN_PATH are none.
_SECRET_NAME = re.compile(
    r"(?:^|[_-])(?:(?:api|access|secret)[_-]?key|token|secret|passw(?:or)?d)$", re.IGNORECASE
)
# A shorter value is a switch or a placeholder; hidden everywhere, "false" or "none" would break every JSON file.
_SHORTEST_NAMED = 8


def hidden(name: str, value: str) -> str:
    """Return the value of a variable or an argument as any record may have it: a secret by its name or look is replaced."""
    named = len(value) >= _SHORTEST_NAMED and _SECRET_NAME.search(name)
    return SHOWN if named else without_known_shapes(value)


def without_secret_arguments(command: str) -> str:
    """Return a command line, its words set apart by blanks, without what follows --api-key, HF_TOKEN= and their like."""
    return _SECRET_WORD.sub(lambda found: found["name"] + SHOWN, command)


class Redactor:
    """Replaces every known secret, and what looks like one, in everything that is shown or stored.

    One per session; whoever makes a secret adds it before anything that could carry it is read.
    Text must be cleaned before it is cut to a length: half a secret is not found any more.
    """

    def __init__(self) -> None:
        self._spellings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Redactor({len(self._spellings)} spellings)"

    def add(self, secret: str) -> None:
        """Hide `secret` from now on, also as written in JSON, in a URL or in a shell word.

        ValueError: shorter than four characters.
        """
        if len(secret) < SHORTEST:
            raise ValueError(f"a secret of {len(secret)} characters cannot be hidden: it is found everywhere")
        spelled = {
            secret,
            json.dumps(secret)[1:-1],
            json.dumps(secret, ensure_ascii=False)[1:-1],
            quote(secret),
            quote(secret, safe=""),
            repr(secret)[1:-1],
            shlex.quote(secret),
        }
        # Longest first, so that a secret inside another one does not leave the rest standing.
        # Assigned in one step: readers in other threads see the old or the new tuple.
        self._spellings = tuple(sorted({*self._spellings, *spelled}, key=lambda s: (-len(s), s)))

    def add_named(self, variables: Iterable[tuple[str, object]]) -> None:
        """Hide the values of those variables, (name, value) each, that are secrets by their names: HF_TOKEN, api_key."""
        for name, value in variables:
            if isinstance(value, str) and len(value) >= _SHORTEST_NAMED and _SECRET_NAME.search(name):
                self.add(value)

    def clean(self, text: str) -> str:
        for spelling in self._spellings:
            text = text.replace(spelling, SHOWN)
        return without_known_shapes(text)

    def clean_json(self, value: Any) -> Any:
        """Clean every string inside a JSON value, keys included; tuples become lists."""
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, dict):
            return {self.clean(k) if isinstance(k, str) else k: self.clean_json(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean_json(v) for v in value]
        return value
