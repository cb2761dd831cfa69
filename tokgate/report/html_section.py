"""The gate's part of report.html: one self-contained piece, the same piece as a page of its own, and the page around both.

Nothing is loaded from anywhere, and the page's own policy forbids it: no script runs but those that carry the page's nonce.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import jinja2
from markupsafe import Markup

from tokgate.records import RunEvidence
from tokgate.records.secret_shapes import without_known_shapes

from . import simulated
from .html_context import context
from .html_environment import AROUND_STYLES, STYLES, environment, own
from .verdict_file import VerdictFile
from .visible import shorten, visible


def fresh_nonce() -> str:
    """Return what the scripts of one page carry: chosen after everything foreign in it was written."""
    return secrets.token_urlsafe(16)


def section(
    file: VerdictFile, evidence: RunEvidence, folder: Path, *, link_base: str = "", nonce: str | None = None
) -> str:
    """Return the HTML of the gate's part, to stand first on a page of pytest-html.

    `link_base` is put in front of links into the run folder; `nonce` is the page's.
    """
    more = {"style": own(*STYLES, *AROUND_STYLES), "nonce": nonce or fresh_nonce(), "alone": False}
    template = environment().get_template("section.html.j2")
    return without_known_shapes(template.render(context(file, evidence, folder, link_base) | more))


def page(file: VerdictFile, evidence: RunEvidence, folder: Path, *, link_base: str = "") -> str:
    """Return a whole HTML document with nothing but the gate's part, for when pytest-html wrote none."""
    more = {"style": own(*STYLES), "nonce": fresh_nonce(), "alone": True, "title": title(file)}
    return (
        environment().get_template("page.html.j2").render(context(file, evidence, folder, link_base) | more)
    )


def around(nonce: str, program: str) -> jinja2.Template:
    """Return a template that pytest-html renders its data with: `program` is its script, which builds its table."""
    script = Markup(program)  # noqa: S704 - a file of pytest-html's package
    return environment().get_template(
        "around.html.j2", globals={"nonce": nonce, "program": script, "mend": own("around.js")}
    )


def title(file: VerdictFile) -> str:
    """Return the document's title as plain text."""
    label = f"{simulated.WORD} " if file.simulated else ""
    return shorten(visible(f"{label}{file.outcome.value.upper()}: {file.headline}", keep=""), 300)
