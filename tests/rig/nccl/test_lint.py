"""NCCL's variables by table: what is written, which version reads it, what must be said of it."""

from __future__ import annotations

import random
import string

import pytest

from tokgate.records.nccl import NcclLint
from tokgate.rig.nccl.known import variables
from tokgate.rig.nccl.lint import lint_variables
from tokgate.rig.nccl.versions import JUDGED, REFERENCE, Version

V223, V224, V228, V230, V231 = (2, 23, 4), (2, 24, 3), (2, 28, 9), (2, 30, 7), (2, 31, 0)


def table(settings: str) -> dict[str, str]:
    """Read "A=1|B=2": values may hold blanks and semicolons."""
    return dict(word.split("=", 1) for word in settings.split("|"))


# what is written, version (None: unknown), severity, about which variable, words of it, words of the remedy
FOUND: list[tuple[str, Version | None, str, str, str, str]] = [
    # P2P levels: capitals, nothing else, and the old numbers
    ("NCCL_P2P_LEVEL=sys", V228, "warning", "NCCL_P2P_LEVEL", 'ignores "sys" without a word', "write SYS"),
    ("NCCL_P2P_LEVEL=Phb", V230, "warning", "NCCL_P2P_LEVEL", 'ignores "Phb" without a word', "write PHB"),
    ("NCCL_P2P_LEVEL=", V228, "warning", "NCCL_P2P_LEVEL", 'ignores "" without a word', "write one of them"),
    ("NCCL_P2P_LEVEL= SYS", V228, "warning", "NCCL_P2P_LEVEL", 'ignores " SYS" without a word', "write SYS"),
    ("NCCL_P2P_LEVEL='SYS'", V228, "warning", "NCCL_P2P_LEVEL", "holds quotation marks", 'write "SYS"'),
    ("NCCL_P2P_LEVEL=2", V228, "note", "NCCL_P2P_LEVEL", "takes it for PXB", "write PXB"),
    ("NCCL_P2P_LEVEL=3x", V228, "warning", "NCCL_P2P_LEVEL", "takes it for PHB", "write PHB"),
    ("NCCL_P2P_LEVEL=17", V228, "warning", "NCCL_P2P_LEVEL", "takes it for SYS", "write SYS"),
    ("NCCL_P2P_LEVEL=4294967296", V228, "warning", "NCCL_P2P_LEVEL", "takes it for LOC", "write LOC"),
    ("NCCL_P2P_LEVEL=" + "9" * 30, V228, "error", "NCCL_P2P_LEVEL", "in front of its table", "write one of LOC"),
    ("NCCL_P2P_LEVEL=C2C", V223, "warning", "NCCL_P2P_LEVEL", 'ignores "C2C"', ""),
    ("NCCL_P2P_LEVEL=C2C", V228, "note", "NCCL_P2P_LEVEL", "inner names", "LOC, NVL"),
    ("NCCL_NET_GDR_LEVEL=pix", V228, "warning", "NCCL_NET_GDR_LEVEL", "in capitals", "write PIX"),
    # algorithms and protocols: an unknown word ends the start from 2.24 on
    ("NCCL_ALGO=Rings", V224, "error", "NCCL_ALGO", 'will not initialise: "Rings"', "write Ring"),
    ("NCCL_ALGO=Rings", V223, "warning", "NCCL_ALGO", 'drops "Rings" without a word', "write only"),
    ("NCCL_ALGO=Rings", None, "error", "NCCL_ALGO", 'will not initialise: "Rings"', "write Ring"),
    ("NCCL_ALGO=Ring, Tree", V228, "error", "NCCL_ALGO", '" Tree" in "Ring, Tree"', "write Tree"),
    ('NCCL_ALGO="Ring"', V228, "error", "NCCL_ALGO", "will not initialise", "write Ring"),
    ("NCCL_PROTO=LL64", V228, "error", "NCCL_PROTO", "none of LL, LL128, Simple", "write LL"),
    ("NCCL_ALGO=ring;tree", V228, "error", "NCCL_ALGO", "every entry but the first needs a function", ""),
    ("NCCL_ALGO=allreduces:ring", V228, "error", "NCCL_ALGO", "names no collective", ""),
    ("NCCL_ALGO=:", V228, "error", "NCCL_ALGO", "process crashes", ""),
    ("NCCL_ALGO=allreduce:tree:ring", V228, "warning", "NCCL_ALGO", 'drops "ring"', ""),
    ("NCCL_ALGO=PAT,ring", (2, 22, 3), "warning", "NCCL_ALGO", 'drops "PAT"', ""),
    # what is left for the collectives a server calls
    ("NCCL_ALGO=Tree", V228, "error", "NCCL_ALGO", "left for Broadcast, Reduce, AllGather, ReduceScatter", "ring;allreduce:tree"),
    ("NCCL_ALGO=Tree", V223, "warning", "NCCL_ALGO", "NCCL takes Ring for it without a word", "name Ring as well"),
    ("NCCL_ALGO=", V223, "warning", "NCCL_ALGO", "nothing is left for Broadcast, Reduce", ""),
    ("NCCL_ALGO=NVLS", V228, "warning", "NCCL_ALGO", "AllGather, ReduceScatter, AllReduce: left with NVLS alone", "ring,nvls"),
    ("NCCL_ALGO=NVLS|NCCL_PROTO=LL", V228, "error", "NCCL_ALGO", "left for Broadcast, Reduce, AllGather", ""),
    ("NCCL_ALGO=broadcast:tree", V228, "warning", "NCCL_ALGO", "left for Broadcast: the first call", ""),
    ("NCCL_ALGO=allreduce:tree|NCCL_PROTO=Simple", V231, "error", "NCCL_ALGO", "left for Broadcast, Reduce, AllGather", "name every function"),
    ("NCCL_ALGO=allreduce:tree|NCCL_PROTO=Simple", None, "warning", "NCCL_ALGO", "in NCCL 2.31 and later: no algorithm", ""),
    # LL128 where NCCL would not choose it
    ("NCCL_PROTO=LL128", V228, "warning", "NCCL_PROTO", "asks for LL128: NCCL uses it then also where", "without LL128"),
    ("NCCL_PROTO=^LL", V228, "warning", "NCCL_PROTO", "the ^ leaves LL128 over", ""),
    ("NCCL_PROTO=^", V228, "warning", "NCCL_PROTO", "the ^ leaves LL128 over", ""),
    # numbers: digits, then nothing
    ("NCCL_BUFFSIZE=4M", V228, "warning", "NCCL_BUFFSIZE", 'reads "4M" as 4: "M" is dropped', "write 4194304"),
    ("NCCL_BUFFSIZE=16 MiB", V228, "warning", "NCCL_BUFFSIZE", 'reads "16 MiB" as 16', "write 16777216"),
    ("NCCL_BUFFSIZE=4M", V228, "warning", "NCCL_BUFFSIZE", "buffers of 4 bytes", "without a suffix"),
    ("NCCL_BUFFSIZE=four", V228, "error", "NCCL_BUFFSIZE", "buffers of 0 bytes", "the default is 4194304"),
    ("NCCL_BUFFSIZE=-8388608", V228, "error", "NCCL_BUFFSIZE", "buffers of -8388608 bytes", ""),
    ("NCCL_BUFFSIZE=8589934592", V228, "warning", "NCCL_BUFFSIZE", "8589934592 is cut to 0", "below 2147483648"),
    ("NCCL_BUFFSIZE=" + "9" * 20, V228, "warning", "NCCL_BUFFSIZE", "beyond 64 bits", ""),
    ("NCCL_BUFFSIZE=1000000", V228, "note", "NCCL_BUFFSIZE", "no power of 2", "write 524288 or 1048576"),
    ("NCCL_BUFFSIZE=4194304", V228, "note", "NCCL_BUFFSIZE", "NCCL's own default", "take it out"),
    ("NCCL_BUFFSIZE=8388608|NCCL_PROTO=LL", V228, "note", "NCCL_BUFFSIZE", "buffer of protocol Simple", "NCCL_PROTO"),
    ("NCCL_MAX_CTAS=010", V228, "warning", "NCCL_MAX_CTAS", 'reads "010" as 8', "write 10, or 8"),
    ("NCCL_MAX_CTAS=0x10", V228, "note", "NCCL_MAX_CTAS", 'reads "0x10" as 16', ""),
    ("NCCL_MAX_CTAS= 16", V228, "note", "NCCL_MAX_CTAS", "which NCCL skips", 'write "16"'),
    ('NCCL_MAX_CTAS="16"', V228, "warning", "NCCL_MAX_CTAS", "quotation marks", 'write "16"'),
    ("NCCL_MAX_CTAS=", V228, "note", "NCCL_MAX_CTAS", "the same as not set", ""),
    ("NCCL_IB_DISABLE=true", V228, "warning", "NCCL_IB_DISABLE", 'reads "true" as 0: it is no number', ""),
    ("NCCL_CROSS_NIC=3", V228, "warning", "NCCL_CROSS_NIC", "outside of 0 to 2", ""),
    ("NCCL_CROSS_NIC=-1", V228, "warning", "NCCL_CROSS_NIC", "outside of 0 to 2", ""),
    ("NCCL_CROSS_NIC=2", V228, "note", "NCCL_CROSS_NIC", "NCCL's own default", ""),
    ("NCCL_P2P_NET_CHUNKSIZE=-5", V228, "warning", "NCCL_P2P_NET_CHUNKSIZE", "negative", ""),
    ("NCCL_NTHREADS=-2", V228, "note", "NCCL_NTHREADS", "stands for not set", ""),
    # threads
    ("NCCL_NTHREADS=500", V228, "warning", "NCCL_NTHREADS", "takes the maximum, 512 in place of 500: it is no multiple of 32", ""),
    ("NCCL_NTHREADS=1024", V228, "warning", "NCCL_NTHREADS", "the maximum, 512 in place of 1024: it is above", ""),
    ("NCCL_NTHREADS=32", V228, "warning", "NCCL_NTHREADS", "the minimum, 64 in place of 32", ""),
    ("NCCL_NTHREADS=0", V228, "warning", "NCCL_NTHREADS", "its default in place of 0", ""),
    ("NCCL_NTHREADS=480", V228, "warning", "NCCL_NTHREADS", "only 64, 128, 256 and 512 are documented", ""),
    ("NCCL_NTHREADS=256|NCCL_PROTO=LL128", V228, "warning", "NCCL_NTHREADS", "counts for LL and Simple only", ""),
    ("NCCL_NTHREADS=512|NCCL_PROTO=LL", V228, "note", "NCCL_NTHREADS", "what protocol LL has anyway", ""),
    ("NCCL_LL128_NTHREADS=128", V228, "warning", "NCCL_LL128_NTHREADS", "the minimum, 160", ""),
    # channels
    ("NCCL_MAX_NCHANNELS=16", V228, "note", "NCCL_MAX_NCHANNELS", "an old name of NCCL_MAX_CTAS", "write NCCL_MAX_CTAS"),
    ("NCCL_MAX_NRINGS=4", V228, "note", "NCCL_MAX_NRINGS", "an old name", "write NCCL_MAX_CTAS"),
    ("NCCL_MAX_NCHANNELS=128", V228, "warning", "NCCL_MAX_NCHANNELS", "cuts 128 to 64", ""),
    ("NCCL_MAX_NCHANNELS=48", V223, "warning", "NCCL_MAX_NCHANNELS", "cuts 48 to 32", ""),
    ("NCCL_MAX_NCHANNELS=0", V228, "warning", "NCCL_MAX_NCHANNELS", "takes 1 in place of 0", ""),
    ("NCCL_MAX_CTAS=0", V228, "warning", "NCCL_MAX_CTAS", "passes over 0", ""),
    ("NCCL_MAX_CTAS=64", V228, "note", "NCCL_MAX_CTAS", "it limits nothing", ""),
    ("NCCL_MAX_NCHANNELS=16|NCCL_MAX_CTAS=8", V228, "warning", "NCCL_MAX_NCHANNELS", "8 counts, the lower", "keep NCCL_MAX_CTAS alone"),
    ("NCCL_MIN_NCHANNELS=4|NCCL_MIN_CTAS=8", V228, "warning", "NCCL_MIN_NCHANNELS", "8 counts, the higher", ""),
    ("NCCL_MIN_NCHANNELS=16|NCCL_MAX_NCHANNELS=8", V228, "warning", "NCCL_MIN_NCHANNELS", "the minimum wins, 16 channels", ""),
    ("NCCL_MIN_CTAS=16|NCCL_MAX_CTAS=8", V228, "warning", "NCCL_MIN_CTAS", "both become 8", ""),
    # ways between GPUs
    ("NCCL_P2P_DISABLE=1|NCCL_P2P_LEVEL=SYS", V228, "warning", "NCCL_P2P_LEVEL", "the level is never read", "keep one"),
    ("NCCL_P2P_DISABLE=true", V228, "warning", "NCCL_P2P_DISABLE", 'reads "true" as 0', ""),
    ("NCCL_P2P_DISABLE=2", V228, "warning", "NCCL_P2P_DISABLE", "only 1 disables: 2 leaves P2P on", ""),
    ("NCCL_P2P_LEVEL=LOC|NCCL_SHM_DISABLE=1", V228, "warning", "NCCL_SHM_DISABLE", "talk through the network", ""),
    ("NCCL_IB_HCA=mlx5_0", V228, "note", "NCCL_IB_HCA", "the network between machines", ""),
    ("NCCL_NVLS_ENABLE=1", V228, "note", "NCCL_NVLS_ENABLE", "forces NVLink multicast", "--enable-nccl-nvls"),
    ("NCCL_ALGO=ring,nvls|NCCL_NVLS_ENABLE=0", V228, "warning", "NCCL_ALGO", "names NVLS, which NCCL_NVLS_ENABLE=0", ""),
    # who else answers
    ("NCCL_CONF_FILE=/x", V228, "warning", "NCCL_CONF_FILE", "the rig does not say what they are", "server.nccl"),
    ("NCCL_ENV_PLUGIN=site", V228, "warning", "NCCL_ENV_PLUGIN", 'the plugin "site" answers for every variable', "write none"),
    ("NCCL_ENV_PLUGIN=site", V223, "warning", "NCCL_ENV_PLUGIN", "does not read it before 2.28.7", ""),
    ("NCCL_TUNER_PLUGIN=x", V228, "warning", "NCCL_TUNER_PLUGIN", "chooses algorithm, protocol", "write none"),
    ("NCCL_TUNER_CONFIG_FILE=x", V228, "note", "NCCL_TUNER_CONFIG_FILE", "what the file holds", ""),
    # logging
    ("NCCL_DEBUG=INFO", V228, "note", "NCCL_DEBUG", "while it initialises", "the proof start sets it"),
    ("NCCL_DEBUG=info|NCCL_DEBUG_SUBSYS=INIT,COLL", V228, "warning", "NCCL_DEBUG", "at every call", ""),
    ("NCCL_DEBUG=TRACE", V228, "warning", "NCCL_DEBUG", "at every call", ""),
    ("NCCL_DEBUG=VERBOSE", V228, "warning", "NCCL_DEBUG", "no level", ""),
    ("NCCL_DEBUG_SUBSYS=TUNING", V228, "note", "NCCL_DEBUG_SUBSYS", "nothing is written", ""),
    ("NCCL_DEBUG=INFO|NCCL_DEBUG_SUBSYS=INIT, ENV", V228, "warning", "NCCL_DEBUG_SUBSYS", 'drops " ENV"', ""),
    ("NCCL_DEBUG_FILE=/tmp/n", V228, "warning", "NCCL_DEBUG_FILE", "without %p every rank begins", "take it out"),
    ("NCCL_DEBUG_FILE=/tmp/n.%p", V228, "warning", "NCCL_DEBUG_FILE", "away from the server's log", ""),
    # names
    ("NCCL_ALG=Ring", V228, "warning", "NCCL_ALG", "reads no variable of this name", "nearest known name: NCCL_ALGO"),
    ("NCCL_MAXNCHANNELS=8", V228, "warning", "NCCL_MAXNCHANNELS", "no variable", "NCCL_MAX_NCHANNELS"),
    ("NCCL_algo=Ring", V228, "warning", "NCCL_algo", "capitals count", "write NCCL_ALGO"),
    ("NCLL_ALGO=Ring", V228, "warning", "NCLL_ALGO", "no variable of this name", "NCCL_ALGO"),
    ("NCCL_ZZZZ=1", V228, "warning", "NCCL_ZZZZ", "no variable", "take it out"),
    ("NCCL_ZZZZ=1", (2, 40, 0), "note", "NCCL_ZZZZ", "as far as version 2.31.0 goes", ""),
    ("NCCL_TREE_THRESHOLD=0", V228, "warning", "NCCL_TREE_THRESHOLD", "does not read it any more", "see NCCL_ALGO"),
    ("NCCL_WORK_FIFO_DEPTH=1", V228, "warning", "NCCL_WORK_FIFO_DEPTH", "2.21.5 was the last to read it", ""),
    ("NCCL_SYM_KERNEL=x", V223, "warning", "NCCL_SYM_KERNEL", "does not read it before 2.27.3", ""),
    ("NCCL_BLOCKING_WAIT=1", V228, "note", "NCCL_BLOCKING_WAIT", "read by old PyTorch", ""),
    ("NCCL_INSPECTOR_ENABLE=1", V228, "note", "NCCL_INSPECTOR_ENABLE", "read by NCCL's inspector", ""),
]  # fmt: skip

