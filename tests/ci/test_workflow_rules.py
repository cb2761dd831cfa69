"""The workflows are what GitHub takes, and keep the rules of docs/security.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from .workflows import FILES, FOLDER, Step, read, steps

RUN_STEPS = [s for s in steps() if "run" in s.content]
WORD = re.compile(r"[\w.*-]+\([^()]*\)|'[^']*'|==|&&|\|\||[()]|[\w.*-]+")


def test_there_are_workflows_with_steps() -> None:
    assert {path.name for path in FILES} == {"gate.yml", "tests.yml"}
    assert len(RUN_STEPS) > 5


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_github_reads_them(path: Path) -> None:
    schema = files("check_jsonschema") / "builtin_schemas" / "vendor" / "github-workflows.json"
    jsonschema.validate(read(path), json.loads(schema.read_text(encoding="utf-8")))


def test_gitlab_reads_what_the_documentation_offers() -> None:
    page = (FOLDER.parents[1] / "docs" / "ci.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^(    # \.gitlab-ci\.yml\n(?:    .*\n|\n)+)", page, re.MULTILINE)
    schema = files("check_jsonschema") / "builtin_schemas" / "vendor" / "gitlab-ci.json"
    jsonschema.validate(yaml.safe_load(block), json.loads(schema.read_text(encoding="utf-8")))


def test_github_reads_what_other_repositories_are_offered_and_it_ends_well_without_a_report(
    tmp_path: Path,
) -> None:
    page = (FOLDER.parents[1] / "docs" / "other-repositories.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    schema = files("check_jsonschema") / "builtin_schemas" / "vendor" / "github-workflows.json"
    # YAML 1.1 reads `on` as true.
    workflow = {{True: "on"}.get(key, key): value for key, value in yaml.safe_load(block).items()}
    jsonschema.validate(workflow, json.loads(schema.read_text(encoding="utf-8")))
    (keep,) = (s["run"] for s in workflow["jobs"]["gate"]["steps"] if s.get("id") == "kept")
    for reported in (False, True):
        home = tmp_path / str(reported)
        (home / "tokgate-reports").mkdir(parents=True)
        (home / "begun").touch()
        os.utime(home / "begun", (1, 1))
        if reported:
            (home / "tokgate-reports" / "20261130T000000-mybox").mkdir()
            (home / "tokgate-reports" / "20261130T000000-mybox" / "summary.md").write_text("# tokgate PASS")
        told = {
            "HOME": home,
            "RUNNER_TEMP": home,
            "GITHUB_OUTPUT": home / "o",
            "GITHUB_STEP_SUMMARY": home / "s",
        }
        env = {**os.environ, **{name: str(path) for name, path in told.items()}}
        subprocess.run(("bash", "-e", "-c", keep), env=env, check=True)
        assert ("# tokgate PASS" if reported else "No report") in (home / "s").read_text()


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_actions_are_pinned_to_a_commit(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert used
    for line in used:
        assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_every_job_has_a_limit_and_says_what_it_may(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] in ({}, {"contents": "read"})
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 240, name
        assert job.get("permissions", {}) in ({}, {"contents": "read"}, {"checks": "write"}), name


@pytest.mark.parametrize("step", RUN_STEPS, ids=lambda s: f"{s.job}: {s.name}")
def test_no_script_has_foreign_text_spliced_in(step: Step) -> None:
    assert "${{" not in step.content["run"]


def test_no_secret_and_no_event_that_gives_a_fork_more_than_its_own() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in FOLDER.iterdir())
    assert "secrets." not in text
    assert len(FILES) > 1
    for event in ("pull_request_target", "workflow_run", "issue_comment"):
        assert all(event not in read(path)["on"] for path in FILES)


def test_no_checkout_leaves_its_token_on_the_box() -> None:
    found = [s for s in steps() if str(s.content.get("uses")).startswith("actions/checkout@")]
    assert found
    assert all(s.content["with"]["persist-credentials"] is False for s in found)


def test_only_the_gate_runs_on_the_box_and_the_job_that_writes_runs_no_code_of_a_patch() -> None:
    jobs = {name: job for path in FILES for name, job in read(path)["jobs"].items()}
    assert [name for name, job in jobs.items() if "self-hosted" in job["runs-on"]] == ["gate"]
    assert [name for name, job in jobs.items() if "checks" in job.get("permissions", {})] == ["tell"]
    assert [step.get("uses") for step in jobs["tell"]["steps"]] == [None]


def test_jobs_of_one_box_wait_for_each_other_and_none_is_dropped() -> None:
    locked = read(FOLDER / "gate.yml")["jobs"]["gate"]["concurrency"]
    assert locked["group"].startswith("gpu-box-")
    assert (locked["cancel-in-progress"], locked["queue"]) == (False, "max")


HERE, ELSEWHERE = "owner/name", "stranger/name"


@pytest.mark.parametrize(
    ("event", "head", "carried", "put_on", "runs"),
    [
        ("workflow_dispatch", None, (), None, True),
        ("labeled", HERE, ("perf-gate",), "perf-gate", True),
        ("labeled", HERE, ("perf-gate", "docs"), "docs", False),
        ("synchronize", HERE, ("perf-gate",), None, True),
        ("synchronize", HERE, (), None, False),
        ("labeled", ELSEWHERE, ("perf-gate",), "perf-gate", False),
        ("synchronize", ELSEWHERE, ("perf-gate",), None, False),
    ],
)
def test_who_gets_to_the_box(
    event: str, head: str | None, carried: tuple[str, ...], put_on: str | None, runs: bool
) -> None:
    by_hand = event == "workflow_dispatch"
    known: dict[str, Any] = {
        "github.event_name": event if by_hand else "pull_request",
        "github.event.action": None if by_hand else event,
        "github.repository": HERE,
        "github.event.pull_request.head.repo.full_name": head,
        "github.event.pull_request.labels.*.name": carried,
        "github.event.label.name": put_on,
    }
    assert _evaluated(read(FOLDER / "gate.yml")["jobs"]["gate"]["if"], known) is runs


def test_the_job_that_tells_does_not_tell_of_a_gate_that_was_left_out() -> None:
    assert "needs.gate.result != 'skipped'" in read(FOLDER / "gate.yml")["jobs"]["tell"]["if"]


def _evaluated(expression: str, known: dict[str, Any]) -> bool:
    """Evaluate what gate.yml uses of GitHub's expressions: names, texts, ==, &&, ||, contains(names, text)."""
    words = {"&&": "and", "||": "or"}

    def translated(word: str) -> str:
        if word.startswith("contains("):
            name, text = word[len("contains(") : -1].split(", ")
            return f"({text} in {known[name]!r})"
        return repr(known[word]) if word in known else words.get(word, word)

    source = " ".join(translated(word) for word in WORD.findall(expression))
    return bool(eval(source, {"__builtins__": {}}))  # our own file, and no name is left in it
