"""The texts by which a server's end gives its cause away, the surest first.

A rule's pattern is searched in single messages, prefixes taken off. Its headline is a format string over
the pattern's groups. Sources: SGLang 0.4.3 to 0.5.23, torch, NCCL, CPython's argparse and runpy, dash, bash;
where a text was seen in an issue only, its number stands beside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class CrashCause(StrEnum):
    """Same values as StartCause where both know a cause; hang and collective occur later as well."""

    PORT_TAKEN = "port-taken"
    BAD_ARGUMENT = "argument-refused"
    NO_PYTHON = "no-such-python"
    NO_MODULE = "no-such-module"
    NO_MODEL = "no-such-model"
    DOES_NOT_FIT = "does-not-fit"
    KERNEL_MISSING = "kernel-or-arch-missing"
    COLLECTIVE_FAILED = "collective-failed"
    HANG = "hang"
    RANK_DIED = "rank-died"
    CRASHED = "crashed"


@dataclass(frozen=True)
class Rule:
    cause: CrashCause
    pattern: re.Pattern[str]
    headline: str


def _rule(cause: CrashCause, pattern: str, headline: str) -> Rule:
    return Rule(cause, re.compile(pattern, re.IGNORECASE), headline)


# Said in healthy starts as well: optional model classes, the arguments echoed, warm-up of a detail.
HARMLESS = re.compile(
    r"^Ignore import error|\bserver_args=|^Failed to load generation config|^\[Gloo\]|"
    # By the thousand in a log that was long in use.
    r"^(?:Decode|Prefill) batch\b|^INFO: |\bNCCL INFO\b"
)
# The same with a traceback behind it: the warm-up of a server that is up, a request that failed alone.
HARMLESS_BLOCK = re.compile(r"^post-warmup freeze_gc failed|^ERROR: +Exception in ASGI application")

_PORT = CrashCause.PORT_TAKEN
_FIT = CrashCause.DOES_NOT_FIT
_KERNEL = CrashCause.KERNEL_MISSING
_COLLECTIVE = CrashCause.COLLECTIVE_FAILED
_MODEL = CrashCause.NO_MODEL

RULES = (
    # uvicorn; SGLang then warms up against the stranger for 10 s and calls itself ready before it exits.
    _rule(
        _PORT, r"error while attempting to bind on address \('[^']*', (?P<port>\d+)", "port {port} is taken"
    ),
    _rule(
        _PORT,
        r"server socket has failed to listen on any local network address\D{0,40}port: (?P<port>\d+)",
        "port {port}, for torch.distributed, is taken",
    ),
    _rule(_PORT, r"\bport (?P<port>\d+) is already in use(?!, trying)", "port {port} is taken"),
    _rule(_PORT, r"_port at (?P<port>\d+) is not available in", "port {port} is taken"),
    _rule(
        _PORT, r"Address already in use \(addr='tcp://[^']*:(?P<port>\d+)", "port {port}, for zmq, is taken"
    ),
    _rule(
        _PORT,
        r"\[Errno 98\]|\bEADDRINUSE\b|^Port is already in use|Address already in use",
        "a port is taken",
    ),
    _rule(
        CrashCause.BAD_ARGUMENT,
        r"^[\w./ -]{1,200}: error: (?P<why>(?:unrecognized arguments: |argument |the following arguments |"
        r"one of the arguments |ambiguous option: ).+)",
        "the server refuses an argument: {why}",
    ),
    _rule(
        CrashCause.NO_MODULE,
        r"^\S*python[\w.]*: (?:Error while finding module specification for '(?P<a>[^']+)'|No module named (?P<b>\S+))",
        "the interpreter has no module {a}{b}",
    ),
    _rule(
        _MODEL,
        r"Repo id must be in the form .{0,80}: '(?P<path>[^']*)'",
        "there is no model at {path}",
    ),
    _rule(
        _MODEL,
        r"(?P<path>[^ ]{1,300}) is not a local folder and is not a valid model identifier|"
        r"Can't load the (?:configuration|model|tokenizer) (?:of|for) '(?P<other>[^']+)'",
        "there is no model at {path}{other}",
    ),
    _rule(
        _MODEL,
        r"Cannot find the requested files in the disk cache|couldn't connect to 'https://huggingface\.co'|"
        r"\bRepositoryNotFoundError\b|does not appear to have a file named config\.json",
        "the model is not there: neither as a folder nor in the cache",
    ),
    _rule(
        _MODEL,
        r"FileNotFoundError: .{0,80}No such file or directory: '(?P<path>[^']*(?:config\.json|\.safetensors))'",
        "a file of the model is missing: {path}",
    ),
    _rule(
        _FIT,
        r"(?:CUDA|HIP|XPU|NPU) out of memory\.? Tried to allocate (?P<asked>[\d.]+ \w+)"
        r"(?:.{0,20}GPU (?P<gpu>\d+) has a total capacity of (?P<all>[\d.]+ \w+) of which (?P<free>[\d.]+ \w+))?",
        "out of GPU memory: {asked} asked for; GPU {gpu}: {free} free of {all}",
    ),
    _rule(
        _FIT,
        r"Not enough memory\. Please try to increase --mem-fraction-static",
        "the weights leave no room for the KV cache",
    ),
    _rule(
        _FIT,
        r"The memory capacity is unbalanced",
        "the GPUs have unequal free memory: something else holds part of one",
    ),
    _rule(
        _FIT,
        r"DefaultCPUAllocator: (?:can't allocate|not enough) memory.{0,60}?(?P<asked>\d+) bytes",
        "out of host memory: {asked} bytes asked for",
    ),
    _rule(
        _FIT,
        r"\b(?:CUDA|HIP|XPU|NPU)(?:(?: error:)? out of memory| OOM\b)|\bOutOfMemoryError\b|CUDA_ERROR_OUT_OF_MEMORY|"
        r"Cuda failure 2 'out of memory'|Raise --mem-fraction-static",
        "out of GPU memory",
    ),
    _rule(_FIT, r"\bstd::bad_alloc\b|^MemoryError\b|Cannot allocate memory", "out of host memory"),
    _rule(
        _KERNEL,
        r"type (?P<type>\w+) not supported in this architecture",
        "this GPU has no {type}: the kernel cannot be built for it",
    ),
    _rule(
        _KERNEL,
        r"no kernel image is available for execution on the device|"
        r"\bPTX (?:was compiled with an unsupported toolchain|JIT compilation failed)|named symbol not found",
        "no kernel was built for this GPU's architecture",
    ),
    _rule(
        _KERNEL,
        r"Runtime check failed at (?P<file>\S+?):\d+: (?P<why>.{1,200})",
        "a kernel refuses this shape: {why} ({file})",
    ),
    _rule(
        _KERNEL,
        r"(?P<why>(?:Unsupported|requires?|requiring|minimum) (?:CUDA )?(?:compute )?capability.{0,120})",
        "this GPU is too old or too new for a kernel: {why}",
    ),
    _rule(
        _KERNEL,
        r"driver version is insufficient for CUDA runtime version|"
        r"The NVIDIA driver on your system is too old|no CUDA-capable device is detected",
        "driver and CUDA runtime do not go together",
    ),
    _rule(
        _KERNEL,
        r"ImportError: .{0,300}(?P<why>undefined symbol: \S+|cannot open shared object file)|"
        r"Could not run '(?P<op>[\w:.]+)' with arguments from the '(?P<device>\w+)' backend",
        "a compiled part is missing or does not fit: {why}{op} {device}",
    ),
    _rule(
        _COLLECTIVE,
        r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(?P<seq>\d+), OpType=(?P<op>\w+).{0,300}?"
        r"Timeout\(ms\)=(?P<limit>\d+)\d{3}\)",
        "collective timeout after {limit} s: {op}, sequence {seq}",
    ),
    _rule(
        _COLLECTIVE,
        r"\[PG ID (?P<pg>\d+) PG GUID \S+ Rank (?P<rank>\d+)\]\s+failure detected by watchdog at work sequence id: "
        r"(?P<seq>\d+)",
        "a collective failed: rank {rank}, process group {pg}, sequence {seq}",
    ),
    _rule(
        _COLLECTIVE,
        r"(?P<why>NCCL error\b.{0,160}|\bncclInvalidUsage\b.{0,120}|\bncclSystemError\b.{0,120})",
        "NCCL failed: {why}",
    ),
    _rule(
        CrashCause.HANG,
        r"Watchdog timeout \(self\.watchdog_timeout=(?P<limit>\d+)",
        "the server's own watchdog saw no progress for {limit} s",
    ),
    _rule(
        CrashCause.HANG,
        r"couldn't get a response from detokenizer for last (?P<limit>\d+) seconds\."
        r"(?: tic start time: (?P<now>[\d:]+)\. last_heartbeat time: (?P<beat>[\d:]+))?",
        "no answer from the detokenizer for {limit} s, last heartbeat {beat}",
    ),
)
