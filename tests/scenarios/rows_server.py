"""What is played: the server's life."""

from __future__ import annotations

from .expecting import INVALID, PASS, Keeps, Row, Says
from .selecting import ALONE, AT_END, AT_ONCE, CONTROL, PLAIN, TRUTH, one_stream

THE_SERVERS_LIFE = (
    Row(
        "dies",
        INVALID,
        causes=("server died",),
        select=f"{ALONE} or {AT_END}",
        settings=one_stream(),
        says=(
            Says("cache_state", INVALID, ("dead after the last generation", "signal 9")),
            Says("clean_slate", PASS),
        ),
        keeps=(
            Keeps(f"launches/{CONTROL}/server.log", r"crashed with exit code -9"),
            Keeps(f"launches/{CONTROL}/launch.json", r'"alive": false'),
        ),
    ),
    Row(
        "hangs-healthy",
        INVALID,
        causes=("server hung",),
        select=f"{ALONE} or {AT_END}",
        settings=(*one_stream(limit_s=3), "server.stop_timeout_s=2"),
        says=(
            Says("cache_state", INVALID, ("alive but mute", "power draw .* says hang")),
            Says("clean_slate", PASS),
        ),
        keeps=(Keeps(f"launches/{CONTROL}/launch.json", r'"alive": true,\s*"answered": false'),),
    ),
    Row(
        "slow-answers",
        PASS,
        select=f"{PLAIN} or {AT_END}",
        settings=one_stream(),
        says=(
            Says("decode_throughput", PASS, (r"decode 8[89]\.\d tok/s",)),
            Says("clean_slate", PASS),
        ),
        timed=True,
        slow=True,
    ),
    Row(
        "cut-streams",
        INVALID,
        causes=("generations failed",),
        select=ALONE,
        settings=one_stream(),
        says=(Says("cache_state", INVALID, (r"of \d+ generations failed", "cut")),),
        keeps=(Keeps(f"launches/{CONTROL}/generations.jsonl", '"status":"cut"'),),
    ),
    Row(
        "lying-gauge",
        PASS,
        select=PLAIN,
        settings=one_stream(),
        says=(Says("decode_throughput", PASS, (r"88\.\d tok/s",)),),
        timed=True,
        later="statistics: a warning that gauges and log disagree with what was measured",
        slow=True,
    ),
    Row(
        "lying-throughput",
        INVALID,
        causes=("the server's counters contradict",),
        select=PLAIN,
        settings=one_stream(),
        says=(
            Says(
                "decode_throughput",
                INVALID,
                ("contradict each other", r"decode_throughput 9[678]\.\d+, .*first token\) 8[789]\.\d+"),
            ),
        ),
        slow=True,
    ),
    Row(
        "leaks-child",
        PASS,
        select=f"{TRUTH} or {AT_END}",
        settings=(*one_stream(repeats=1), *AT_ONCE),
        says=(Says("clean_slate", PASS), Says("environment_truth", PASS)),
        # It is found by its mark and by its ancestry, and ended with the rest.
        keeps=(Keeps("launches/*/launch.json", r'"killed": true.*"survivors": \[\]'),),
        slow=True,
    ),
    Row(
        "ignores-term",
        PASS,
        select=f"{TRUTH} or {AT_END}",
        settings=(*one_stream(repeats=1), "server.stop_timeout_s=2"),
        says=(Says("clean_slate", PASS), Says("environment_truth", PASS)),
        keeps=(Keeps("launches/*/launch.json", r'"killed": true'),),
    ),
)
