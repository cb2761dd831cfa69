"""The shell line of a server: (i) as the rig says it, (ii) as the gate launches it.

(i) is what a person would paste. (ii) is the same with what the gate adds or takes away, each with its
reason. It is run by `sh -c` under a closed environment: only the variables that the rig passes on from
the host; the variables in front of the line carry everything else.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import NamedTuple

from tokgate.records.server import Addition, CommandLine
from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.values import ArgValue

MASK = "****"  # stands for the API key wherever a line is shown
LOOPBACK = "127.0.0.1"

# A flag with the words after it; the words of the whole line keep the rig's order.
_Flag = tuple[str, tuple[str, ...]]

_NO_ERASURE = (
    "setproctitle would overwrite /proc/PID/environ in SGLang's workers, the proof of what reached them"
)
_MARK = "tells this run's processes from everyone else's; nothing without it is ever signalled"
_BIND = "a server under measurement is nobody else's business; bind = \"as-written\" keeps the rig's"
_PORT = 'a fresh port, so that no earlier server answers by mistake; port = "as-written" keeps the rig\'s'
_METRICS = "cache and batch counters are read before and after each workload"
_API_KEY = (
    'a fresh key for this start, so that nobody else\'s requests are measured; api_key = "none" leaves it out'
)
_NO_NOHUP = "the supervisor holds the server: it ends with the gate, even after a SIGKILL"


class Extra(NamedTuple):
    """A variable that one launch needs beyond what its rig says."""

    name: str
    value: str
    reason: str


class Equipment(NamedTuple):
    """What one launch carries: folders in front of its PYTHONPATH, and variables."""

    python_path: tuple[str, ...] = ()
    variables: tuple[Extra, ...] = ()
    why: str = "the arm's probe is found there"


class LaunchLine(NamedTuple):
    line: CommandLine  # safe to show and to store
    secret: str  # the text for `sh -c`, with the real API key
    environment: dict[str, str]  # the closed environment of that sh


def rig_line(rig: Rig, arm: ArmSpec, log: str = "LOG") -> str:
    """Return the rig's own line (i) for one arm, output going to `log`, in the background."""
    words = ["nohup", *_command(rig), *_words(_flags(rig, arm))]
    return f"{_shell(arm_environment(rig, arm), _quoted(words), log)} &"


def launch_line(
    rig: Rig,
    arm: ArmSpec,
    *,
    port: int | str,
    api_key: str | None,
    mark: str,
    log: str,
    pass_environment: Mapping[str, str],
    extra_python_path: tuple[str, ...] = (),
    extra: tuple[Extra, ...] = (),
    why_path: str = Equipment().why,
) -> LaunchLine:
    """Return the line (ii) for one arm.

    `port` counts where the rig says port = "free"; it may be a placeholder where the line is only shown.
    `api_key` must be given exactly where the rig says api_key = "random". `pass_environment` is the
    host's own environment: of it only what the rig passes on is taken. `extra_python_path` goes in front
    of PYTHONPATH, for the reason `why_path`; `extra` takes the place of what the rig says of the same variables. Raises ValueError
    when key and policy disagree, or when the key would read as a flag.
    """
    if (api_key is not None) != (rig.server.api_key == "random"):
        raise ValueError(f'the rig says api_key = "{rig.server.api_key}"')
    if api_key is not None and (not api_key or api_key.startswith("-")):
        raise ValueError("the server would read this API key as a flag; secrets.token_hex() makes a fit one")
    passed = {k: pass_environment[k] for k in rig.server.pass_environment if k in pass_environment}
    added: list[Addition] = []
    variables = arm_environment(rig, arm)
    _add_variable(variables, "SPT_NOENV", "1", _NO_ERASURE, added)
    _add_variable(variables, "TOKGATE_MARK", mark, _MARK, added)
    for name, value, reason in extra:
        written = variables.get(name)
        replaced = f" (for {shlex.quote(written)})" if written not in (None, value) else ""
        variables[name] = value
        added.append(Addition(what=f"{name}={shlex.quote(value)}{replaced}", reason=reason))
    if extra_python_path:
        before = variables.get("PYTHONPATH", passed.get("PYTHONPATH"))
        python_path = ":".join([*extra_python_path, *([before] if before else [])])
        _add_variable(variables, "PYTHONPATH", python_path, why_path, added)

    flags = _flags(rig, arm)
    if rig.server.bind == "loopback":
        _put(flags, "--host", LOOPBACK, _BIND, added)
    if rig.server.port == "free":
        _put(flags, "--port", str(port), _PORT, added)
    if ("--enable-metrics", ()) not in flags:
        flags.append(("--enable-metrics", ()))
        added.append(Addition(what="--enable-metrics", reason=_METRICS))
    words = [*_command(rig), *_words(flags)]
    hidden: list[str] = []
    if api_key is not None:
        words.append("--api-key")
        hidden.append(MASK)
        added.append(Addition(what=f"--api-key {MASK}", reason=_API_KEY))
    added.append(Addition(what="no nohup, no &", reason=_NO_NOHUP))
    line = CommandLine(
        shown=_shell(variables, [*_quoted(words), *hidden], log),
        argv=(*words, *hidden),
        environment=variables,
        additions=tuple(added),
    )
    secret = _shell(variables, _quoted([*words, *([api_key] if api_key is not None else [])]), log)
    return LaunchLine(line, secret, passed)


