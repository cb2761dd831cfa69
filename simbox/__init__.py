"""A simulated box with eight GPUs and the SGLang server on it.

A program of its own, started by `python -m simbox.launch_server`: it takes SGLang's command line, starts
SGLang's process tree, answers SGLang's HTTP and writes SGLang's log, but no model runs: the time of every step
comes from a model (simbox/model.py), the memory of every GPU from a ledger (simbox/ledger.py). What it really did
is written to a truth file (simbox/truth.py), and every fault it knows is a scenario (simbox/scenarios/).
"""

from __future__ import annotations

MARK = "SIMULATED by simbox"  # stands wherever a reader of its output could look
VERSIONS = ("0.5.9", "0.5.23")  # the SGLang dialects spoken
