"""`tokgate rig init`: asks a host what it has, and writes a rig for a first gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from tokgate.cli.checkout import pass_root
from tokgate.cli.help import Taught, teach
from tokgate.cli.rig_check import check_lines
from tokgate.cli.rig_init_asking import Asking, somebody_is_there
from tokgate.cli.rig_init_choosing import (
    Asked,
    choose_draft,
    choose_gpus,
    choose_model,
    choose_name,
    choose_python,
    seen_at,
    usable_pythons,
)
from tokgate.cli.rig_init_host import HostGiven, look, on_host, port_of, work_dir_of
from tokgate.cli.rig_init_known import needs_its_rig, read_base, refuse_simulated, rigs_of_host
from tokgate.cli.rig_init_told import doubts, next_steps, nothing_to_run, what_it_has
from tokgate.cli.rig_init_writing import Place, as_loaded, page_of, to_be_written
from tokgate.rig.commented import written
from tokgate.rig.first.choices import Choices, Chosen
from tokgate.rig.first.pairing import fit
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig


@click.command(
    "init",
    cls=Taught,
    **teach(
        examples=(
            "tokgate rig init mybox",
            "tokgate rig init gpu7 --host ssh://me@gpu7 --yes",
            "tokgate rig init mybox --model /models/llama-8b --draft none --print",
            (
                'tokgate rig init soon --gpus 8x"NVIDIA H200" --python /opt/venv/bin/python3 '
                "--model /models/t --draft /models/d"
            ),
            "tokgate rig init mine --from sglang-cpu --yes",
        ),
        codes=(
            (0, "written, or printed"),
            (4, "an answer is missing, or the file is there"),
            (11, "no host"),
        ),
        then=("tokgate doctor --rig mybox", "tokgate rig check mybox"),
    ),
)
@click.argument("name", required=False)
@click.option(
    "--host", metavar="ADDRESS", help="local, or ssh://user@host:port. Default: local, this machine."
)
@click.option("--ssh-config", metavar="FILE", help="An ssh_config for an ssh host, e.g. ~/.ssh/config.")
@click.option("--ssh-identity", metavar="FILE", help="A private key for an ssh host.")
@click.option("--host-python", metavar="PATH", help="A Python >= 3.9 there to look with. Default: python3.")
@click.option(
    "--path",
    "path",
    multiple=True,
    metavar="FOLDER",
    help="Goes in front of PATH there: where nvidia-smi is, say.",
)
@click.option("--python", metavar="PATH", help="The Python that has SGLang. Default: the one that is found.")
@click.option("--model", metavar="PATH", help="The target model. Default: the one that is found.")
@click.option("--draft", metavar="PATH", help="Its EAGLE-3 draft, or `none`. Default: the one that fits.")
@click.option(
    "--look-in",
    multiple=True,
    metavar="FOLDER",
    help="Look for models here, not in the usual folders, e.g. /data7. May be repeated.",
)
@click.option("--gpus", metavar="NxNAME", help='GPUs of a host that is not there yet: 8x"NVIDIA H200".')
@click.option(
    "--work-dir", metavar="FOLDER", help="Where logs and leases go on the host. Default: /tmp/tokgate."
)
@click.option(
    "--from", "base_name", metavar="RIG", help="Begin with the settings of this rig, e.g. kimi-k2.5-8gpu."
)
@click.option("--yes", "-y", is_flag=True, help="Ask nothing: of several take the first.")
@click.option("--print", "print_", is_flag=True, help="Print the rig, and write nothing.")
@click.option("--force", is_flag=True, help="Write over a rig of that name.")
@pass_root
def init(
    root: Path,
    *,
    name: str | None,
    host: str | None,
    ssh_config: str | None,
    ssh_identity: str | None,
    host_python: str | None,
    path: Sequence[str],
    python: str | None,
    model: str | None,
    draft: str | None,
    look_in: Sequence[str],
    gpus: str | None,
    work_dir: str | None,
    base_name: str | None,
    yes: bool,
    print_: bool,
    force: bool,
) -> None:
    """Ask a host what it has, and write a rig for a first gate: rigs/NAME.toml.

    The host is looked at and nothing is changed there: GPUs and how they are joined, Pythons with SGLang, models and
    which EAGLE-3 draft is of which, free ports. Beside each value of the rig stands where it came from. You are asked
    only what the host cannot tell.
    """
    asking = Asking(yes=yes, interactive=somebody_is_there(), say=lambda line: click.echo(line, err=True))
    asked = Asked(name=name, python=python, model=model, draft=draft, gpus=gpus)
    place = Place(root, force=force or print_)
    if name is not None:
        place.refuse_written(choose_name(asking, asked, None, "").value)
    base = load_rig(base_name, root=root) if base_name is not None else None
    based = read_base(base_name, root=root) if base_name is not None else None
    if base is not None:
        refuse_simulated(base, host)
    given = HostGiven(host, ssh_config, ssh_identity, host_python, tuple(path), work_dir)
    spec, settings = given.settings(None if host is not None else base, based)
    asked = replace(
        asked, python=on_host(python, spec), model=on_host(model, spec), draft=on_host(draft, spec)
    )
    look_in = [on_host(folder, spec) or folder for folder in look_in]
    rigs = rigs_of_host(root, spec.testinfra, base_name)
    seen = look(spec, rigs, asked, look_in, base)
    for line in what_it_has(seen, spec.testinfra):
        asking.say(line)
    found_gpus = choose_gpus(asked, seen)
    on_cpu = found_gpus.value.count == 0
    usable = usable_pythons(seen, rigs, on_cpu=on_cpu) if seen is not None else ()
    if on_cpu and not usable and python is None:
        raise nothing_to_run(seen)
    chosen_python = choose_python(asking, asked, seen, usable, base)
    if based is None and (bringing := _brings_sglang(chosen_python, rigs)) is not None:
        base, based = rigs[bringing], read_base(bringing, root=root)
        asking.say(
            f"\nThat Python finds SGLang by what the rig {bringing} sets: its settings are taken over."
        )
    chosen_model, pair = choose_model(asking, asked, seen, found_gpus.value, base)
    chosen_draft = choose_draft(asking, asked, seen, pair, base)
    chosen_name = choose_name(asking, asked, seen, spec.testinfra)
    place.refuse_written(chosen_name.value)
    target = seen_at(chosen_model.value, seen)
    drafting = seen_at(chosen_draft.value, seen) if chosen_draft is not None else None
    local = spec.testinfra == "local://"
    choices = Choices(
        name=chosen_name,
        host={**settings, "work_dir": settings.get("work_dir") or work_dir_of(seen)},
        gpus=found_gpus,
        python=place.nameable(chosen_python, local=local),
        sglang=next((p.sglang for p in usable if p.path == chosen_python.value), None),
        on_cpu=on_cpu,
        model=place.nameable(chosen_model, local=local),
        model_seen=target,
        draft=place.nameable(chosen_draft, local=local) if chosen_draft is not None else None,
        draft_seen=drafting,
        fits=fit(drafting, target).words if drafting is not None and target is not None else None,
        port=port_of(seen),
        prompts=place.prompts(),
        simulated=(seen is not None and seen.simulated) or (base is not None and base.simulated),
        based=based,
        inventory=seen,
        described=gpus is not None,
    )
    page = page_of(choices, place)
    rig = as_loaded(page, choices.name.value, root)
    for line in doubts(choices):
        asking.say(line)
    if print_:
        click.echo(written(page), nl=False)
        return
    asking.say("")
    for line in to_be_written(place, page, choices.name.value):
        click.echo(line)
    for line in (*check_lines(rig), *next_steps(rig, root)):
        click.echo(line)


def _brings_sglang(python: Chosen[str], rigs: dict[str, Rig]) -> str | None:
    """Return the rig without whose PYTHONPATH this Python has no SGLang that works."""
    return next(
        (n for n, rig in rigs.items() if rig.server.python == python.value and needs_its_rig(rig)), None
    )
