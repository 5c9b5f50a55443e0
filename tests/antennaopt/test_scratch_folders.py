"""A killed run leaves its folder for Dask's files; the next start removes it, and no folder of a living one."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import SAFETY_S, wait_until

from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm
from antennaopt.farm.servers import OWNER, PrivateFolder, remove_stale

HOLDS = """
import sys, time
from antennaopt.farm.servers import PrivateFolder
folder = PrivateFolder()
print(folder.name, flush=True)
sys.stdin.read()
"""


def solve(family, designs, plan, *, backend):
    return [{"status": "ok"} for _ in designs]


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The system's temporary folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def other(temporary):
    """Another process with a folder, which lives."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    folder = Path(process.stdout.readline().strip())
    assert (folder / OWNER).is_file()
    yield process, folder
    process.stdin.close()
    process.stdout.close()
    process.wait(timeout=SAFETY_S)


def test_a_folder_of_a_killed_process_is_removed_by_the_next_start(temporary, other):
    process, folder = other
    (folder / "dask-scratch-space").mkdir()
    (folder / "dask-scratch-space" / "file").write_text("text")
    with PrivateFolder() as mine:
        assert folder.is_dir(), "its owner lives"
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=SAFETY_S)
        with PrivateFolder() as second:
            assert set(temporary.iterdir()) == {Path(mine), Path(second)}
    assert list(temporary.iterdir()) == []


def test_a_farm_removes_it(temporary, other):
    process, folder = other
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=SAFETY_S)
    with DaskFarm(solve, family="test", plan={}, cluster=ClusterSettings(workers=1, dashboard=False)) as farm:
        assert not folder.exists()
        own = Path(farm.pool.cluster._scratch.name)
        remove_stale()
        assert (own / OWNER).is_file()
        assert len(dict(farm.run([[("a", {"x": 1.0})]]))) == 1
    wait_until(lambda: not own.exists())


def test_other_folders_are_left_alone(temporary):
    """Of an earlier version, not owned yet, open to others, a link; and one of another user, as root only."""
    names = ["antennaopt-x1", "antennaopt-dask-new", "antennaopt-dask-open", "elsewhere"]
    for name in names:
        (temporary / name).mkdir(mode=0o700)
        if name != "antennaopt-dask-new":
            (temporary / name / OWNER).touch()
    (temporary / "antennaopt-dask-open").chmod(0o755)
    (temporary / "antennaopt-dask-link").symlink_to("elsewhere")
    if os.getuid() == 0:
        (temporary / "antennaopt-dask-other").mkdir(mode=0o700)
        (temporary / "antennaopt-dask-other" / OWNER).touch()
        os.chown(temporary / "antennaopt-dask-other", 65534, 65534)
    before = set(temporary.rglob("*"))
    remove_stale()
    assert set(temporary.rglob("*")) == before
    (temporary / "antennaopt-dask-stale").mkdir(mode=0o700)
    (temporary / "antennaopt-dask-stale" / OWNER).touch()
    remove_stale()
    assert set(temporary.rglob("*")) == before
