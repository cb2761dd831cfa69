"""The gate's resources, one plugin each. They stay idle unless perf_tests/ is what is being run."""

from pathlib import Path

pytest_plugins = [
    "tokgate.fixtures.options",
    "tokgate.fixtures.settings",
    "tokgate.fixtures.hosts",
    "tokgate.fixtures.servers",
    "tokgate.fixtures.workloads",
    "tokgate.fixtures.measurements",
    "tokgate.fixtures.sweep",
    "tokgate.fixtures.baselines",
    "tokgate.fixtures.judging",
    "tokgate.fixtures.promises",
    "tokgate.fixtures.sampling",
    "tokgate.fixtures.ordering",
    "tokgate.fixtures.qualified",
    "tokgate.fixtures.report",
]

# The simulated box is a program of its own: without it, what is tested on it is left out.
if (Path(__file__).parent / "simbox").is_dir():
    pytest_plugins.append("simbox.pytest_plugin")
    collect_ignore: list[str] = []
else:
    collect_ignore = ["tests/scenarios", "tests/simbox"]
