"""What causes are called: in reports, in verdict.json, and where one module charges another's cause with a loss."""

from __future__ import annotations

UNCLEAN, UNSEEN = "machine not clean", "machine cannot be seen"
# What was measured before that was measured on a clean machine.
LATE = "machine not clean at restarts"
FOREIGN, HEAT, DRIFT, MODES = "foreign load on the GPUs", "heat", "drift", "two modes of restarts"
BUSY_HOST = "busy host"
ENVIRONMENT, NCCL, NCCL_COSTS = "environment not as wanted", "NCCL not as wanted", "NCCL block costs speed"
NO_START, DIED, HUNG = "server did not start", "server died", "server hung"
FAILED, COUNTERS, CACHE = "generations failed", "the server's counters contradict", "prefix cache hits"
CLIENT, PROBE = "client limit", "the probe costs speed"
TREE, STALE = "tree patched", "stale baseline"
NO_GRAPH, VERIFY, DRAFT, HOST = "verify without a graph", "verify slower", "draft slower", "host slower"
CYCLE, ACCEPTANCE, OFF, LOSSY = "cycle longer", "acceptance fell", "speculation off", "output not lossless"
SLOW_RANK, BASE = "slow rank", "base engine slower"
# Where a change is held against its base, on one machine in one session: what differs is the cause.
CHANGE, PART_OF_CHANGE = "the change", "a part of the change"
OF_A_CHANGE = frozenset({CHANGE, PART_OF_CHANGE})

# Parts of a speculative cycle: where its time goes, which a sentence on that part says by itself.
OF_A_CYCLE = frozenset({VERIFY, DRAFT, HOST, CYCLE, ACCEPTANCE})
