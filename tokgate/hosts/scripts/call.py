"""Calls `main(argument)` of the script that arrives on stdin and prints what it returns.

stdin: one JSON line (source, name, argument, nonce). stdout: noise, then one line `<nonce> {JSON}`.
"""

from __future__ import annotations

import json
import linecache
import sys
import traceback
from typing import Any


def main() -> None:
    request = json.loads(sys.stdin.buffer.readline())
    answer = sys.stdout
    # What the script or anything it imports prints must not be taken for the answer.
    sys.stdout = sys.stderr
    source, name = request["source"], request["name"]
    # So that a traceback quotes the lines of a file that does not exist here.
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
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
