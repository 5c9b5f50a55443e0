"""No file is ever unpickled, and no text of a file run: by the text of the packages, and by what a whole study does."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted(path for package in ("fdtd", "antennaopt") for path in (ROOT / package).rglob("*.py"))
NEVER_IMPORTED = {"pickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "code", "runpy"}
NEVER_CALLED = {"eval", "exec", "compile", "__import__", "read_pickle", "to_pickle", "full_load", "unsafe_load"}
MODULES_WITH_A_LOAD = {"np", "numpy", "yaml", "xp", "cupy"}

STUDY = '''
"""Carries studies out and reads them back, and writes down who unpickles on the way."""
import sys

# Dask's messages between processes are pickled: they come through sockets, from who holds our certificates. Numba
# keeps what it compiled from our own text beside it, or in the user's cache.
ALLOWED = ("/distributed/", "/multiprocessing/", "/numba/core/caching.py", "/numba/core/serialize.py")
strangers, allowed = [], set()

def hook(event, arguments):
    if event in ("pickle.find_class", "marshal.load", "marshal.loads"):
        frame, files = sys._getframe(1), []
        while frame is not None:
            files.append(frame.f_code.co_filename)
            frame = frame.f_back
        found = {part for part in ALLOWED for file in files if part in file}
        if found:
            allowed.update(found)
        elif event == "pickle.find_class" or not any("importlib" in file or "zipimport" in file for file in files):
            strangers.append((event, repr(arguments)[:80], files[:6]))

sys.addaudithook(hook)

def main():
    from pathlib import Path
    from antennaopt.cli import main as program
    experiment, out = sys.argv[1:]
    small = ["--set", "evolution.population=4", "--set", "solver.cell=0.6 mm", "--backend", "cpu", "--workers", "2"]
    cache = ["--cache", out + "/cache"]
    codes = [program(["run", experiment, "--out", out, *small, *cache, "--set", "evolution.generations=2"])]
    (folder,) = Path(out).glob("quickstart/*")
    codes += [program(["resume", str(folder), *cache, "--set", "evolution.generations=3"])]
    codes += [program([name, str(folder)]) for name in ("status", "report")]
    codes += [program(["status", str(folder), "--watch"]), program(["cache", *cache])]
    codes += [program(["export", str(folder), "--toml", out + "/best.toml"])]
    assert "/distributed/" in allowed, "the hook hears of unpickling"
    print(codes, strangers)

if __name__ == "__main__":
    main()
'''


def offences(path):
    """What a file's text imports or calls that it must not, with its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = set()
        if isinstance(node, ast.Import):
            names = {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = {(node.module or "").partition(".")[0]}
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in NEVER_CALLED:
                yield node.lineno, called.id
            elif isinstance(called, ast.Attribute) and called.attr in NEVER_CALLED - {"compile", "eval"}:
                yield node.lineno, called.attr
            elif isinstance(called, ast.Attribute) and called.attr == "load":
                allow = {one.arg: one.value for one in node.keywords}.get("allow_pickle")
                refused = isinstance(allow, ast.Constant) and allow.value is False
                if isinstance(called.value, ast.Name) and called.value.id in MODULES_WITH_A_LOAD and not refused:
                    yield node.lineno, "load"
        if names & NEVER_IMPORTED:
            yield node.lineno, names


def test_no_text_of_ours_can_unpickle_or_run_a_file(tmp_path):
    """Broken once on purpose, in a file of each kind, before all of ours are looked through."""
    for text in ("import pickle", "from cloudpickle import loads", "x = eval('1')", "import numpy as np; np.load('x')"):
        (tmp_path / "bad.py").write_text(text)
        assert list(offences(tmp_path / "bad.py")), text
    assert len(SOURCES) > 100
    assert {str(path.relative_to(ROOT)): found for path in SOURCES if (found := list(offences(path)))} == {}


@pytest.mark.slow
def test_a_study_unpickles_no_file(tmp_path):
    """Run, resume, status, report, export and cache under an audit hook; every unpickling is a message of Dask's."""
    script = tmp_path / "study.py"
    script.write_text(STUDY)
    experiment = ROOT / "experiments" / "quickstart.toml"
    command = [sys.executable, script, experiment, tmp_path / "runs"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[0, 0, 0, 0, 0, 0, 0] []", done.stdout + done.stderr
