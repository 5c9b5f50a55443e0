"""Commands that read a run folder open nothing outside it, and nothing that is no file; results/ may be a link."""

import os
import shutil

import pytest

pytestmark = pytest.mark.usefixtures("blank_figures")

COMMANDS = [
    "status RUN", "status RUN --watch", "report RUN", "compare RUN OTHER", "compare OTHER RUN",
    "export RUN --toml best.toml", "simulate RUN --individual best", "resume RUN", "resume RUN --fork",
    "tolerance RUN",
]  # fmt: skip
SECRET = "a key of another user"


@pytest.fixture
def run(small_run, tmp_path):
    shutil.copytree(small_run, tmp_path / "OTHER")
    (tmp_path / "OTHER" / "secret").write_text(SECRET)
    return shutil.copytree(small_run, tmp_path / "RUN")


def test_as_it_was_made_it_can_be_read(call, run):
    assert call("report", "RUN")[0] == 0
    assert call("status", "RUN")[0] == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_out_of_the_folder(call, run, command):
    """`experiment.toml` led the report to any file that its reader may read."""
    (run / "experiment.toml").unlink()
    (run / "experiment.toml").symlink_to("../OTHER/secret")
    code, out, err = call(*command.split())
    assert (code, out, err.count("\n")) == (4, "", 1)
    assert "RUN/experiment.toml is a link that leads out of the run folder" in err
    assert not (run / "report.html").exists()


@pytest.mark.parametrize(
    "name", ["best", "evals", "logs", "checkpoint", "patterns", "evals/gen-000001.parquet", "logs/run.jsonl",
             "best/certificates.json", "manifest.json", "resolved.json", ".lock"],
)  # fmt: skip
@pytest.mark.parametrize("absolute", [False, True])
def test_any_of_its_folders_and_files(call, run, name, absolute):
    path, other = run / name, run.parent / "OTHER" / name
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    path.symlink_to(other if absolute else os.path.relpath(other, path.parent))
    for command in ("report RUN", "status RUN"):
        code, out, err = call(*command.split())
        assert (code, out, err.count("\n")) == (4, "", 1)
        assert f"RUN/{name} is a link that leads out of the run folder" in err


def test_a_link_through_a_link(call, run):
    """Each leads to a place in the folder at first sight."""
    (run / "best" / "way").symlink_to("../..")
    (run / "experiment.toml").unlink()
    (run / "experiment.toml").symlink_to("best/way/OTHER/secret")
    assert call("report", "RUN")[0] == 4


@pytest.mark.parametrize(
    "command", ["report RUN", "status RUN", "status RUN --watch", "resume RUN", "compare RUN OTHER"]
)
@pytest.mark.parametrize("name", ["experiment.toml", "logs/run.jsonl", "manifest.json"])
def test_a_pipe_is_not_waited_for(call, run, command, name):
    (run / name).unlink()
    os.mkfifo(run / name)
    code, out, err = call(*command.split())
    assert (code, out, err.count("\n")) == (4, "", 1)
    assert f"RUN/{name} is not a regular file" in err


def test_links_that_stay_inside(call, run):
    (run / "experiment.toml").rename(run / "best" / "given.toml")
    (run / "experiment.toml").symlink_to("best/given.toml")
    assert call("report", "RUN")[0] == 0
    assert "Ka-band &lt;lens&gt;" in (run / "report.html").read_text()


def test_results_on_another_disk(call, run, tmp_path):
    """The run folder, or one above it, may be a link."""
    (tmp_path / "disk").mkdir()
    run.rename(tmp_path / "disk" / "RUN")
    (tmp_path / "results").symlink_to(tmp_path / "disk")
    (tmp_path / "latest").symlink_to("results/RUN")
    for path in ("results/RUN", "latest"):
        assert call("report", path)[0] == 0
        assert call("status", path)[0] == 0


def test_what_is_not_the_runs_own_is_left_alone(call, run):
    (run / "notes").symlink_to("/")
    assert call("report", "RUN")[0] == 0


def test_an_experiment_file_too_large_to_be_one(call, run):
    with (run / "experiment.toml").open("ab") as file:
        file.truncate(10**12)
    code, _, err = call("report", "RUN")
    assert (code, err.count("\n")) == (4, 1)
    assert "experiment.toml cannot be read (larger than 10 MB)" in err
