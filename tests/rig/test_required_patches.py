"""Patches that a rig's SGLang must have: read with the rig, part of what is comparable, refused where they are none."""

from __future__ import annotations

import hashlib

from tokgate.rig.models import Rig

from .conftest import Checkout

PATCH = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
PYTHON = 'python = "/opt/python"'


def test_they_lie_in_the_repository_and_are_kept_with_the_rig(checkout: Checkout) -> None:
    (checkout.root / "patches").mkdir()
    (checkout.root / "patches/eagle3.patch").write_text(PATCH)
    checkout.write((PYTHON, f'{PYTHON}\nrequired_patches = ["patches/eagle3.patch"]'))

    server = checkout.load().server

    assert server.required_patches == ("patches/eagle3.patch",)
    (patch,) = server.required
    assert (patch.name, patch.text) == ("eagle3.patch", PATCH)
    assert patch.sha256 == hashlib.sha256(PATCH.encode()).hexdigest()


def test_a_secret_that_is_gone_from_what_is_stored_changes_no_identity(checkout: Checkout) -> None:
    (checkout.root / "a.patch").write_text(f"{PATCH}+token = 'hf_{'x' * 34}'\n")
    checkout.write((PYTHON, f'{PYTHON}\nrequired_patches = ["a.patch"]'))
    rig = checkout.load()
    stored = rig.model_dump_json().replace("x" * 34, "[redacted]")
    assert Rig.model_validate_json(stored).server.required[0].sha256 == rig.server.required[0].sha256


def test_one_that_is_missing_or_none_names_its_key(checkout: Checkout) -> None:
    (checkout.root / "words.patch").write_text("words\n")
    checkout.write((PYTHON, f'{PYTHON}\nrequired_patches = ["patches/none.patch", "words.patch"]'))
    found = checkout.refusal().found
    assert "server.required_patches" in found
    assert "no such file" in found
    assert "no diff in it" in found


def test_what_the_loader_and_the_options_set_is_no_key_of_a_file(checkout: Checkout) -> None:
    checkout.write((PYTHON, f"{PYTHON}\nrequired = []"), add='[sides]\nbase = "main"\n')
    found = checkout.refusal().found
    assert "server.required" in found
    assert "sides" in found
    assert "--base" in found
