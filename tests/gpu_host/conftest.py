"""The programs of gpu-host/ import each other by plain names, as they do beside run.sh on a host."""

from __future__ import annotations

import sys
from pathlib import Path

GPU_HOST = Path(__file__).parents[2] / "gpu-host"
sys.path.insert(0, str(GPU_HOST))