# Right as written: nothing but notes, whichever version reads it.
RIGHT = [
    "NCCL_ALGO=Ring|NCCL_PROTO=LL|NCCL_P2P_LEVEL=SYS|NCCL_MAX_CTAS=16",
    "NCCL_ALGO=ring|NCCL_PROTO=simple",
    "NCCL_ALGO=ring,tree|NCCL_PROTO=^LL128",
    "NCCL_BUFFSIZE=16777216|NCCL_NTHREADS=256",
    "NCCL_P2P_LEVEL=NVL|NCCL_SHM_DISABLE=0",
    "NCCL_MIN_NCHANNELS=4|NCCL_MAX_NCHANNELS=16",
    "NCCL_DEBUG=WARN",
    "NCCL_ENV_PLUGIN=none|NCCL_TUNER_PLUGIN=none",
]


def spelled(finding: NcclLint) -> str:
    return f"{finding.severity} {finding.variable}: {finding.what} | {finding.do}"


@pytest.mark.parametrize(
    "case", FOUND, ids=[f"{settings}-{version}-{what[:20]}" for settings, version, _, _, what, _ in FOUND]
)
def test_found(case: tuple[str, Version | None, str, str, str, str]) -> None:
    settings, version, severity, variable, what, do = case
    findings = lint_variables(table(settings), version)
    fitting = [f for f in findings if f.variable == variable and what in f.what]
    assert fitting, [spelled(f) for f in findings]
    assert {f.severity for f in fitting} == {severity}
    assert any(do in f.do for f in fitting), [f.do for f in fitting]
    assert all(f.value == table(settings)[variable] for f in fitting)
    assert all(f.source for f in fitting)


