"""Run folders that are damaged, in use, changed or of another version: one clear line, exit code, nothing touched."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import bits
import cheap_lens
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from required import skip_without

from antennaopt.cli import main
from antennaopt.run import start as study
from antennaopt.store.checkpoint import canonical, digest

HERE = Path(__file__).parent

pytestmark = pytest.mark.usefixtures("blank_figures")


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    return cheap_lens.start(tmp_path_factory.mktemp("quiet"), farm=cheap_lens.serial, sleep_s=0.0).folder


@pytest.fixture
def stopped(quiet, tmp_path):
    """A copy of the run, as it was before its last generation's checkpoint: generation 3 is to be done."""
    root = tmp_path / quiet.name
    shutil.copytree(quiet, root)
    (root / "checkpoint" / "checkpoint-000003.json").unlink()
    earlier = json.loads((root / "checkpoint" / "checkpoint-000002.json").read_text())
    assert earlier["payload"]["generation"] == 2
    return root


def resumed(folder, *arguments):
    """Resume with the program's own command line; only what solves is replaced."""
    return by_command("resume", folder, *arguments)


def by_command(*arguments):
    """Run a command in this process, which spares every test the start of Python and of its libraries."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(stdout), redirect_stderr(stderr):
        patch.setattr(
            study, "resume", partial(study.resume, evaluate=cheap_lens.bowl, report=False, farm=cheap_lens.serial)
        )
        code = main([*map(str, arguments)])
    return SimpleNamespace(returncode=code, stdout=stdout.getvalue(), stderr=stderr.getvalue())


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


def assert_refused(folder, code, said, *arguments):
    before = contents(folder)
    done = resumed(folder, *arguments)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert re.search(said, done.stderr.strip().splitlines()[-1]), done.stderr
    assert contents(folder) == before


def test_resumed_it_is_equal(stopped, quiet):
    done = resumed(stopped)
    assert done.returncode == 0, done.stderr
    bits.assert_equal(stopped, quiet)


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_damaged_checkpoint_is_said_and_the_one_before_it_used(stopped, quiet, damage):
    shutil.copy(quiet / "checkpoint" / "checkpoint-000003.json", stopped / "checkpoint")
    path = stopped / "checkpoint" / "checkpoint-000003.json"
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[: len(data) // 2]
    else:
        data[len(data) // 2] ^= 4
    path.write_bytes(data)
    done = resumed(stopped)
    assert done.returncode == 0, done.stderr
    assert "checkpoint-000003.json is damaged" in done.stderr
    assert "the one before it is used" in done.stderr
    bits.assert_equal(stopped, quiet)


def test_all_checkpoints_damaged_is_refused(stopped):
    for path in (stopped / "checkpoint").iterdir():
        path.write_bytes(path.read_bytes()[:-30])
    assert_refused(stopped, 4, "every checkpoint .* is damaged")


def test_a_checkpoint_that_no_search_can_have_written_is_refused(stopped):
    """A gene outside [0, 1] in both checkpoints, with the digests that belong to them."""
    for path in (stopped / "checkpoint").iterdir():
        payload = json.loads(path.read_text())["payload"]
        payload["state"]["evolution"]["population"][0]["candidate"]["genome"][1] = -1e-9
        path.write_text(json.dumps({"version": 1, "sha256": digest(canonical(payload)), "payload": payload}))
    assert_refused(stopped, 4, r"gene 1 = -1e-09 lies outside \[0, 1\]")


@pytest.mark.parametrize("damage", ["cut", "flipped", "gone", "other"])
def test_damaged_rows_are_refused_by_name(stopped, damage):
    path = stopped / "evals" / "gen-000001.parquet"
    data = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(data[:-50])
    elif damage == "flipped":
        data[200] ^= 1
        path.write_bytes(data)
    elif damage == "gone":
        path.unlink()
    else:
        shutil.copy(stopped / "patterns" / "gen-000001.parquet", path)
    assert_refused(stopped, 4, r"generation 1|gen-000001\.parquet (is damaged|have other columns)")


READ_BY_ALL = ["individual", "status", "fitness"]


@pytest.mark.parametrize(
    ("command", "column"),
    [
        *((command, column) for command in ("status", "export") for column in READ_BY_ALL),
        *((command, column) for command in ("resume", "report") for column in (*READ_BY_ALL, "generation", "parents")),
        ("status", "cached"),
        ("resume", "genome"),
    ],
)
def test_a_row_without_what_every_row_has_is_damage(stopped, command, column):
    """In whichever command reads it; of a genome one gene is missing. A resume refuses, readers show the rest."""
    path = stopped / "evals" / "gen-000001.parquet"
    rows = pq.read_table(path, partitioning=None)
    nothing = [None] if column == "genome" else None
    pq.write_table(pa.Table.from_pylist([row | {column: nothing} for row in rows.to_pylist()], rows.schema), path)
    before = contents(stopped)
    done = by_command(command, stopped, *(["--toml", "-", "--quiet"] if command == "export" else []))
    assert done.returncode == (4 if command == "resume" else 0), done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "is damaged" in line]
    assert re.search(rf"gen-000001\.parquet is damaged .*a row has no {column}.*resume --repair", line)
    after = contents(stopped)
    assert {path: after[path] for path in before} == before


def test_a_second_writer_is_refused(stopped):
    holder = subprocess.Popen(
        [sys.executable, "-c", "import sys, time; from antennaopt.store.run_folder import RunFolder\n"
         "with RunFolder.open(sys.argv[1], write=True):\n print('held', flush=True)\n time.sleep(600)", str(stopped)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert holder.stdout.readline() == "held\n"
        assert_refused(stopped, 3, f"in use by process {holder.pid} ")
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
    assert resumed(stopped).returncode == 0


def test_other_physics_is_refused_with_the_difference_and_another_budget_is_not(quiet, tmp_path, monkeypatch):
    """A run of the file itself: `--set` may change its budget and cluster, nothing that decides the numbers."""
    toml = tmp_path / "lens.toml"
    toml.write_text(TOML)
    folder = begun(toml, tmp_path)
    assert_refused(folder, 4, r"solver\.frequencies\.0: 30000000000\.0 -> 29000000000\.0",
                   "--set", 'solver.frequencies=["29 GHz"]')  # fmt: skip
    assert_refused(folder, 4, "seed: 3 -> 4", "--set", "seed=4")
    assert_refused(folder, 4, r"evolution\.population: 6 -> 8", "--set", "evolution.population=8")
    done = resumed(folder, "--set", "evolution.generations=4", "--set", "cluster.workers=1")
    assert done.returncode == 0, done.stderr
    assert len(list((folder / "evals").glob("*.parquet"))) == 4


TOML = """
seed = 3
[antenna]
family = "shaped_lens"
feed = { inner_radius = "3.6 mm", outer_radius = "4.0 mm", length = "20 mm" }
lens = { permittivity = 2.53, radii = { count = 4, min = "8 mm", max = "20 mm" } }
[solver]
frequencies = ["30 GHz"]
[evolution]
population = 6
generations = 2
[[objective]]
metric = "directivity_dbi"
at_least = 30.0
[certificate]
mode = "off"
"""


def begun(toml, root):
    from antennaopt.experiment import load_experiment
    from antennaopt.run.start import run

    return run(
        load_experiment(toml), root=root, source=toml.read_text(), plan=cheap_lens.PLAN | {"sleep_s": 0.0},
        evaluate=cheap_lens.bowl, farm=cheap_lens.serial, report=False,
    ).folder  # fmt: skip


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("manifest.json", lambda found: found | {"schema_version": 99}, "schema version 99"),
        ("manifest.json", lambda found: found | {"columns": {"genes": 7}}, r"manifest\.json is damaged"),
        ("manifest.json", lambda found: {}, r"manifest\.json is damaged"),
        ("manifest.json", lambda found: found | {"backend": None}, r"manifest\.json is damaged: .* and backend a name"),
        (
            "manifest.json",
            lambda found: found | {"plan": {"nr": {}, "nz": 3}},
            r"manifest\.json is damaged: plan\.nr and",
        ),
        (
            "manifest.json",
            lambda found: found | {"plan": found["plan"] | {"cell": 3.1e-4}},
            "its plan is not the one that the run began with",
        ),
        ("resolved.json", lambda found: found | {"seed": 8}, "was changed since the run began"),
        ("resolved.json", lambda found: [], "does not hold an object"),
    ],
)
def test_a_folder_of_another_version_or_changed_by_hand_is_refused(stopped, name, change, said):
    path = stopped / name
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    assert_refused(stopped, 4, said)


def test_a_link_out_of_the_folder_is_refused(stopped, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (stopped / "logs" / "run.jsonl").unlink()
    (stopped / "logs" / "run.jsonl").symlink_to(outside)
    assert_refused(stopped, 4, "run.jsonl is a link")
    assert outside.read_text() == "mine"


def test_another_arithmetic_class_is_said_and_logged(stopped, quiet):
    """Another solver's text, another compiler: the run goes on, and no longer claims the same bits."""
    path = stopped / "manifest.json"
    manifest = json.loads(path.read_text())
    assert manifest["arithmetic"]["backend"] == "cpu"
    assert manifest["arithmetic"]["numpy"] == manifest["versions"]["numpy"]
    manifest["arithmetic"] |= {"solver": "0.1.0+0123456789ab", "compiler": "Numba 0.1"}
    path.write_text(json.dumps(manifest))
    done = resumed(stopped)
    assert done.returncode == 0
    said = [line.strip() for line in done.stderr.splitlines()]
    at = said.index("resumed with other arithmetic: the same bits as without an interruption are not claimed")
    assert said[at + 1].startswith("solver: 0.1.0+0123456789ab -> 0.1.0+")
    assert said[at + 2].startswith("compiler: Numba 0.1 -> Numba 0.")
    (event,) = bits.events(stopped, "resumed")
    assert event["arithmetic_changes"] == said[at + 1 : at + 3]


