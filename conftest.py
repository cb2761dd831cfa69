"""The gate's resources, one plugin each. They stay idle unless perf_tests/ is what is being run.

Where tokgate is installed its entry point (fixtures/entry.py) may have loaded them already: no plugin is loaded twice.
"""

from pathlib import Path

from tokgate.fixtures.plugins import PLUGINS

pytest_plugins = [*PLUGINS]

# The simulated box is a program of its own: without it, what is tested on it is left out.
if (Path(__file__).parent / "simbox").is_dir():
    pytest_plugins.append("simbox.pytest_plugin")
    collect_ignore: list[str] = []
else:
    collect_ignore = ["tests/ci", "tests/docs", "tests/scenarios", "tests/simbox"]
