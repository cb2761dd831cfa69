"""From what a host has and what was asked for to the choices of a first rig."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokgate.cli.rig_init_asking import Asking, Candidate, read_gpus
from tokgate.cli.rig_init_known import needs_its_rig
from tokgate.errors import UsageError
from tokgate.records.inventory import Inventory, ModelSeen, PythonSeen
from tokgate.report.visible import one_line
from tokgate.rig.first.choices import Chosen, Gpus
from tokgate.rig.first.pairing import Pair, fit, is_draft, pairs
from tokgate.rig.models import Rig

NONE = "none"  # after --draft: no speculation
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


@dataclass(frozen=True)
class Asked:
    """What the command line says; None: nothing."""

    name: str | None
    python: str | None
    model: str | None
    draft: str | None
    gpus: str | None


def choose_gpus(asked: Asked, seen: Inventory | None) -> Chosen[Gpus]:
    """Return the GPUs, none of them where there are none and a CPU's SGLang is."""
    if asked.gpus is not None:
        count, name = read_gpus(asked.gpus)
        return Chosen(Gpus(count, (name,) if name else (), None), "you", "--gpus, nobody has seen them")
    found = seen.gpus if seen is not None else ()
    names = tuple(dict.fromkeys(one_line(g.name, 100) for g in found if g.name))
    memory = [g.total_mib for g in found if g.total_mib]
    gpus = Gpus(
        len(found),
        names,
        min(memory) if len(memory) == len(found) and memory else None,
        seen.topology if seen is not None else "unknown",
        seen.links if seen is not None else (),
    )
    if not found:
        unread = [p.why for p in seen.problems if p.text == "GPUs"] if seen is not None else []
        # One that hangs, or fails, says nothing of how many there are.
        why = f"none told: {one_line(unread[0], 80)}" if unread else "it has no GPU that nvidia-smi shows"
        return Chosen(gpus, "asked host", why)
    driver = f"driver {seen.driver}" if seen is not None and seen.driver else "driver not told"
    return Chosen(gpus, "asked host", driver)


def usable_pythons(seen: Inventory, rigs: Mapping[str, Rig], *, on_cpu: bool) -> tuple[PythonSeen, ...]:
    """Return those with SGLang that can serve here; those of a rig that brings SGLang on its PYTHONPATH among them."""
    by_rig = {rig.server.python for rig in rigs.values() if needs_its_rig(rig)}
    found = [
        p
        for p in seen.pythons
        if nameable(p.path) and (p.sglang is not None or (p.path in by_rig and p.why is None))
    ]
    fitting = [p for p in found if (p.accelerator == "cpu") is on_cpu or p.accelerator is None]
    return tuple(fitting if on_cpu else fitting or found)


def choose_python(
    asking: Asking, asked: Asked, seen: Inventory | None, found: Sequence[PythonSeen], base: Rig | None
) -> Chosen[str]:
    if asked.python is not None:
        return Chosen(asked.python, "you", "--python")
    if base is not None and base.server.python in (p.path for p in found):
        return Chosen(base.server.python, "rig", f"{base.name}, and it is there")
    candidates = [Candidate(p.path, described(p), p.found_by) for p in found]
    looked = len(seen.pythons) if seen is not None else 0
    nothing = (
        f"none of {looked} Pythons on the host finds SGLang" if seen is not None else "the host was not asked"
    )
    return _certain(asking.one_of("Python with SGLang", "--python", candidates, nothing=nothing))


def choose_model(
    asking: Asking, asked: Asked, seen: Inventory | None, gpus: Gpus, base: Rig | None
) -> tuple[Chosen[str], Pair | None]:
    """Return the target's path, and what the host says of it and of its drafts."""
    memory = gpus.memory_mib * gpus.count if gpus.memory_mib is not None else None
    # What nobody could write into a rig is no choice, neither as a target nor as a draft.
    models = [m for m in (seen.models if seen is not None else ()) if nameable(m.path)]
    found = pairs(models, memory_mib=memory)
    if asked.model is not None:
        return Chosen(asked.model, "you", "--model"), _pair_of(asked.model, found)
    if base is not None:
        mine = _pair_of(base.server.model_path, found)
        if mine is not None:
            return Chosen(mine.target.path, "rig", f"{base.name}, and it is there"), mine
    candidates = [Candidate(p.target.path, described_model(p.target, p), p.target.found_by) for p in found]
    nothing = "no model is known to be on the host" if seen is None else "no model was found on the host"
    chosen = _certain(asking.one_of("target model", "--model", candidates, nothing=nothing))
    return chosen, _pair_of(chosen.value, found)