def test_a_run_of_version_0_1_is_resumed_and_claims_nothing(stopped):
    """Its class had versions in a table, a `tile` that nothing wrote, and neither solver nor compiler."""
    path = stopped / "manifest.json"
    manifest = json.loads(path.read_text())
    now = manifest["arithmetic"]
    versions = {name: now[name] for name in ("numpy", "scipy")} | {"numba": "0.68.1", "deap": "1.4.4"}
    kept = {name: now[name] for name in ("backend", "precision", "processor")}
    manifest["arithmetic"] = {**kept, "scheme": None, "tile": None, "device": None, "versions": versions}
    path.write_text(json.dumps(manifest))
    done = resumed(stopped)
    assert done.returncode == 0
    assert "the same bits as without an interruption are not claimed" in done.stderr
    (event,) = bits.events(stopped, "resumed")
    expected = "solver, kernels, compiler, target, search: not recorded when the run began"
    assert event["arithmetic_changes"] == [expected]


def test_in_the_same_class_nothing_is_said(stopped):
    done = resumed(stopped)
    assert "arithmetic" not in done.stderr
    assert bits.events(stopped, "resumed")[-1]["arithmetic_changes"] == []


def test_a_full_disk_at_the_start_touches_nothing(tmp_path):
    """A file system with no room for the folder itself: exit code 6, one line; see also `test_every_write`."""
    mount = tmp_path / "disk"
    mount.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(mount)], capture_output=True, text=True
    )
    if done.returncode != 0:
        skip_without("mount", f"no file system may be mounted here: {done.stderr.strip()}")
    try:
        (mount / "filler").write_bytes(b"x" * 4096)
        toml = tmp_path / "lens.toml"
        toml.write_text(TOML)
        done = by_command("run", toml, "--out", mount / "results")
        assert done.returncode == 6
        assert "the disk is full; free some space" in done.stderr.splitlines()[-1]
        assert [path.name for path in mount.rglob("*") if path.is_file()] == ["filler"]
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=True)
