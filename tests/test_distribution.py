"""The source distribution holds the project, and the wheel made from it works on its own.

Built by the build back end itself and installed without dependencies, so that no network is needed; the wheel's
environment finds what it depends on in the folders that this process imports from.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]  # a safety net: half a minute on two free cores


def run(*command, cwd, **environment):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ANTENNAOPT"))}
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500, cwd=cwd, env=clean | environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def built(kind, source, out):
    """Call the build back end in a source tree; return what it made."""
    out.mkdir()
    code = f"import sys; from setuptools import build_meta; print(build_meta.build_{kind}(sys.argv[1]))"
    name = run(sys.executable, "-c", code, out, cwd=source).splitlines()[-1]
    return out / name


def tracked():
    """Paths of the project's files: what git knows, or in an unpacked source distribution all that lies there."""
    if (ROOT / ".git").exists():
        return run("git", "ls-files", "-z", cwd=ROOT).split("\0")[:-1]
    made_here = (".venv", "__pycache__", "build", ".pytest_cache", ".ruff_cache", "antennaopt.egg-info", "PKG-INFO")
    names = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
    return [str(name) for name in names if not set(name.parts) & {*made_here}]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("source")
    for name in tracked():
        copy = folder / "checkout" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy, follow_symlinks=False)
    archive = built("sdist", folder / "checkout", folder / "sdist")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def environment(source, tmp_path_factory):
    """Scripts of an environment with the wheel made from the source distribution."""
    folder = tmp_path_factory.mktemp("installed")
    wheel = built("wheel", source, folder / "wheel")
    venv.create(folder / "env", symlinks=True)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    installed = folder / "env" / "lib" / version / "site-packages"
    libraries = [path for path in sys.path if path.endswith("-packages")]
    (installed / "libraries.pth").write_text("\n".join(libraries))
    pip = ["-m", "pip", "--python", folder / "env" / "bin" / "python", "install", "--no-deps", "--no-index", "--quiet"]
    run(sys.executable, *pip, "--force-reinstall", wheel, cwd=folder)
    return folder / "env" / "bin"


def test_the_source_distribution_holds_every_file(source):
    missing = [name for name in tracked() if not (source / name).exists()]
    assert missing == []
    assert (source / "tests" / "test_distribution.py").is_file()


def test_the_tests_of_the_source_distribution_can_be_imported(source):
    found = run(sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", cwd=source)
    assert "tests/test_distribution.py::" in found
    assert " error" not in found.splitlines()[-1]


def test_an_installed_wheel_works_outside_the_repository(environment, tmp_path):
    """The demo evolves its lens and draws its report; the bench times the reference lens."""
    caches = {"XDG_CACHE_HOME": str(tmp_path / "caches")}
    place = "import antennaopt, fdtd; print(antennaopt.__file__); print(fdtd.__file__)"
    files = run(environment / "python", "-c", place, cwd=tmp_path).splitlines()
    assert all(Path(file).is_relative_to(environment.parent) for file in files)
    folder = run(environment / "antennaopt", "demo", "--backend", "cpu", cwd=tmp_path, **caches).splitlines()[-1]
    assert (tmp_path / folder / "report.html").stat().st_size > 100_000
    assert json.loads((tmp_path / folder / "best" / "result.json").read_text())["status"] == "ok"
    bench = [environment / "antennaopt", "bench", "evaluate", "--backend", "cpu", "--batch", "1", "--repeat", "1"]
    rows = json.loads(run(*bench, "--json", "-", cwd=tmp_path, **caches))
    assert rows[0]["antennas_per_s"] > 0.0
