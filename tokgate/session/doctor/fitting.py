"""Whether the models fit what the rig wants of them: its ranks, GPUs, limits and requests. Estimates show their sum."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records import GpuSeen
from tokgate.records.doctor import Remark
from tokgate.records.model import ModelConfig
from tokgate.rig.fit.chips import chip_runs
from tokgate.rig.fit.heads import heads_divide
from tokgate.rig.fit.memory import Asked, memory_fits
from tokgate.rig.fit.requests import asked_at_once, requests_fit
from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.sizes import argument, gpus_needed, machines
from tokgate.rig.workload import TextPrompts

from .check import Case, Check, NotLooked, with_gpus
from .readings import MODEL, draft_key, folders, gpus, health

_BYTES = {"float32": 4, "float": 4, "fp8_e4m3": 1, "fp8_e5m2": 1, "mxfp8": 1}
_HALF = 2  # float16 and bfloat16, and what `auto` means for either
# Where no tokenizer can be asked, a token of text has at least one byte, and in English and code some four of them.
_BYTES_A_TOKEN = 3
_DISK = 2e9  # bytes a second: what one NVMe disk of a server reads, by its data sheet 3 to 7, and through a file system less


def heads(case: Case) -> Iterator[Remark]:
    config = _config(case)
    sizes: dict[int, list[str]] = {}
    for arm in case.rig.arms:
        value = argument(case.rig, arm, "tp_size")
        sizes.setdefault(int(str(value)) if str(value or "").isdigit() else 1, []).append(arm.name)
    if config.heads is None:
        yield _not_told(case.rig, "num_attention_heads")
        return
    for tp in sizes:
        remarks = list(heads_divide(config, tp))
        yield from remarks or [
            Remark.ok(f"{config.heads} heads, {config.kv_heads} KV heads: tp_size = {tp} divides them")
        ]


def memory(case: Case) -> Iterator[Remark]:
    found, config = folders(case), _config(case)
    weights = found[MODEL].weight_bytes
    if weights is None:
        yield _not_told(case.rig, "weights")
        return
    if case.rig.simulated:
        yield _not_told(case.rig, "weights")
        return
    smallest = _smallest(gpus(case)[0])
    told: dict[str, list[str]] = {}
    by_words: dict[str, Remark] = {}
    for arm in case.rig.arms:
        draft = found.get(draft_key(arm.name))
        asked = asked_of(
            case.rig, arm, config, weights + ((draft.weight_bytes or 0) if draft else 0), smallest
        )
        for remark in memory_fits(config, asked):
            told.setdefault(remark.found, []).append(arm.name)
            by_words[remark.found] = remark
    for words, names in told.items():
        yield by_words[words].model_copy(update={"found": f"{', '.join(names)}: {words}"})


def asked_of(rig: Rig, arm: ArmSpec, config: ModelConfig, weight_bytes: int, gpu_bytes: float) -> Asked:
    tp = argument(rig, arm, "tp_size")
    fraction = argument(rig, arm, "mem_fraction_static")
    kind = argument(rig, arm, "kv_cache_dtype")
    width = _BYTES.get(str(kind if kind not in (None, "auto") else config.dtype), _HALF)
    lengths = {
        name: max(_lengths(p), default=0) // _BYTES_A_TOKEN
        for name, p in rig.prompt_sets.items()
        if isinstance(p, TextPrompts)
    }
    return Asked(
        gpu_bytes=gpu_bytes,
        weight_bytes=weight_bytes,
        ranks=(gpus_needed(rig, arm) or 1) * machines(rig, arm),  # the weights lie on those of all machines
        tp=tp if isinstance(tp, int) else 1,
        fraction=float(fraction)
        if isinstance(fraction, int | float) and not isinstance(fraction, bool)
        else None,
        kv_bytes=width,
        tokens=asked_at_once(rig, arm, lengths),
    )


def _lengths(prompts: TextPrompts) -> Iterator[int]:
    """Yield the bytes of each prompt; the loader has read the file already."""
    try:
        with open(prompts.file, "rb") as file:  # noqa: PTH123 - a text of the rig
            yield from (len(line) for line in file)
    except OSError:
        return


def _smallest(seen: tuple[GpuSeen, ...]) -> float:
    sizes = [g.total_mib - (g.reserved_mib or 0) for g in seen if g.total_mib is not None]
    if not sizes:
        raise NotLooked("no GPU tells how much memory it has")
    return min(sizes) * 2**20


def chips(case: Case) -> Iterator[Remark]:
    config = _config(case)
    told = [row["compute_cap"].number for row in health(case)[0] if "compute_cap" in row]
    known = [number for number in told if number is not None]
    if not known:
        raise NotLooked("this nvidia-smi does not tell the compute capability")
    args = case.rig.server.args
    method, cache = args.get("quantization"), args.get("kv_cache_dtype")
    found = list(
        chip_runs(
            config,
            min(known),
            quantization=method if isinstance(method, str) else None,
            kv_dtype=cache if isinstance(cache, str) else None,
        )
    )
    kept = method or config.quantization or config.dtype or "a dtype that is not told"
    yield from found or [Remark.ok(f"compute capability {min(known):g} runs {kept}, cache {cache or 'auto'}")]


def loading(case: Case) -> Iterator[Remark]:
    sizes = {name: folder.weight_bytes or 0 for name, folder in folders(case).items()}
    if not sizes[MODEL]:
        yield _not_told(case.rig, "weights")
        return
    drafts = max((size for name, size in sizes.items() if name != MODEL), default=0)
    yield from judge_loading(case.rig, sizes[MODEL] + drafts)


def judge_loading(rig: Rig, weight_bytes: int) -> Iterator[Remark]:
    """How fast the weights must be read for a start to end in time; nobody knows here how fast they are."""
    rate = weight_bytes / rig.server.start_timeout_s
    said = f"{weight_bytes / 1e9:.1f} GB in server.start_timeout_s = {rig.server.start_timeout_s:g} s: {rate / 1e6:,.0f} MB/s"
    if rate > _DISK:
        yield Remark.warn(
            f"{said} at least, more than a fast disk reads: a start from a cold cache may be given up",
            "raise server.start_timeout_s (and silence_timeout_s, since loading may write nothing for minutes)",
        )
    else:
        yield Remark.ok(f"{said} are enough")


def requests(case: Case) -> Iterator[Remark]:
    config = _config(case)
    found: dict[str, Remark] = {}
    for arm in case.rig.arms:
        found |= {r.found: r for r in requests_fit(case.rig, arm, config)}
    yield from found.values()
    if not found:
        most = max(w.concurrency for w in case.rig.workloads)
        if config.vocab_size is None:
            yield _not_told(case.rig, "vocab_size")
        else:
            yield Remark.ok(
                f"token ids within the vocabulary of {config.vocab_size}, lengths within the context, {most} at once"
            )


def _config(case: Case) -> ModelConfig:
    config = folders(case)[MODEL].config
    if config is None:
        raise NotLooked("the target has no config.json that can be read")
    return config


def _not_told(rig: Rig, what: str) -> Remark:
    if rig.simulated:
        return Remark.note(f"a simulated model has no {what}")
    return Remark.unknown(f"the target's folder does not tell its {what}")


CHECKS = (
    Check(
        "models.heads", "whether tp_size divides the heads", "an assertion after minutes of loading", heads
    ),
    Check(
        "models.memory",
        "whether weights and KV cache fit the GPUs (an estimate)",
        "does-not-fit: out of memory at the start",
        memory,
        limit_s=60.0,
        applies=with_gpus,
    ),
    Check(
        "models.chips",
        "whether the GPUs' architecture runs the model's dtype and quantization",
        "kernel-or-arch-missing",
        chips,
        limit_s=60.0,
        applies=with_gpus,
    ),
    Check(
        "models.loading",
        "whether the weights can be read within the start's limit",
        "a start that ends with not-ready",
        loading,
    ),
    Check(
        "models.requests",
        "whether the server takes what the workloads send",
        "refused requests; one token id beyond the vocabulary takes a server down",
        requests,
    ),
)
