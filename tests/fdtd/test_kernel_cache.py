"""Machine code on disk belongs to the text of its kernels: copies of the package share one warm cache.

Every run is a process of its own. It compiles `walk.record_map`, which calls `bor.accumulate`, which calls a store that
`accesses.py` makes: one function is enough to see whose machine code runs.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fdtd
from fdtd.backends.cpu import compiled

PACKAGE = Path(fdtd.__file__).parent
RUN = """
import numpy as np
import fdtd
from fdtd.backends.cpu.bor import LEAD
from fdtd.backends.cpu.walk import record_map

state = np.random.default_rng(5).standard_normal(5 * 6 * (LEAD + 32)).astype(np.float32)
sums = np.zeros((6, 3, 16), np.float32)
wave = np.array([[[0.6]], [[-0.8]]], np.float32)
record_map(1, 0, state, LEAD + 32, np.array([0, 3, 0, 16]), wave, sums)
stats = record_map.stats
print(fdtd.__file__, sums.tobytes().hex(), sum(stats.cache_misses.values()))
"""
FLIPPED = {
    "update": ("bor.py", "+ cosine * value", "- cosine * value"),
    "store": ("accesses.py", "builder.store(args[2],", "builder.store(builder.fneg(args[2]),"),
}


def environment(caches, copy, **more):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "NUMBA"))}
    return clean | {"PYTHONPATH": str(copy), "XDG_CACHE_HOME": str(caches)} | more


def finished(process):
    out, err = process.communicate(timeout=250)
    assert process.returncode == 0, err
    file, bits, misses = out.split()
    return file, bits, int(misses)


def start(copy, caches, **more):
    command = [sys.executable, "-c", RUN]
    given = {"env": environment(caches, copy, **more), "cwd": copy}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **given)


def bits_and_misses(copy, caches, **more):
    """The bits that a copy computes, and how many functions it had to compile."""
    file, bits, misses = finished(start(copy, caches, **{"PYTHONDONTWRITEBYTECODE": "1"} | more))
    assert Path(file).parent == copy / "fdtd"
    return bits, misses


def copied(folder):
    shutil.copytree(PACKAGE, folder / "fdtd", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def flip(copy, name, *, back=False):
    """Change one sign; the file keeps its time, and in the update its size."""
    where, *signs = FLIPPED[name]
    file = copy / "fdtd" / "backends" / "cpu" / where
    times = (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    before, after = signs[::-1] if back else signs
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    os.utime(file, ns=times)


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A copy, its cache folder, and the bits that it computes."""
    copy = copied(tmp_path_factory.mktemp("warm"))
    bits, misses = bits_and_misses(copy, copy / "caches")
    assert misses == 1
    assert bits_and_misses(copy, copy / "caches") == (bits, 0)
    return copy, copy / "caches", bits


@pytest.mark.parametrize("name", FLIPPED)
def test_an_edit_of_another_file_runs_other_machine_code(warm, name):
    """Numba's own cache knows the outermost function's file alone, `walk.py`, and gives the bits before the edit."""
    copy, caches, bits = warm
    flip(copy, name)
    try:
        other, misses = bits_and_misses(copy, caches)
        assert (other != bits, misses) == (True, 1)
    finally:
        flip(copy, name, back=True)
    assert bits_and_misses(copy, caches) == (bits, 0)


def test_hidden_files_of_editors_and_file_systems_are_no_sources(tmp_path, warm):
    """Emacs locks a file that is being edited by a link to nowhere; macOS leaves binary files on shared disks."""
    _, caches, bits = warm
    copy = copied(tmp_path)
    (copy / "fdtd" / "backends" / "cpu" / ".#bor.py").symlink_to("me@here.1")
    (copy / "fdtd" / "backends" / "cpu" / "._bor.py").write_bytes(b"\x00\x05\x16\x07\xff")
    assert bits_and_misses(copy, caches) == (bits, 0)


@pytest.mark.slow
def test_old_byte_code_does_not_pass_its_machine_code_on(tmp_path, warm):
    """Python runs old byte code where a file keeps time and size; what is cached then is not the new text's."""
    _, _, bits = warm
    copy, caches = copied(tmp_path), tmp_path / "caches"
    assert bits_and_misses(copy, caches, PYTHONDONTWRITEBYTECODE="") == (bits, 1)
    flip(copy, "update")
    old, _ = bits_and_misses(copy, caches, PYTHONDONTWRITEBYTECODE="")
    for folder in list(copy.rglob("__pycache__")):
        shutil.rmtree(folder)
    new, _ = bits_and_misses(copy, caches)
    assert (old == bits, new != bits) == (True, True)


@pytest.mark.slow
def test_checkouts_share_a_cache_folder(tmp_path, warm):
    """One that differs neither gives nor takes; an equal one takes. Numba's own folders stay empty."""
    copy, own = copied(tmp_path / "copy"), {"NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    caches, bits = tmp_path / "caches", warm[2]
    assert bits_and_misses(copy, caches, **own) == (bits, 1)
    flip(copy, "update")
    other, misses = bits_and_misses(copy, caches, **own)
    assert (other != bits, misses) == (True, 1)
    assert bits_and_misses(warm[0], caches) == (bits, 0)
    assert bits_and_misses(copy, caches, **own) == (other, 0)
    assert not (tmp_path / "numba").exists()
    assert [one for one in copy.rglob("*") if one.suffix in (".nbi", ".nbc")] == []


@pytest.mark.slow
def test_workers_that_start_at_once_share_a_cache_folder(tmp_path, warm):
    copy, _, bits = warm
    caches = tmp_path / "caches"
    started = [start(copy, caches, PYTHONDONTWRITEBYTECODE="1") for _ in range(3)]
    assert {finished(one)[1] for one in started} == {bits}
    assert bits_and_misses(copy, caches) == (bits, 0)
    assert {one.suffix for one in caches.rglob("*") if one.is_file()} == {".nbi", ".nbc"}


@pytest.mark.slow
@pytest.mark.parametrize(("ending", "content"), [(".nbi", b"nothing of the kind"), (".nbc", b"")])
def test_a_damaged_entry_is_made_again(tmp_path, warm, ending, content):
    copy, caches, bits = warm
    mine = tmp_path / "caches"
    shutil.copytree(caches, mine)
    for file in mine.rglob(f"*{ending}"):
        file.write_bytes(content)
    assert bits_and_misses(copy, mine) == (bits, 1)
    assert bits_and_misses(copy, mine) == (bits, 0)


def test_folders_used_long_ago_go(tmp_path):
    """Those of other states of the package, but for the ones used last; not the one in use, and nothing else."""
    earlier = [tmp_path / "kernels" / f"{number:024x}" for number in range(compiled.KEPT + 5)]
    for age, one in enumerate(reversed(earlier)):
        one.mkdir(parents=True)
        os.utime(one, (1e9 - age, 1e9 - age))
    (tmp_path / "evaluations.sqlite").touch()
    own = compiled.folder(tmp_path)
    assert sorted(own.parent.iterdir()) == sorted([*earlier[6:], own])
    assert (tmp_path / "evaluations.sqlite").exists()
    assert own.stat().st_mtime > 1.7e9