@pytest.mark.parametrize("settings", RIGHT)
@pytest.mark.parametrize("version", [V228, V230, V231, None])
def test_right_as_written(settings: str, version: Version | None) -> None:
    findings = lint_variables(table(settings), version)
    assert [spelled(f) for f in findings if f.severity != "note"] == []


def test_the_syntax_of_one_function_is_right_in_every_version_that_knows_it() -> None:
    """What SGLang's deterministic mode writes, alone: 2.31 counts it for all-reduce only."""
    for version in (V224, V228, V230, V231):
        assert lint_variables({"NCCL_ALGO": "allreduce:tree"}, version) == ()


def test_the_mixed_form_holds_in_all_of_them() -> None:
    settings = {"NCCL_ALGO": "ring;allreduce:tree", "NCCL_PROTO": "Simple"}
    for version in (V224, V228, V230, V231):
        assert [f for f in lint_variables(settings, version) if f.severity != "note"] == []


def test_an_older_version_is_only_a_note_where_none_is_known() -> None:
    (finding,) = [f for f in lint_variables({"NCCL_MAX_CTAS": "48"}, None) if "cuts" in f.what]
    assert finding.severity == "note"
    assert finding.what == "in NCCL before 2.25: NCCL cuts 48 to 32, the most it has"


def test_worst_first() -> None:
    settings = {"NCCL_MAX_NCHANNELS": "16", "NCCL_P2P_LEVEL": "sys", "NCCL_ALGO": "Rings"}
    severities = [f.severity for f in lint_variables(settings, V228)]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert severities[0] == "error"


