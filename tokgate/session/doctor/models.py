"""Target and drafts: are they there, do they fit each other, the GPUs, and what they will be asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from tokgate.records.doctor import Remark
from tokgate.records.model import ModelConfig, ModelFolder
from tokgate.rig.fit.draft import draft_fits
from tokgate.rig.models import Rig
from tokgate.rig.sizes import is_on

from .check import Case, Check, NotLooked
from .readings import MODEL, draft_key, folders

_PATH = "correct the path in the rig ({key}), as the host sees it, or put the model there"


def target(case: Case) -> Iterator[Remark]:
    yield from judge_folder(
        folders(case)[MODEL], key="server.model_path", simulated=case.rig.simulated, rig=case.rig, draft=False
    )


def drafts(case: Case) -> Iterator[Remark]:
    """Each draft's folder, and whether it fits the target."""
    found = folders(case)
    config = found[MODEL].config
    arms = [arm for arm in case.rig.arms if arm.draft_model_path]
    if not arms:
        yield Remark.ok("no arm has a draft")
    by_path: dict[str, list[str]] = {}
    for arm in arms:
        by_path.setdefault(str(arm.draft_model_path), []).append(arm.name)
    for names in by_path.values():
        folder = found[draft_key(names[0])]
        key = f"arms.{names[0]}.draft_model_path"
        remarks = list(judge_folder(folder, key=key, simulated=case.rig.simulated, rig=case.rig, draft=True))
        if config is not None:
            against = list(draft_fits(folder, config))
            if against:
                remarks = [r for r in remarks if r.state.value == "fail"]
            remarks += against
        elif folder.here:
            remarks.append(
                Remark.unknown("whether it fits its target is not known: the target has no config.json")
            )
        yield from (r.model_copy(update={"found": f"{', '.join(names)}: {r.found}"}) for r in remarks)


def judge_folder(
    folder: ModelFolder, *, key: str, simulated: bool, rig: Rig, draft: bool
) -> Iterator[Remark]:
    if not folder.here:
        yield from _elsewhere(folder, key, rig)
        return
    config = folder.config
    if config is None:
        yield Remark.fail(
            f"{folder.path} has no config.json that can be read: {folder.why_no_config}",
            _PATH.format(key=key),
        )
        return
    if simulated:
        yield Remark.note(
            f"{', '.join(config.architectures)}: a simulated model, a config.json without weights"
        )
        return
    dummy = rig.server.args.get("load_format") == "dummy"
    wrong = list(_files(folder, key, dummy=dummy, draft=draft))
    if config.own_code and rig.server.args.get("trust_remote_code") is not True:
        wrong.append(
            Remark.fail(
                f"{folder.path} brings Python files of its own (auto_map), and trust_remote_code is not set",
                "server.args.trust_remote_code = true, if you trust that model",
            )
        )
    yield from wrong
    if dummy:
        yield Remark.warn(
            "load_format is dummy: weights are random, and acceptance says nothing",
            'server.args.load_format = "auto"',
        )
    elif not wrong:
        yield Remark.ok(f"{folder.path}: {_words(folder, config)}")


def _elsewhere(folder: ModelFolder, key: str, rig: Rig) -> Iterator[Remark]:
    path = PurePosixPath(folder.path)
    hub = not path.is_absolute() and len(path.parts) == 2 and not folder.path.startswith((".", "~"))
    if not hub:
        yield Remark.fail(
            f"{folder.path}: {(folder.why or 'it is not there').lower()}", _PATH.format(key=key)
        )
    elif any(
        rig.server.environment.get(n) in ("1", "true", "True")
        for n in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    ):
        yield Remark.warn(
            f"{folder.path} is a name on a hub, and the rig keeps the server offline: it must lie in the cache",
            "name the folder instead: then config and weights belong to the baseline's identity too",
        )
    else:
        yield Remark.warn(
            f"{folder.path} is a name on a hub: the first start downloads it, and what it is may change",
            'download it, name the folder, and set HF_HUB_OFFLINE = "1" in server.environment',
        )


def _files(folder: ModelFolder, key: str, *, dummy: bool, draft: bool) -> Iterator[Remark]:
    if folder.missing_files:
        yield Remark.fail(
            f"{folder.path} lacks files of its weights: {', '.join(folder.missing_files)}",
            "copy the model again, whole",
        )
    elif folder.weight_bytes is None and not dummy:
        yield Remark.fail(f"{folder.path} has a config.json and no weights", _PATH.format(key=key))
    if not folder.tokenizer_files and not draft:
        yield Remark.fail(
            f"{folder.path} has no tokenizer",
            "copy the model again, whole, or set server.args.tokenizer_path",
        )


def _words(folder: ModelFolder, config: ModelConfig) -> str:
    size = (folder.weight_bytes or 0) / 2**30
    kind = config.quantization or config.dtype or "dtype not told"
    amount = f"{size:.1f} GiB" if size >= 0.1 else f"{size * 1024:.1f} MiB"
    layers = "" if config.layers is None else f", {config.layers} layer{'s' if config.layers > 1 else ''}"
    return f"{', '.join(config.architectures) or 'architecture not told'}, {kind}, {amount} in {folder.weight_files} files{layers}"


def offline(case: Case) -> Iterator[Remark]:
    environment = case.rig.server.environment
    found = folders(case)
    if not all(f.here for f in found.values()):
        raise NotLooked("a model is not in a folder of the host; models.target and models.drafts say which")
    if environment.get("HF_HUB_OFFLINE") or case.rig.simulated:
        yield Remark.ok("the server asks no hub")
    elif is_on(case.rig, case.rig.control, "skip_tokenizer_init"):
        yield Remark.ok("no tokenizer is loaded")
    else:
        yield Remark.note(
            "HF_HUB_OFFLINE is not set: a start may ask the hub for files that the folders lack, and wait for it without a network",
            'HF_HUB_OFFLINE = "1" in server.environment',
        )


CHECKS = (
    Check(
        "models.target", "whether the target is there, whole and with its tokenizer", "no-such-model", target
    ),
    Check(
        "models.drafts",
        "whether each draft is there and was made for this target",
        "a start that ends in a shape error, or drafts that are never accepted",
        drafts,
    ),
    Check("models.offline", "whether a start needs a network", "a start that hangs in a download", offline),
)
