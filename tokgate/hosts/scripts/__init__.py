"""Programs that run on the host: standard library only, Python 3.9 and later.

They are read as text and sent over stdin, nothing is installed on the host. Each defines
`main(argument)`, which takes and returns JSON values.
"""

from importlib.resources import files


def source(name: str) -> str:
    """Return the text of the script `name` (without .py)."""
    return (files(__name__) / f"{name}.py").read_text(encoding="utf-8")
