"""How the pages of report.html are rendered: templates, style sheets and scripts of the package, foreign text made safe.

Jinja2 escapes everything; on top of that the `shown` filter makes invisible characters visible and cuts what is too long to be
read. Style sheets and scripts are our own files, and the only text that reaches a page unescaped.
"""

from __future__ import annotations

import importlib.resources
import re
from functools import cache

import jinja2
from markupsafe import Markup, escape

from .commands import to_fill_in
from .visible import visible

# In the order in which they stand on the page.
STYLES = ("style.css", "answer.css", "tables.css", "truth.css", "print.css")
SCRIPTS = ("page.js",)
# pytest-html's part below ours.
AROUND_STYLES = ("around.css",)

_LONGEST = 4000
# No joint lies within what an escaped character has become, as in &#34; or &amp;.
_JOINTS = re.compile(r"([/._])(?=\w)")


def shown(foreign: object, limit: int = _LONGEST) -> str:
    """Return text that can be seen as it is; the caller's template escapes it."""
    text = visible(str(foreign))
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"


def size(count: int) -> str:
    """Format a number of bytes."""
    amount, units = float(count), ["B", "kB", "MB", "GB"]
    while amount >= 1000 and len(units) > 1:
        amount /= 1000
        units.pop(0)
    return f"{amount:.0f} {units[0]}" if units[0] == "B" else f"{amount:.1f} {units[0]}"


def breakable(text: str) -> Markup:
    """Escape text, and let lines break behind what parts the words of a path or a name."""
    return Markup(_JOINTS.sub(r"\1<wbr>", str(escape(text))))  # noqa: S704 - escaped in the same breath


@cache
def environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("tokgate.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["shown"] = shown
    made.filters["size"] = size
    made.filters["to_fill_in"] = to_fill_in
    made.filters["breakable"] = breakable
    return made


@cache
def own(*names: str) -> Markup:
    """Return these files of templates/, one after the other, as they are."""
    files = importlib.resources.files("tokgate.report").joinpath("templates")
    return Markup("\n").join(Markup(files.joinpath(name).read_text(encoding="utf-8")) for name in names)  # noqa: S704
