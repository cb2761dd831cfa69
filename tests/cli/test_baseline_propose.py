from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.baseline_checkout import ONE, Checkout, write_run
from tests.verdicts.evidence import STEADY, controls, eagle3, make_rig
from tokgate.rig.models import Rig

# tests.verdicts.evidence.make_rig(workloads=ONE), as a file.
SMALL = """
name = "small"
gpus = { count = 0 }
lossless = { mode = "exact", prompts = "ids", count = 2, output_tokens = 8 }

[server]
python = "/opt/ml/bin/python"
model_path = "/models/target"
args = { tp_size = 2, host = "0.0.0.0", port = 8000 }
nccl = { NCCL_ALGO = "Ring" }

[baselines]
creep = 0.05

[[arms]]
name = "baseline"
kind = "baseline"

[[arms]]
name = "eagle3-2step"
kind = "eagle3"
draft_model_path = "/models/draft"
num_steps = 2
topk = 1
num_draft_tokens = 3

[[arms]]
name = "eagle3-pinned"
kind = "eagle3"
draft_model_path = "/models/draft"
num_steps = 2
topk = 1
num_draft_tokens = 3
acceptance = 2.5

[prompt_sets.ids]
kind = "token-ids"
length = 8
first_id = 3
last_id = 99

[[workloads]]
name = "single"
prompts = "ids"
output_tokens = 256
repeats = 6
"""


