"""Build one server from its command line and run it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from simbox import MARK
from simbox.app import App
from simbox.arguments import Command, parse
from simbox.box import Box, StateError, default_state, next_start, up
from simbox.cluster import Cluster
from simbox.engine import Engine, EngineSettings
from simbox.environment import NoEnvironmentError
from simbox.faults import Faults
from simbox.generate_api import GenerateApi
from simbox.generation import Maker
from simbox.http_connection import HttpConnection
from simbox.lifecycle import Lifecycle
from simbox.nodes import NotMetError
from simbox.noise import Noise
from simbox.openai_api import OpenAiApi
from simbox.planted import planted
from simbox.processes import StartFailedError, Tree
from simbox.rank import RankReady
from simbox.rank_life import RankPlan
from simbox.request import Request
from simbox.resolved import ArgumentsRefusedError, Resolved, resolve
from simbox.scenario import ScenarioError
from simbox.server_log import ServerLog
from simbox.sglang_tree import load_plugins, workers
from simbox.source_cost import SourceCost, measure
from simbox.tree import patch_ms
from simbox.truth import Truth


def run(argv: Sequence[str]) -> None:
    """Serve until a signal ends it; sys.exit for what cannot start."""
    command = parse(argv)
    log = ServerLog(command.version)
    try:
        box = _with_tree(up(command.state or default_state(), command.scenarios, command.seed))
        resolved = resolve(command, box.scenario.knobs)
    except (ScenarioError, StateError, NoEnvironmentError) as error:
        sys.exit(f"simbox: {error}")
    except ArgumentsRefusedError as error:
        log.bare(f"Traceback (most recent call last):\n  (simulated)\nRuntimeError: {error}")
        sys.exit(1)
    # Before any plugin: what one hooks is its own cost, and none of the tree's.
    source = measure(
        lambda device: workers(device, speculative=resolved.speculative), speculative=resolved.speculative
    )
    load_plugins(command.version)
    # Which scenario is played stands in the truth file alone: whoever judges this server reads its log.
    log.line(f"{MARK}: no GPU and no model are behind this server; state {box.state}")
    if resolved.speculative and "max_running_requests" not in command.given:
        log.line(
            "Max running requests is reset to 48 for speculative decoding. You can override this by explicitly setting --max-running-requests."
        )
    log.server_args(resolved.args)
    start, begun = next_start(box.state), time.monotonic()
    tree = Tree()
    cluster = Cluster(resolved, tree)
    try:
        ready = cluster.start(_plans(command, box, resolved, _run_folder(box, start), source))
    except (StartFailedError, NotMetError) as error:
        log.line(str(error))
        log.line("Received sigquit from a child process. It usually means the child failed.")
        tree.kill()
        os._exit(1)
    if resolved.node > 0:
        cluster.follow(log)
    serving = _serve(
        command=command, box=box, resolved=resolved, ready=ready, tree=tree, log=log, start=start, begun=begun, source=source, cluster=cluster
    )  # fmt: skip
    asyncio.run(serving)


def _with_tree(box: Box) -> Box:
    """Add what patches in the importable tree cost; where none is importable, those in the scenario's."""
    knobs = box.scenario.knobs
    knobs = replace(knobs, patch_ms=knobs.patch_ms + patch_ms(knobs.tree))
    return replace(box, scenario=replace(box.scenario, knobs=knobs))


def _run_folder(box: Box, start: int) -> Path:
    return box.state / "runs" / f"{start:04d}-{os.getpid()}"


def _plans(command: Command, box: Box, resolved: Resolved, run: Path, source: SourceCost) -> list[RankPlan]:
    base = int(resolved.args.get("base_gpu_id") or 0)
    return [
        RankPlan(
            rank=rank,
            ranks=resolved.ranks,
            gpu=base + number,
            state=box.state,
            knobs=box.scenario.knobs,
            version=command.version,
            model_path=resolved.args["model_path"],
            speculative=resolved.speculative,
            graph_sizes=resolved.graph_sizes,
            verify_graph=resolved.shape.verify_graph,
            draft_tokens=resolved.shape.draft_tokens,
            mem_fraction=resolved.args["mem_fraction_static"],
            run=run,
            source=source,
            nodes=resolved.nodes,
        )
        for number, rank in enumerate(resolved.local)
    ]


