"""What a server's log says of its start: arguments, KV pools, captured graphs, and whether it calls itself ready."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from tokgate.records import Record, Unread

from .foreign_json import writable
from .log_prefix import MAX_LINE, PrefixedLine, log_lines

LONGEST = 500  # characters of a line that is kept as not understood

_GB = r"(?P<{}>-?\d{{1,9}}(?:\.\d{{1,9}})?) GB"
_WEIGHTS = re.compile(
    rf"^Load weight end\..{{0,80}}?type=(?P<type>[\w.]+).{{0,80}}?avail mem={_GB.format('avail')}"
    rf"(?:, mem usage={_GB.format('used')})?"
)
_POOL = re.compile(
    rf"^KV Cache is allocated\..{{0,80}}?#tokens: (?P<tokens>\d{{1,18}}), K size: {_GB.format('k')}, "
    rf"V size: {_GB.format('v')}"
)
# "Capture cuda graph begin. …" (until 0.5.x), "Capture target verify CUDA graph begin. backend=full, …" (0.5.16)
_CAPTURE_BEGIN = re.compile(
    r"^Capture (?P<what>.{0,60}?)(?P<kind>\w+) graph begin\.(?P<rest>.*)", re.IGNORECASE
)
_CAPTURE_BS = re.compile(r"(?:^Capture .{0,60}?graph bs |\bbs=)\[(?P<sizes>[\d, ]*)\]")
_CAPTURE_END = re.compile(
    r"^Capture (?P<what>.{0,60}?)(?P<kind>\w+) graph end\. (?:Time elapsed: |elapsed=)(?P<seconds>\d{1,9}(?:\.\d{1,9})?) s"
    rf"(?:.{{0,80}}?avail mem={_GB.format('avail')})?",
    re.IGNORECASE,
)
_PROGRESS = re.compile(r"^Capturing .{0,120}?\| ?(?P<done>\d{1,9})/(?P<total>\d{1,9}) \[")
_READY = re.compile(r"The server is fired up and ready to roll!")
_ARGUMENTS = re.compile(r"\bserver_args=(?P<form>ServerArgs\(|\{)")


class Weights(Record):
    rank: str | None
    model_class: str
    available_gb: float  # left on the device afterwards
    used_gb: float | None


class KvPool(Record):
    """With speculation each rank tells of two: the target's, then the draft's."""

    rank: str | None
    tokens: int
    k_gb: float
    v_gb: float


class GraphCapture(Record):
    rank: str | None
    what: str | None  # "target verify", "draft decode", …; None: the server's one kind of graph
    platform: str  # as printed: "cuda", "npu", …
    batch_sizes: tuple[int, ...] | None = None
    done: int | None = None  # batch sizes captured when the progress bar was last seen
    total: int | None = None
    seconds: float | None = None  # None: its end has not been seen
    available_gb: float | None = None


class ServerArguments(Record):
    """`values` holds what could be read; a name that is not in it is unknown, not None."""

    values: dict[str, Any]
    complete: bool


class StartupReading(Record):
    arguments: ServerArguments | None = None
    weights: tuple[Weights, ...] = ()
    pools: tuple[KvPool, ...] = ()
    captures: tuple[GraphCapture, ...] = ()
    says_ready: bool = False  # its own words; 0.5.23 says so even when its port was taken
    unread: tuple[Unread, ...] = ()


def read_startup(log_text: str) -> StartupReading:
    """Return what the start of a log tells. Never raises; lines of other kinds are passed over."""
    reader = _Reader()
    for number, line in log_lines(log_text):
        reader.take(number, line)
    return StartupReading(
        arguments=reader.arguments,
        weights=tuple(reader.weights),
        pools=tuple(reader.pools),
        captures=tuple(reader.captures),
        says_ready=reader.says_ready,
        unread=tuple(reader.unread),
    )


class _Reader:
    def __init__(self) -> None:
        self.arguments: ServerArguments | None = None
        self.weights: list[Weights] = []
        self.pools: list[KvPool] = []
        self.captures: list[GraphCapture] = []
        self.says_ready = False
        self.unread: list[Unread] = []

    def take(self, number: int, line: PrefixedLine) -> None:
        text = line.text
        if match := _ARGUMENTS.search(text):
            if self.arguments is None:
                self.arguments = read_arguments(
                    text[match.end() :], closing=")" if "(" in match["form"] else "}"
                )
        elif match := _WEIGHTS.match(text):
            used = _number(match["used"])
            available = _number(match["avail"]) or 0.0
            self.weights.append(
                Weights(rank=line.rank, model_class=match["type"], available_gb=available, used_gb=used)
            )
        elif match := _POOL.match(text):
            sizes = {"k_gb": float(match["k"]), "v_gb": float(match["v"])}
            self.pools.append(KvPool(rank=line.rank, tokens=int(match["tokens"]), **sizes))
        elif match := _PROGRESS.match(text):
            self._update(line.rank, done=int(match["done"]), total=int(match["total"]))
        elif match := _CAPTURE_BEGIN.match(text):
            what, platform = match["what"].strip() or None, match["kind"].lower()
            self.captures.append(GraphCapture(rank=line.rank, what=what, platform=platform))
            self._take_sizes(line)
        elif match := _CAPTURE_END.match(text):
            self._update(line.rank, seconds=float(match["seconds"]), available_gb=_number(match["avail"]))
        elif _CAPTURE_BS.search(text):
            self._take_sizes(line)
        elif _READY.search(text):
            self.says_ready = True
        elif text.startswith(("KV Cache is allocated", "Load weight end", "Capture ")):
            self.unread.append(
                Unread(line=number, text=text[:LONGEST], why="a known line in an unknown form")
            )

    def _take_sizes(self, line: PrefixedLine) -> None:
        if match := _CAPTURE_BS.search(line.text):
            sizes = tuple(int(size) for size in match["sizes"].replace(",", " ").split() if len(size) < 10)
            self._update(line.rank, batch_sizes=sizes)

    def _update(self, rank: str | None, **found: Any) -> None:
        """Add to the capture that `rank` is in; a progress bar has no rank, and only the first one draws it."""
        going_on = [
            index
            for index in range(len(self.captures) - 1, -1, -1)
            if self.captures[index].seconds is None and (rank is None or self.captures[index].rank == rank)
        ]
        if going_on:
            first = min(going_on, key=lambda index: self.captures[index].rank or "")
            self.captures[first] = self.captures[first].model_copy(update=found)


def read_arguments(text: str, *, closing: str) -> ServerArguments:
    """Read `a=1, b='x')` or `'a': 1, 'b': 'x'}` up to its closing bracket, or as far as it goes.

    >>> read_arguments("tp_size=8, api_key=No", closing=")")
    ServerArguments(values={'tp_size': 8}, complete=False)
    """
    values: dict[str, Any] = {}
    pieces = list(_pieces(writable(text[:MAX_LINE]), closing))
    complete = bool(pieces) and pieces[-1][1]
    for piece, whole in pieces:
        name, separator, value = piece.partition("=" if closing == ")" else ":")
        if separator and whole:
            values[name.strip().strip("'\"")] = _literal(value.strip())
    return ServerArguments(values=values, complete=complete)


def _pieces(text: str, closing: str) -> Iterator[tuple[str, bool]]:
    """Yield what stands between the commas of the outermost level; the last is not whole when it is cut."""
    depth, start, quote = 0, 0, ""
    escaped = False
    for index, char in enumerate(text):
        if quote:
            if char == quote and not escaped:
                quote = ""
            escaped = char == "\\" and not escaped
        elif char in "'\"":
            quote, escaped = char, False
        elif char in "([{":
            depth += 1
        elif depth == 0 and char == closing:
            yield text[start:index], True
            return
        elif char in ")]}":
            depth -= 1
        elif depth == 0 and char == ",":
            yield text[start:index], True
            start = index + 1
    if text[start:].strip():
        yield text[start:], False


def _literal(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text[:LONGEST]  # an enumeration or an object: as printed
    return value if isinstance(value, str | int | float | bool | None) else text[:LONGEST]


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