class Repository(Checkout):
    """A checkout in git, with the rig `small` in it and a baseline of one run."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        (root / "rigs").mkdir()
        (root / "rigs/small.toml").write_text(SMALL)
        (root / ".gitignore").write_text("reports/\n")
        self.git("init", "-q", ".")
        stored = self.tokgate("update", self.measured("first"), "--why", "first")
        assert stored.exit_code == 0, stored.output
        self.git("add", "-A")
        self.commit("first")

    @property
    def rig(self) -> Rig:
        return make_rig(workloads=ONE)

    def measured(self, name: str, by: float = 1.0) -> str:
        values = tuple(v * by for v in STEADY)
        return str(write_run(self.root / "reports" / name, *controls(values, values), eagle3(), rig=self.rig))

    def git(self, *words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(self.root), *words], check=True, capture_output=True, text=True
        ).stdout

    def commit(self, why: str) -> None:
        self.git("-c", "user.name=ada", "-c", "user.email=a@b", "commit", "-qm", why)

    def loosen(self) -> None:
        rig = self.root / "rigs/small.toml"
        rig.write_text(rig.read_text().replace("creep = 0.05", "creep = 0.5"))
        self.git("add", "-A")

    def propose(self, *words: str) -> Result:
        return self.tokgate("propose", *words, "--why", "a safer sampler", "--who", "ada")

    def page(self) -> str:
        (folder,) = (self.root / "reports" / "proposals").iterdir()
        return (folder / "proposal.md").read_text()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_a_proposal_stores_nothing_and_its_patch_is_what_update_would_write(repository: Repository) -> None:
    run = repository.measured("second", 0.98)
    told = repository.propose(run, "--out", str(repository.root / "out"))

    assert told.exit_code == 0, told.output
    assert "(would be replaced)" in told.output
    assert repository.git("status", "--porcelain", "baselines") == ""
    repository.git("apply", str(repository.root / "out" / "baselines.patch"))
    patched = {path: path.read_text() for path in repository.files() if path.suffix == ".json"}
    assert len(repository.git("status", "--porcelain", "baselines").splitlines()) == 2
    repository.git("checkout", "-q", "baselines")
    repository.propose(run, "--write", "--out", str(repository.root / "out"))
    when = '"when": "'
    for path, text in patched.items():
        lines = zip(text.splitlines(), path.read_text().splitlines(), strict=True)
        assert all(a == b or when in a for a, b in lines), path


def test_a_new_file_is_proposed_as_such(repository: Repository) -> None:
    for path in repository.files():
        if path.suffix == ".json":
            path.unlink()
    told = repository.propose(repository.measured("second"), "--out", str(repository.root / "out"))

    assert "(would be new)" in told.output
    assert "is gone, and with it its anchor" in told.output
    repository.git("apply", str(repository.root / "out" / "baselines.patch"))
    assert repository.tokgate("show", "small").exit_code == 0


def test_a_patch_of_a_link_would_have_no_numbers(repository: Repository) -> None:
    linked = next(path for path in repository.files() if path.suffix == ".json")
    linked.symlink_to(linked.rename(repository.root / "elsewhere.json"))
    refused = repository.propose(repository.measured("second", 0.98))

    assert refused.exit_code == 4
    assert "it is a link" in refused.stderr
    assert linked.is_symlink()


def test_the_page_has_each_number_before_and_after(repository: Repository) -> None:
    repository.propose(repository.measured("second", 0.98))
    page = repository.page()

    assert "**Why:** a safer sampler" in page
    assert "No limit of the rig is looser than at HEAD" in page
    row = next(line for line in page.splitlines() if line.startswith("| `decode_tok_s`"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1:4] == ["44.6 tok/s", "43.7 tok/s", "-2.0%"]
    assert " to " in cells[4]
    assert cells[5:] == ["2 runs, 1 session", "2 runs, 1 session", "2.0% of 5.0%"]
    assert "Nothing on record differs" in page


def test_an_interval_of_appended_runs_is_told_as_theirs(repository: Repository) -> None:
    repository.propose(repository.measured("second", 0.97), "--append")
    row = next(line for line in repository.page().splitlines() if line.startswith("| `decode_tok_s`"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]

    assert cells[3] == "-1.5%"
    assert cells[4].startswith("runs that come **-3.0%**: -")


def test_limits_loosened_in_the_same_change_are_pointed_out(repository: Repository) -> None:
    rig = repository.root / "rigs/small.toml"
    text = rig.read_text()
    assert "creep = 0.05" in text
    rig.write_text(text.replace("creep = 0.05", "creep = 0.5"))
    told = repository.propose(repository.measured("second"))

    assert "loosened in the same change: baselines.creep: 0.05 -> 0.5" in told.output
    page = repository.page()
    assert "## Loosened in the same change (against HEAD" in page
    assert "- **baselines.creep: 0.05 -\\> 0.5**" in page or "- **baselines.creep: 0.05 -&gt; 0.5**" in page


LOOSER = "loosened in the same change: baselines.creep: 0.05 -> 0.5"


def test_limits_that_the_branch_has_loosened_in_a_commit_are_pointed_out(repository: Repository) -> None:
    repository.git("branch", "-M", "main")
    repository.git("checkout", "-qb", "faster-sampler")
    repository.loosen()
    repository.commit("faster")
    repository.git("checkout", "-q", "main")
    (repository.root / "other").write_text("")  # main went on meanwhile
    repository.git("add", "other")
    repository.commit("other")
    repository.git("checkout", "-q", "faster-sampler")
    run = repository.measured("second")

    told = repository.propose(run)
    assert told.exit_code == 0, told.output
    assert LOOSER in told.output
    base = repository.git("rev-parse", "--short=10", "main~1").strip()
    assert f"limits are compared with the merge base with main ({base})" in told.output
    assert (
        f"## Loosened in the same change (against the merge base with main ({base})"
        in repository.page().replace("\\", "")
    )
    assert LOOSER not in repository.propose(run, "--against", "HEAD").output


def test_the_remote_says_which_branch_is_the_default_one(repository: Repository) -> None:
    """What `main` has beyond it is not merged yet: it counts."""
    repository.git("branch", "-M", "main")
    repository.git("update-ref", "refs/remotes/origin/trunk", "HEAD")
    repository.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    repository.loosen()
    repository.commit("faster")
    told = repository.propose(repository.measured("second")).output

    assert LOOSER in told
    assert "limits are compared with the merge base with origin/trunk (" in told


@pytest.mark.parametrize(
    ("branch", "said"),
    [
        ("main", "all of it is on main, so what its commits loosened is not seen"),
        ("master", "all of it is on master, so what its commits loosened is not seen"),
        ("trunk", "neither origin/HEAD nor main nor master is there"),
    ],
)
def test_what_a_comparison_with_head_cannot_see_is_said(
    repository: Repository, branch: str, said: str
) -> None:
    repository.git("branch", "-M", branch)
    told = repository.propose(repository.measured("second")).output

    assert "limits are compared with HEAD (" in told
    assert f"{said}: commits" in told or f"{said}; name another revision by --against" in told
    assert "name another revision by" in repository.page()


def test_branches_without_a_common_commit_are_told_apart_from_a_comparison(repository: Repository) -> None:
    repository.git("branch", "-M", "main")
    repository.git("checkout", "-q", "--orphan", "alone")
    repository.commit("alone")

    assert (
        "HEAD and main have no common commit here" in repository.propose(repository.measured("second")).output
    )


@pytest.mark.parametrize(
    "name",
    [
        "perf_tests/test_x.py",
        "fixtures/x.py",
        "conftest.py",
        "pyproject.toml",
        "tokgate/report/x.py",
        "tokgate/session/x.py",
        "tokgate/verdicts/checks/x.py",
    ],
)
@pytest.mark.parametrize("known", [True, False], ids=["changed", "untracked"])
def test_code_that_judges_and_has_changed_is_named(repository: Repository, name: str, known: bool) -> None:
    file = repository.root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    if known:
        file.write_text("")
        repository.git("add", name)
        repository.commit(name)
    file.write_text("limit = 1000")
    (repository.root / "notes.py").write_text("")  # judges nothing
    repository.propose(repository.measured("second"))

    told = f"are to be read for what they ask: {name}.".replace("_", "\\_")
    assert told in repository.page()


def test_a_run_that_was_judged_by_looser_limits_than_the_file_has_is_pointed_out(
    repository: Repository,
) -> None:
    rig = make_rig(workloads=ONE, floors={"decode_tok_s": {"relative": 0.1, "absolute": 0.5}})  # --rig-set
    run = write_run(repository.root / "reports/second", *controls(), eagle3(), rig=rig)

    assert (
        "floors.decode_tok_s.relative: 0.02 -> 0.1 (in the run that is stored)"
        in repository.propose(str(run)).output
    )


def test_an_anchor_edited_by_hand_is_pointed_out(repository: Repository) -> None:
    for path in repository.files():
        if path.suffix == ".json":
            text = path.read_text()
            path.write_text(text.replace('"why": "first"', '"why": "never"'))
    told = repository.propose(repository.measured("second"))

    assert "its anchor is another one" in told.output


def test_outside_git_the_limits_are_said_to_be_unknown(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    run = checkout.run("first", *controls())
    told = checkout.tokgate("propose", run, "--why", "first")

    assert told.exit_code == 0, told.output
    assert "whether a limit is loosened is not known" in told.output


@pytest.mark.parametrize("revision", ["nothing", "--output=x", "HEAD:rigs"])
def test_a_revision_that_is_none_is_an_error(repository: Repository, revision: str) -> None:
    told = repository.propose(repository.measured("second"), f"--against={revision}")

    assert told.exit_code == 4
    assert "commit" in told.stderr or "revision" in told.stderr


def test_losses_beyond_the_creep_budget_take_a_reason_of_their_own(repository: Repository) -> None:
    run = repository.measured("second", 0.93)

    refused = repository.tokgate("update", run, "--why", "slower")
    assert refused.exit_code == 4
    assert "decode_tok_s of single on baseline crept 7.0% of 5.0%" in refused.stderr
    assert repository.tokgate("update", run, "--why", "slower", "--despite-creep", " ").exit_code == 4
    assert repository.git("status", "--porcelain", "baselines") == ""
    stored = repository.tokgate("update", run, "--why", "slower", "--despite-creep", "it was unsafe")
    assert stored.exit_code == 0
    assert '"despite_creep": "it was unsafe"' in "".join(
        path.read_text() for path in repository.files() if path.suffix == ".json"
    )


def test_a_number_that_is_better_by_luck_is_kept_with_a_word(repository: Repository) -> None:
    lucky = repository.measured("second", 1.05)

    told = repository.propose(lucky)
    assert told.exit_code == 0  # the arm that did not move may be replaced
    assert "(kept as it was: decode_tok_s is +5.0% better: raising it takes 2 sessions" in told.output
    assert "**Kept as it is:**" in repository.page()
    alone = repository.tokgate("update", lucky, "--arm", "baseline", "--why", "fast")
    assert alone.exit_code == 4
    assert "measure more sessions" in alone.stderr
    assert repository.git("status", "--porcelain", "baselines") == ""


def test_hostile_words_stay_words(repository: Repository) -> None:
    run = repository.measured("second")
    repository.tokgate("propose", run, "--why", "<script>|\x1b[2J` *x*\nnew # line")
    page = repository.page()

    assert "<script>" not in page
    assert "\x1b" not in page
    assert "\nnew # line" not in page
