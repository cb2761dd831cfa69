"""The gate's resources, one plugin each. They stay idle unless perf_tests/ is what is being run."""

from pathlib import Path

pytest_plugins = [
    "fixtures.options",
    "fixtures.settings",
    "fixtures.hosts",
    "fixtures.servers",
    "fixtures.workloads",
    "fixtures.measurements",
    "fixtures.sweep",
    "fixtures.baselines",
    "fixtures.judging",
    "fixtures.promises",
    "fixtures.sampling",
    "fixtures.ordering",
    "fixtures.qualified",
    "fixtures.report",
]

# The simulated box is a program of its own: without it, what is tested on it is left out.
if (Path(__file__).parent / "simbox").is_dir():
    pytest_plugins.append("simbox.pytest_plugin")
    collect_ignore: list[str] = []
else:
    collect_ignore = ["tests/scenarios", "tests/simbox"]
