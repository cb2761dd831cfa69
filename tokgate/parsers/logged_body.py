r"""The meta_info of answers as a log or a report has them: JSON, or the Python repr of a request log.

SGLang's --log-requests prints `Finish: obj=…, out={'text': …, 'meta_info': {…}}`; quoted once more, its quotes
come out as \'. What stands around the object is not read, nor whether its brackets fit.
"""

from __future__ import annotations

import ast
import re

from tokgate.records import Record, ServerCounters, Unread

from .foreign_json import load_json, unread
from .meta_info import read_meta_info

LONGEST = 65_536  # characters of one meta_info; without logprobs it has some 1,000
MOST = 1000  # answers of one text

_BEGIN = re.compile(r"""(?P<quote>\\?["'])meta_info(?P=quote)\s*:\s*(?=\{)""")
# A string goes past as one, whatever brackets are in it.
_TOKEN = re.compile(r"""'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+"|[{}]""", re.DOTALL)


class LoggedBodies(Record):
    answers: tuple[ServerCounters, ...] = ()  # in the text's order; `contradictions` say which to discard
    unread: tuple[Unread, ...] = ()  # a meta_info that is cut off, or is no object of counts


def read_logged_bodies(text: str) -> LoggedBodies:
    """Return the counters of every meta_info in `text`. Never raises; a text without one is not understood."""
    answers: list[ServerCounters] = []
    missed: list[Unread] = []
    for match in _BEGIN.finditer(text):
        if len(answers) + len(missed) >= MOST:
            missed.append(unread("", f"more than {MOST} answers: the remainder was not read"))
            break
        piece = text[match.end() : match.end() + LONGEST]
        if match["quote"].startswith("\\"):
            piece = piece.replace("\\'", "'").replace('\\"', '"')
        value, why = _value(piece)
        if why is None:
            answers.append(read_meta_info(value))
        else:
            missed.append(unread(piece[:200], why, line=text.count("\n", 0, match.start()) + 1))
    if not answers and not missed:
        missed.append(unread(text[:200], "no meta_info in it"))
    return LoggedBodies(answers=tuple(answers), unread=tuple(missed))


def _value(piece: str) -> tuple[object, str | None]:
    """Return the object that `piece` begins with, or None and why it cannot be read."""
    end = _end(piece)
    if end is None:
        return None, "incomplete, cut off inside meta_info"
    whole = piece[:end]
    value, why = load_json(whole)
    if why is None:
        return value, None
    try:
        return ast.literal_eval(whole), None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None, "neither JSON nor a Python literal"


def _end(piece: str) -> int | None:
    depth = 0
    for match in _TOKEN.finditer(piece):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return None
