"""Server arguments and environment: each setting in one place only, and none that the gate must own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tokgate.rig.models import Rig
from tokgate.rig.problems import Problem
from tokgate.rig.spelling import KeyPath, spell
from tokgate.rig.values import ArgValue

_ARGUMENT = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# Server argument -> where a rig says it instead.
_ELSEWHERE = {
    "model": "server.model_path",
    "model_path": "server.model_path",
    "speculative_algorithm": "the arm's kind",
    "speculative_draft_model_path": "the arm's draft_model_path",
    "speculative_draft_model": "the arm's draft_model_path",
    "speculative_num_steps": "the arm's num_steps",
    "speculative_eagle_topk": "the arm's topk",
    "speculative_num_draft_tokens": "the arm's num_draft_tokens",
}
_SECRET_ARGUMENTS = ("api_key", "admin_api_key")
_OWN_VARIABLES = {
    "SPT_NOENV": "not to be set here: the gate always sets it",
    "TOKGATE_MARK": "not to be set here: the gate marks its processes with it",
    "SGLANG_SIMULATE_ACC_LEN": "the arm's acceptance instead",
    "SGLANG_SIMULATE_ACC_TOKEN_MODE": "the arm's acceptance instead",
}


def broken_settings(rig: Rig) -> Iterator[Problem]:
    server = rig.server
    yield from _arguments(("server", "args"), server.args)
    for name in server.args:
        if name.startswith("speculative_") and name not in _ELSEWHERE:
            yield Problem(
                ("server", "args", name),
                "a speculative argument for all arms",
                "it in the args of the arms that use it",
            )
    port = server.args.get("port")
    if server.port == "as-written" and (not isinstance(port, int) or isinstance(port, bool)):
        yield Problem(
            ("server", "port"),
            f'"as-written" with server.args.port = {spell(port)}',
            "a port number there",
        )
    for name in rig.host.environment:
        yield from _variable_name(("host", "environment", name), name)
    for i, folder in enumerate(rig.host.path):
        if not folder.startswith("/") or ":" in folder:
            yield Problem(("host", "path", i), spell(folder), "one absolute folder each, without a colon")
    yield from _variables(("server", "environment"), server.environment)
    yield from _variables(("server", "nccl"), server.nccl)
    for name in sorted(server.environment.keys() & server.nccl.keys()):
        yield Problem(
            ("server", "environment", name),
            f"{spell(server.environment[name])}, and {spell(server.nccl[name])} in server.nccl",
            "it in one of the two only",
        )
    for i, name in enumerate(server.pass_environment):
        yield from _variable_name(("server", "pass_environment", i), name)

    for i, arm in enumerate(rig.arms):
        yield from _arguments(("arms", i, "args"), arm.args)
        yield from _variables(("arms", i, "environment"), arm.environment)
        for name in sorted(arm.args.keys() & {"host", "port"}):
            yield Problem(
                ("arms", i, "args", name),
                spell(arm.args[name]),
                f"it in server.args.{name}: one address for all arms",
            )
        for name in arm.args:
            if arm.kind == "baseline" and name.startswith("speculative_") and name not in _ELSEWHERE:
                yield Problem(
                    ("arms", i, "args", name),
                    "a speculative argument",
                    "none in the baseline arm: it runs without speculation",
                )


def _arguments(here: KeyPath, args: Mapping[str, ArgValue]) -> Iterator[Problem]:
    for name, value in args.items():
        path = (*here, name)
        if not _ARGUMENT.fullmatch(name):
            wanted = name.strip("-").replace("-", "_")
            yield Problem(
                path, f"the name {spell(name)}", f"the flag's name with underscores, such as {spell(wanted)}"
            )
        plain = name.strip("-").replace("-", "_")
        if plain in _ELSEWHERE:
            yield Problem(path, spell(value), _ELSEWHERE[plain] + " instead: it is said there")
        if plain in _SECRET_ARGUMENTS:
            # The value is not repeated: it is a secret.
            yield Problem(
                path,
                "a key in a file",
                'no secret in a rig; api_key = "random" makes a fresh key for every start',
            )
        if value == ():
            yield Problem(path, "[]", "at least one value, or false to leave the flag out")


def _variables(here: KeyPath, variables: Mapping[str, str]) -> Iterator[Problem]:
    for name, value in variables.items():
        yield from _variable_name((*here, name), name)
        if name in _OWN_VARIABLES:
            yield Problem((*here, name), spell(value), _OWN_VARIABLES[name])


def _variable_name(path: KeyPath, name: str) -> Iterator[Problem]:
    if not _VARIABLE.fullmatch(name):
        yield Problem(
            path, f"the name {spell(name)}", "letters, digits and underscores, as a shell takes them"
        )