async def _serve(
    *,
    command: Command,
    box: Box,
    resolved: Resolved,
    ready: Sequence[RankReady],
    tree: Tree,
    log: ServerLog,
    start: int,
    begun: float,
    source: SourceCost,
    cluster: Cluster,
) -> None:
    knobs, args, seed = box.scenario.knobs, resolved.args, box.scenario.seed
    noise = Noise(knobs, seed=seed, start=start)
    truth = Truth(_run_folder(box, start), late_limit_ms=knobs.late_limit_ms)
    pin = ready[0].pin if resolved.speculative else None
    truth.start(
        start=start, pid=os.getpid(), seed=seed, scenarios=box.scenario.names, knobs=asdict(knobs), version=command.version,
        slow_mode=noise.slow_mode, start_factor=noise.start_factor, ranks=[asdict(r) for r in ready],
    )  # fmt: skip
    settings = EngineSettings(
        knobs=knobs,
        shape=resolved.shape,
        ranks=tuple(
            (knobs.slow_rank_factor if r.rank == knobs.slow_rank else 1.0, r.extra_us) for r in ready
        ),
        max_running=resolved.max_running,
        max_tokens=min(r.tokens for r in ready),
        log_interval=max(1, int(args["decode_log_interval"])),
        pinned_token=pin is not None and not pin.real_tokens,
        prefix_cache=not args.get("disable_radix_cache"),
        kernels=tuple(r.kernel for r in ready),
        pids=tuple(r.pid for r in ready),
        source=source,
    )
    faults = Faults(knobs, state=box.state, rank_pids=tuple(r.pid for r in ready[: len(resolved.local)]))
    engine = Engine(
        settings,
        noise=noise,
        truth=truth,
        log=ServerLog(command.version, " TP0" if resolved.ranks > 1 else ""),
        faults=faults,
        load=tree.load,
        feed=cluster.feed,
        planted=planted(os.environ, command.version),
    )
    life = Lifecycle(
        engine=engine,
        tree=tree,
        truth=truth,
        log=log,
        poll_s=knobs.watchdog_poll_s,
        ignore_term=knobs.ignore_term,
    )
    life.install()
    cluster.serve(engine, life.crash)
    maker = Maker(
        knobs=knobs, engine=engine, context_length=args["context_length"],
        # By its name: where a checkout lies must not change what is accepted.
        draft=Path(str(args["speculative_draft_model_path"])).name if resolved.speculative else "",
        steps=resolved.shape.draft_steps, topk=resolved.topk, draft_tokens=resolved.shape.draft_tokens, pin=pin,
    )  # fmt: skip
    app = App(
        command=command, args=args, engine=engine, truth=truth, log=log,
        generate=GenerateApi(maker, version=command.version, args=args, draft_tokens=resolved.shape.draft_tokens),
        openai=OpenAiApi(maker, served_model=args["served_model_name"]),
        timings=dict(ready[0].timings), simulated=_simulated(box, truth.path, start),
        crash=life.crash, probe=lambda: _generate(maker, 1),
        device_timer=os.environ.get("SGLANG_ENABLE_METRICS_DEVICE_TIMER", "").lower() in ("1", "true"),
    )  # fmt: skip
    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(engine.run()), loop.create_task(life.watch())]
    tagged = ServerLog(command.version, " TP0" if resolved.ranks > 1 else "")
    tagged.line(
        f"max_total_num_tokens={settings.max_tokens}, chunked_prefill_size={args.get('chunked_prefill_size') or 8192}, "
        f"max_prefill_tokens={args.get('max_prefill_tokens') or 16384}, max_running_requests={settings.max_running}, "
        f"context_len={args['context_length']}, available_gpu_mem=9.42 GB"
    )
    log.line(f"INFO:     Started server process [{os.getpid()}]")
    log.line("INFO:     Waiting for application startup.")
    log.line("INFO:     Application startup complete.")
    try:
        await loop.create_server(
            lambda: HttpConnection(app.handle, app.count), args["host"], args["port"], backlog=2048
        )
    except OSError as error:
        log.line(
            f"ERROR:    [Errno {error.errno}] error while attempting to bind on address ('{args['host']}', {args['port']}): address already in use"
        )
        tree.kill()
        os._exit(1)
    log.line(f"INFO:     Uvicorn running on http://{args['host']}:{args['port']} (Press CTRL+C to quit)")
    if not args.get("skip_server_warmup"):
        await _generate(maker, 8)
    app.timings["tokenizer_e2e"] = time.monotonic() - begun
    app.ready = faults.counting = True
    log.line("The server is fired up and ready to roll!")
    await asyncio.gather(*tasks)


async def _generate(maker: Maker, tokens: int) -> None:
    """Generate for nobody: the warm-up and the health probe."""
    done = asyncio.Event()

    class Nobody:
        closed = False

        def tokens(self, request: Request, new: Sequence[int]) -> bool:
            del new
            if request.done:
                done.set()
            return False

        def cut(self) -> None:
            done.set()

    prompt = [1000, 1001, 1002, 1003]
    maker.engine.submit(
        maker.make(prompt, {"max_new_tokens": tokens, "temperature": 0.0}, sink=Nobody(), stream=False)
    )
    await done.wait()


def _simulated(box: Box, truth: Path, start: int) -> dict[str, Any]:
    return {
        "by": MARK,
        "start": start,
        "state": str(box.state),
        "truth": str(truth),
    }
