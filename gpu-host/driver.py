"""Install the bundle that lies beside this file, make the models, and go on with work.py. Called by run.sh.

It runs under the host's Python, which has torch and knows nothing of tokgate; work.py runs under the gate's own.
"""

from __future__ import annotations

import os
import re
import sys
import tarfile
from pathlib import Path

import arguments
import manifest
from arguments import BUNDLE
from host_check import check
from host_install import DISK_GIB, SERVING, Installed, bring_caches, install, make_models, pair_of
from telling import give_up

# A program that uses NVLink multicast can put a shared host's GPUs out of service.
NO_MULTICAST = {
    "NCCL_NVLS_ENABLE": "0",
    "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
    "NVSHMEM_DISABLE_NVLS": "1",
}


def main() -> None:
    asked = arguments.read(sys.argv[1:])
    place = Installed(asked.into)
    bundle = manifest.read(BUNDLE)
    rig = rig_text(asked.rig, BUNDLE / bundle.parts["checkout"].file)
    serving = SERVING in rig
    count = re.search(r"^count = (\d+)", rig, re.MULTILINE)
    disk = DISK_GIB[pair_of(rig)] if serving else 0
    check(bundle, into=place.into, gpus=int(count[1]) if count else 0, serving=serving, disk_gib=disk)
    install(BUNDLE, bundle, place, serving=serving)
    if serving:
        bring_caches(BUNDLE, place)
        make_models(place, asked.models, pair_of(rig))
    if asked.job == "install":
        return
    environment = {**os.environ, **NO_MULTICAST, arguments.BEGAN: str(asked.began)}
    work = [str(place.python), "-u", str(BUNDLE / "work.py"), *sys.argv[1:]]
    os.execve(place.python, work, environment)  # noqa: S606 - on purpose


def rig_text(name: str, checkout: Path) -> str:
    """Return the rig's file as the bundle has it, or as it lies on the host where a path is given."""
    if name.endswith(".toml"):
        try:
            return Path(name).read_text(encoding="utf-8")
        except OSError as error:
            give_up(tried=f"read the rig {name}", found=str(error), do="name a rig of the bundle, or a file")
    with tarfile.open(checkout) as packed:
        names = packed.getnames()
        content = packed.extractfile(f"rigs/{name}.toml") if f"rigs/{name}.toml" in names else None
        if content is None:
            known = sorted(n[5:-5] for n in names if n.startswith("rigs/") and n.endswith(".toml"))
            give_up(
                tried=f"find the rig {name} in the bundle",
                found=f"these: {', '.join(known)}",
                do="name one of them with --rig, or a file of your own that ends in .toml",
            )
        return content.read().decode()


if __name__ == "__main__":
    main()
