"""Calls `main(argument)` of the script that arrives on stdin and prints what it returns.

stdin: one JSON line (source, name, argument, nonce, parts). `parts`: module -> text of what the script imports of this
project; nothing else of it is on the host. stdout: noise, then one line `<nonce> {JSON}`.
"""

from __future__ import annotations

import json
import linecache
import sys
import traceback
import types
from typing import Any


def add_module(name: str, text: str) -> None:
    """Make `import name` work, its packages empty."""
    above = name.rpartition(".")[0]
    if above and above not in sys.modules:
        add_module(above, "")
    module = types.ModuleType(name)
    if not text:
        module.__path__ = []
    sys.modules[name] = module
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), module.__dict__)  # noqa: S102 - as in main


def main() -> None:
    request = json.loads(sys.stdin.buffer.readline())
    answer = sys.stdout
    # What the script or anything it imports prints must not be taken for the answer.
    sys.stdout = sys.stderr
    source, name = request["source"], request["name"]
    # So that a traceback quotes the lines of a file that does not exist here.
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    for module, text in request.get("parts", {}).items():
        add_module(module, text)
    space: dict[str, Any] = {"__name__": "host_script", "__file__": name}
    try:
        exec(compile(source, name, "exec"), space)  # noqa: S102 - running what the gate sent is this file's job
        result = space["main"](request["argument"])
    except Exception:  # noqa: BLE001 - whatever it is, the gate quotes it
        # The interpreter's own printing would look for the lines in a file.
        traceback.print_exc()
        sys.exit(1)
    answer.write("\n" + request["nonce"] + " " + json.dumps(result) + "\n")
    answer.flush()


if __name__ == "__main__":
    main()