def choose_draft(
    asking: Asking, asked: Asked, seen: Inventory | None, pair: Pair | None, base: Rig | None
) -> Chosen[str] | None:
    """Return the draft's path, None where there is to be no speculation."""
    if asked.draft is not None:
        return None if asked.draft == NONE else Chosen(asked.draft, "you", "--draft")
    fitting = pair.drafts if pair is not None else ()
    if base is not None:
        mine = {arm.draft_model_path for arm in base.arms}
        of_base = [draft for draft, _ in fitting if draft.path in mine]
        if of_base:
            return Chosen(of_base[0].path, "rig", f"{base.name}, and it is there")
    # One that the draft's own configuration settles needs no question.
    best = max((found.degree for _, found in fitting), default=0)
    sure = [one for one in fitting if one[1].degree == best] if best > 2 else list(fitting)
    candidates = [
        Candidate(draft.path, f"{described_model(draft)}; {found.words}", draft.found_by)
        for draft, found in sure
    ]
    return asking.one_of(
        "EAGLE-3 draft", "--draft", candidates, nothing="; ".join(_no_draft(seen, pair)), optional=NONE
    )


def choose_name(asking: Asking, asked: Asked, seen: Inventory | None, testinfra: str) -> Chosen[str]:
    if asked.name is not None:
        return _checked(Chosen(asked.name, "you"))
    host = testinfra.partition("://")[2].rpartition("@")[2].partition(":")[0]
    first = host or (seen.hostname if seen is not None else None) or "mybox"
    plain = re.sub(r"[^a-z0-9._-]+", "-", first.lower()).strip("-._") or "mybox"
    simulated = "-simulated" if seen is not None and seen.simulated else ""
    return _checked(
        asking.text("name of the rig", Chosen(f"{plain}{simulated}", "default", "after the host"))
    )


def nameable(path: str) -> bool:
    """Say whether a rig may hold the path: no control characters, and nothing that loading would replace."""
    return all(c.isprintable() or c in "\n\t" or ord(c) >= 0xA0 for c in path) and not any(
        word in path for word in ("{root}", "{repository}")
    )


def seen_at(path: str, seen: Inventory | None) -> ModelSeen | None:
    return next((m for m in (seen.models if seen is not None else ()) if path in (m.path, m.hub_name)), None)


def described(python: PythonSeen) -> str:
    words = [
        f"Python {python.version}",
        f"SGLang {python.sglang}" if python.sglang else "SGLang by its rig's PYTHONPATH",
    ]
    words += [f"torch {python.torch}"] if python.torch else []
    words += [python.accelerator] if python.accelerator else []
    return ", ".join(words)


def described_model(model: ModelSeen, pair: Pair | None = None) -> str:
    config = model.config
    words = [model.hub_name or ", ".join(config.architectures) or "architecture not told"]
    words += [f"{model.weight_bytes / 1e9:.1f} GB"] if model.weight_bytes else ["no weights"]
    words += [config.quantization] if config.quantization else []
    words += [f"{model.missing_files} files of weights are missing"] if model.missing_files else []
    if pair is not None:
        many = len(pair.drafts)
        words.append(f"{many or 'no'} EAGLE-3 draft{'s fit' if many > 1 else ' fits'}")
    return ", ".join(words)


def _no_draft(seen: Inventory | None, pair: Pair | None) -> Iterator[str]:
    drafts = [m for m in (seen.models if seen is not None else ()) if is_draft(m)]
    if not drafts:
        yield "no EAGLE-3 draft was found on the host" if seen is not None else "the host was not asked"
        return
    if pair is None:
        yield f"{len(drafts)} drafts are there; of which target they are cannot be told without its config.json"
        return
    yield "no draft there is of this target"
    for draft in drafts[:4]:
        yield f"{one_line(draft.path, 100)}: {fit(draft, pair.target).words}"


def _pair_of(path: str, found: Sequence[Pair]) -> Pair | None:
    return next((p for p in found if path in (p.target.path, p.target.hub_name)), None)


def _certain(chosen: Chosen[str] | None) -> Chosen[str]:
    if chosen is None:
        raise AssertionError("only a draft may be left out")
    return chosen


def _checked(name: Chosen[str]) -> Chosen[str]:
    if not _NAME.fullmatch(name.value):
        raise UsageError(
            tried=f"naming the rig {name.value[:80]!r}",
            found="a rig's name is its file's: small letters, digits, . _ and -, a letter or digit first",
            do="choose another one: tokgate rig init mybox",
        )
    return name


def contracted(path: str, root: Path, *, local: bool) -> str:
    """Write a path below the repository with {root}, so that the rig travels with it."""
    top = f"{root.resolve()}/"
    return "{root}/" + path[len(top) :] if local and path.startswith(top) else path
