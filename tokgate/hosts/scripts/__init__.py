"""Programs that run on the host: standard library only, Python 3.9 and later.

They are read as text and sent over stdin, nothing is installed on the host. Each defines
`main(argument)`, which takes and returns JSON values.
"""

import ast
import functools
import threading
from importlib.resources import files

PARTS = f"{__name__}.parts"
# Parsers of several threads share a count of their depth in Python 3.11, and may end in a SystemError (CPython issue 106905).
_PARSING = threading.RLock()


@functools.cache
def source(name: str) -> str:
    """Return the text of the script `name` (without .py)."""
    return (files(__name__) / f"{name}.py").read_text(encoding="utf-8")


@functools.cache
def parts_of(text: str) -> dict[str, str]:
    """Return the modules of parts/ that a script imports, by full name, each behind those that it imports itself."""
    found: dict[str, str] = {}
    with _PARSING:
        body = ast.parse(text).body
    for node in body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PARTS}."):
            name = str(node.module)
            part = source(name.removeprefix(f"{__name__}.").replace(".", "/"))
            found.update({k: v for k, v in {**parts_of(part), name: part}.items() if k not in found})
    return found
