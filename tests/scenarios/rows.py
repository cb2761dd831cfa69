"""The specification: what is played on the box, and what the gate must find.

One row a scenario of simbox/scenarios. `select` keeps to the launches that the scenario can change, and the settings
to as few generations as the checks need: a row takes a quarter of a minute, one whose loss restarts have to confirm a
minute or two.
"""

from __future__ import annotations

from .rows_box import NVIDIA_SMI, THE_BOX
from .rows_server import THE_SERVERS_LIFE
from .rows_speed import NCCL, SPEED, THE_INCIDENT

# What is played otherwise than by a row: why.
ELSEWHERE = {
    "somewhat-slow": "its size is drawn: test_seeds.py compares with the truth file",
    "fast-streams": "benchmarks/simbox.py measures the box by it",
}

ROWS = (*THE_INCIDENT, *SPEED, *NCCL, *THE_BOX, *NVIDIA_SMI, *THE_SERVERS_LIFE)
BY_NAME = {row.scenario: row for row in ROWS}

# Names that are words of plain English, or of tokgate's own for the same fault of a real machine.
PLAIN_WORDS = {
    "drift",
    "heat",
    "dies",
    "driver-mismatch",
    "gpu-lost",
    "no-driver",
    "no-gpus",
    "incident",
    "rebooted",
}
