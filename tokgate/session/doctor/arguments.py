"""The rig's words, as the installed SGLang takes them: names of arguments, every arm's line, variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tokgate.hosts.scripts import source
from tokgate.parsers.overwritten import read_overwritten
from tokgate.records.doctor import Remark
from tokgate.rig.arguments.lint import known_arguments, lint_arguments
from tokgate.rig.models import Rig
from tokgate.server.command_line import MASK, arm_environment, launch_line

from .check import Case, Check, NotLooked
from .readings import fact, lease_holder, server_python
from .software import INSTALL

_PORT = 30000  # of a line that is read and never run
_PARSE_S = 90.0


def arguments(case: Case) -> Iterator[Remark]:
    try:
        version: str | None = fact(case, "sglang.version")
    except NotLooked:
        version = None
    yield from judge_arguments(case.rig, version)


def judge_arguments(rig: Rig, version: str | None) -> Iterator[Remark]:
    """What a list of this very version does not have is refused at the start; of other versions it is a doubt."""
    listed = known_arguments().get(version or "")
    lint = lint_arguments(rig)
    for found in lint:
        name = found.variable.rpartition(".")[2]
        sure = listed is not None and not any(n == name or n.startswith(name) for n in listed)
        said = f"{found.variable}: {found.what}"
        if sure:
            yield Remark.fail(f"{said}; SGLang {version} is installed and refuses it", found.do)
        elif listed is not None:
            continue  # the installed version takes it
        elif found.severity == "warning":
            yield Remark.warn(said, found.do)
        else:
            yield Remark.note(said, found.do)
    if not lint:
        yield Remark.ok("every name is one that all SGLang versions known here take")
    elif listed is not None and all(f.variable.rpartition(".")[2] in listed for f in lint):
        yield Remark.ok(f"every name is one that SGLang {version} takes")


def parsed(case: Case) -> Iterator[Remark]:
    rig = case.rig
    if rig.server.module != "sglang.launch_server":
        yield Remark.note(
            f"{rig.server.module} is no SGLang of its own: its names were compared with lists alone"
        )
        return
    server_python(case)  # NotLooked where server.python does not even start
    holder = lease_holder(case)
    if holder is not None:
        raise NotLooked(f"importing SGLang would disturb the gate at work, {holder.owner}")
    environment = {**rig.server.environment, "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    environment.setdefault("PYTHONPATH", "")
    answer = case.host.run_python(
        source("server_arguments"),
        {"arms": {arm.name: _words(rig, arm.name) for arm in rig.arms}},
        timeout_s=_PARSE_S,
        python=rig.server.python,
        environment=environment,
        isolated=False,
        name="reader of the server's arguments",
    )
    yield from judge_parsed(answer, len(rig.arms))


def _words(rig: Rig, arm: str) -> list[str]:
    key = MASK if rig.server.api_key == "random" else None
    line = launch_line(
        rig, rig.arm(arm), port=_PORT, api_key=key, mark="MARK", log="LOG", pass_environment={}
    ).line
    return list(line.argv[line.argv.index(rig.server.module) + 1 :])


def judge_parsed(answer: Mapping[str, object], arms: int) -> Iterator[Remark]:
    refused = answer["refused"]
    if answer["missing"]:
        yield Remark.fail(f"SGLang cannot be imported: there is no module {answer['missing']}", INSTALL)
    elif answer["broke"]:
        yield Remark.unknown(
            f"SGLang's arguments could not be imported with the GPUs hidden: {answer['broke']}"
        )
    elif isinstance(refused, dict) and refused:
        for why in dict.fromkeys(refused.values()):
            names = ", ".join(n for n, w in refused.items() if w == why)
            yield Remark.fail(
                f"its parser refuses the line of {names}: {why}", "correct the argument in the rig"
            )
    else:
        yield Remark.ok(f"its own parser takes the lines of all {arms} arms")


def variables(case: Case) -> Iterator[Remark]:
    yield from judge_variables(
        case.rig, server_python(case)["unread_variables"], fact(case, "sglang.version")
    )


def judge_variables(rig: Rig, unread: Sequence[str] | None, version: str) -> Iterator[Remark]:
    """`unread`: SGLANG_ variables of the rig that no file of the installed SGLang mentions; None: not searched."""
    for name in unread or ():
        yield Remark.warn(
            f"no file of SGLang {version} mentions {name}: it has no effect",
            "correct its name, or take it out of the rig",
        )
    written = {name for arm in rig.arms for name in arm_environment(rig, arm)}
    replaced = sorted(written & read_overwritten(version, dict(rig.server.args)).variables.keys())
    if replaced:
        yield Remark.note(
            f"SGLang {version} sets these itself at start, whatever the rig says: {', '.join(replaced)}"
        )
    if unread is None:
        yield Remark.unknown("SGLang's files were not all searched in time: a slow disk")
    elif not unread and not replaced:
        yield Remark.ok("every SGLANG_ variable of the rig is one that this SGLang reads")


CHECKS = (
    Check(
        "sglang.arguments",
        "whether it knows the names of all arguments",
        "a start that ends with argument-refused",
        arguments,
        limit_s=60.0,
    ),
    Check(
        "sglang.parser",
        "whether its own parser takes every arm's line, with the GPUs hidden",
        "a start that ends with argument-refused, or whose imports fail",
        parsed,
        limit_s=_PARSE_S + 30.0,
        quick=False,
    ),
    Check(
        "sglang.variables",
        "whether the rig's SGLANG_ variables have an effect",
        "a setting that silently is none",
        variables,
        limit_s=60.0,
    ),
)
