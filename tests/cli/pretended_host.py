"""A host to be asked by `tokgate rig init`: programs and folders of a real machine, in a folder of the test's own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from tokgate.cli.main import main

REPOSITORY = Path(__file__).parents[2]
LLAMA = {"architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "vocab_size": 128256, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 8}  # fmt: skip
DRAFT = {"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 4096, "vocab_size": 128256,
         "draft_vocab_size": 32000, "num_hidden_layers": 1, "num_attention_heads": 32}  # fmt: skip


class PretendedHost:
    """`home` is what a login there has for HOME, `bin` holds its nvidia-smi, `models` its models."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.bin = folder / "bin"
        self.models = folder / "models"
        self.root = folder / "repository"
        for place in (self.home, self.bin, self.models, self.root / "rigs"):
            place.mkdir(parents=True)
        (self.root / "pyproject.toml").write_text("[tool.tokgate]\n")

    def gpus(self, count: int, name: str = "NVIDIA H200", link: str = "NV18", mib: int = 143771) -> None:
        """Put a nvidia-smi there that lists so many GPUs, each pair joined by `link`."""
        rows = "".join(
            f"{i}, GPU-{i}, {name}, 00000000:0{i}:00.0, 580.95, {mib}, 614, 0, {mib - 614}, Disabled, 34, 78, 345, 5, 16\n"
            for i in range(count)
        )
        heads = "\t".join(f"GPU{i}" for i in range(count))
        lines = [f"\t{heads}\tCPU Affinity"]
        lines += [
            "\t".join([f"GPU{i}", *("X" if i == j else link for j in range(count)), "0-63"])
            for i in range(count)
        ]
        (self.bin / "rows").write_text(rows)
        (self.bin / "topo").write_text("\n".join(lines) + "\n")
        self.program(
            "nvidia-smi",
            f'case "$1" in --query-gpu=*) cat {self.bin}/rows;; topo) cat {self.bin}/topo;; --query-compute*) ;; '
            "*) echo 'NVIDIA-SMI 580.95 Driver Version: 580.95 CUDA Version: 13.0';; esac",
        )

    def program(self, name: str, body: str, folder: Path | None = None) -> Path:
        file = (folder or self.bin) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)
        return file

    def python(self, name: str = "venv", *, sglang: str | None = "0.5.16", on: str = "cuda 12.8") -> Path:
        """Put an environment there whose Python says that it has SGLang."""
        told = {
            "version": "3.12.3",
            "sglang": sglang,
            "at": f"/{name}/sglang" if sglang else None,
            "torch": "2.9",
            "on": on,
        }
        return self.program("python3", f"cat <<'END'\n{json.dumps(told)}\nEND", self.home / name / "bin")

    def model(
        self, name: str, config: dict[str, Any] | str, *, gib: float = 15.0, tokenizer: bool = True
    ) -> Path:
        """Put a model there; its weights are a file of that size with nothing in it."""
        folder = self.models / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
        with (folder / "model.safetensors").open("wb") as file:
            os.ftruncate(file.fileno(), int(gib * 2**30))
        if tokenizer:
            (folder / "tokenizer.json").write_text("{}")
        return folder

    def sound(self) -> None:
        """Make it a host on which nothing is left to ask."""
        self.gpus(8)
        self.python()
        self.model("llama-8b", LLAMA)
        self.model("llama-8b-eagle3", DRAFT, gib=0.8, tokenizer=False)

    def init(self, *arguments: str, here: bool = True) -> Result:
        """Run `tokgate rig init`, which looks for models in the test's folder alone."""
        words = ["--path", str(self.bin), "--look-in", str(self.models)] if here else []
        return self.tokgate("rig", "init", *arguments, *words)

    def tokgate(self, *arguments: str) -> Result:
        return CliRunner(env={"HOME": str(self.home), "VIRTUAL_ENV": None, "CONDA_PREFIX": None}).invoke(
            main, ["--root", str(self.root), *arguments]
        )

    def rig_text(self, name: str) -> str:
        return (self.root / "rigs" / f"{name}.toml").read_text(encoding="utf-8")
