"""The gate's resources, one plugin each. They stay idle unless perf_tests/ is what is being run."""

pytest_plugins = [
    "fixtures.settings",
    "fixtures.hosts",
    "fixtures.servers",
    "fixtures.workloads",
    "fixtures.measurements",
    "fixtures.baselines",
    "fixtures.judging",
    "fixtures.promises",
    "fixtures.ordering",
    "fixtures.report",
]
