"""Writes the file argv[1] to stdout; exit 44 says that there is no such file, which cat cannot."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def main() -> None:
    try:
        with Path(sys.argv[1]).open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
    except (FileNotFoundError, NotADirectoryError):
        sys.exit(44)
    except OSError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