def arm_environment(rig: Rig, arm: ArmSpec) -> dict[str, str]:
    """Return the variables in front of the line, in order; an arm's own value replaces the server's."""
    variables = {**rig.server.nccl, **rig.server.environment, **arm.environment}
    if arm.acceptance != "natural":
        variables["SGLANG_SIMULATE_ACC_LEN"] = str(arm.acceptance)
        if arm.topk == 1:
            # Without this the accepted tokens all become id 100 and the next drafts see nonsense; SGLang
            # refuses it for trees (0.5.23: environ.py, speculative/eagle_utils.py).
            variables["SGLANG_SIMULATE_ACC_TOKEN_MODE"] = "real-draft-token"  # noqa: S105 - no password
    return variables


def _command(rig: Rig) -> tuple[str, ...]:
    return (rig.server.python, "-m", rig.server.module, "--model-path", rig.server.model_path)


def _flags(rig: Rig, arm: ArmSpec) -> list[_Flag]:
    """Server arguments, speculation, the arm's arguments; of a flag set twice only the arm's is left."""
    flags = _spelled({k: v for k, v in rig.server.args.items() if k not in arm.args})
    if arm.kind == "eagle3":
        flags += [
            ("--speculative-algorithm", ("EAGLE3",)),
            ("--speculative-draft-model-path", (str(arm.draft_model_path),)),
            ("--speculative-num-steps", (str(arm.num_steps),)),
            ("--speculative-eagle-topk", (str(arm.topk),)),
            ("--speculative-num-draft-tokens", (str(arm.num_draft_tokens),)),
        ]
    return flags + _spelled(arm.args)


def _spelled(args: Mapping[str, ArgValue]) -> list[_Flag]:
    flags: list[_Flag] = []
    for name, value in args.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            flags.append((flag, ()))
        elif isinstance(value, tuple):
            flags.append((flag, tuple(str(v) for v in value)))
        elif value is not False:
            flags.append((flag, (str(value),)))
    return flags


def _words(flags: list[_Flag]) -> tuple[str, ...]:
    return tuple(word for flag, values in flags for word in (flag, *values))


def _put(flags: list[_Flag], flag: str, value: str, reason: str, added: list[Addition]) -> None:
    """Set a flag where it stands, else at the end; an equal value is no addition."""
    for index, (name, values) in enumerate(flags):
        if name == flag:
            if values != (value,):
                flags[index] = (flag, (value,))
                added.append(Addition(what=f"{flag} {value} (for {' '.join(values)})", reason=reason))
            return
    flags.append((flag, (value,)))
    added.append(Addition(what=f"{flag} {value}", reason=reason))


def _add_variable(
    variables: dict[str, str], name: str, value: str, reason: str, added: list[Addition]
) -> None:
    variables[name] = value
    added.append(Addition(what=f"{name}={shlex.quote(value)}", reason=reason))


def _quoted(words: list[str]) -> list[str]:
    return [shlex.quote(word) for word in words]


def _shell(variables: Mapping[str, str], quoted: list[str], log: str) -> str:
    # A shell takes NAME='…' as an assignment only while the name itself is unquoted.
    front = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
    return " ".join([*front, *quoted, ">", shlex.quote(log), "2>&1"])
