"""The patches that the rig's SGLang has to have: in it already, or to be applied to a copy by each session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokgate.hosts.required_seen import RequiredSeen, installed_package, required_seen
from tokgate.records.doctor import Remark

from .check import Case, Check, NotLooked, with_required_patches


def required(case: Case) -> Iterator[Remark]:
    host, rig = case.host, case.rig
    package = installed_package(host, rig)
    if package is None and case.repository is None:
        raise NotLooked("server.python finds no sglang; sglang.installed says why")
    if package is not None:
        yield from judge_required(
            required_seen(host, rig, package=package, repository=None), f"the SGLang in {package}"
        )
    if case.repository is not None:
        seen = required_seen(host, rig, package=None, repository=case.repository)
        yield from judge_required(seen, f"HEAD of {case.repository}")


def judge_required(seen: Sequence[RequiredSeen], where: str) -> Iterator[Remark]:
    """`seen`: in the order in which they are applied, each on top of those before it."""
    for one in seen:
        if one.state == "not":
            yield Remark.fail(
                f"{where}: {one.found}", f"{one.do}; server.required_patches of the rig names it"
            )
    named = [one.name for one in seen if one.state == "in"]
    wanted = [one.name for one in seen if one.state == "applies"]
    if named:
        yield Remark.ok(f"{where} has {', '.join(named)} already")
    if wanted:
        yield Remark.ok(
            f"{', '.join(wanted)} can be applied to {where}: each session starts its servers from a copy"
        )


CHECKS = (
    Check(
        "sglang.patches",
        "whether the patches that the rig requires are in it, or can be applied to it, and to HEAD of `--sglang-repo`",
        "exit 11 before anything starts: a required patch that does not apply",
        required,
        limit_s=90.0,
        applies=with_required_patches,
    ),
)