def test_nothing_written_nothing_found() -> None:
    assert lint_variables({}, V228) == ()
    assert lint_variables({}, None) == ()


def test_network_settings_count_where_there_are_two_machines() -> None:
    assert lint_variables({"NCCL_IB_HCA": "mlx5_0"}, V228, nodes=2) == ()


def test_the_reference_is_among_the_versions_judged() -> None:
    assert REFERENCE in JUDGED
    assert list(JUDGED) == sorted(JUDGED)


@pytest.mark.parametrize("seed", range(8))
def test_no_value_makes_it_raise(seed: int) -> None:
    rng = random.Random(seed)
    names = [
        *variables(),
        "NCCL_",
        "NCCL",
        "nccl_x",
        "",
        "NCCL_\x00",
        "NCCL_" + "A" * 500,
        "\u00dc",
        "NCCL-ALGO",
    ]
    words = [
        "LL",
        "ring",
        "^",
        ":",
        ";",
        ",",
        " ",
        "4M",
        "0x",
        "-",
        "\x00",
        "\x1b[2J",
        "\N{MATHEMATICAL DOUBLE-STRUCK DIGIT FOUR}",
        "٣",
        "²",
        "9" * 400,
    ]
    alphabet = string.printable + "é\ud800\u2028"
    for _ in range(60):
        settings = {
            rng.choice(names): "".join(
                rng.choice(words) if rng.random() < 0.5 else rng.choice(alphabet)
                for _ in range(rng.randrange(12))
            )
            for _ in range(rng.randrange(1, 8))
        }
        version = rng.choice([None, *JUDGED, (0, 0, 0), (999, 0, 0)])
        for finding in lint_variables(settings, version):
            assert finding.variable in settings
            assert finding.what
            assert finding.do
