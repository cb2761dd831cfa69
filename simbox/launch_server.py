"""`python -m simbox.launch_server`: SGLang's command line, `--sim-scenario`, `--sim-state`, `--sim-seed`, `--sim-version`.

Nothing is imported up here: multiprocessing imports this module again in every child.
"""

from __future__ import annotations


def main() -> None:
    import sys  # noqa: PLC0415 - see above

    from simbox.server_main import run  # noqa: PLC0415 - see above

    run(sys.argv[1:])


if __name__ == "__main__":
    main()
