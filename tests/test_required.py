"""What a machine lacks is a skipped test, and a failed one where it is required. Unknown names are refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import required

TESTS = Path(__file__).parent

LACKING = """
import pytest
from required import skip_without

@pytest.fixture
def mounted():
    skip_without("mount", "the kernel refuses")

def test_that_needs_a_mount(mounted):
    pass

def test_that_needs_meep():
    skip_without("meep", "no module named meep")
"""


def outcomes(folder, names):
    (folder / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (folder / "test_lacking.py").write_text(LACKING)
    environment = {**os.environ, "PYTHONPATH": str(TESTS), required.VARIABLE: names}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rsf", str(folder)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("names", "code", "says"),
    [
        ("", 0, "2 skipped"),
        ("hosts", 0, "2 skipped"),
        ("meep", 1, "1 failed, 1 skipped"),
        ("meep, mount", 1, "1 failed, 1 error"),
    ],
)
def test_what_is_required_may_not_be_lacking(tmp_path, names, code, says):
    done = outcomes(tmp_path, names)
    assert (done.returncode, says in done.stdout) == (code, True), done.stdout + done.stderr
    if "meep" in names:
        assert "ANTENNAOPT_REQUIRE requires meep (Meep in the system's Python" in done.stdout


def test_a_name_that_is_not_known_is_refused(tmp_path):
    """A typing error would make a requirement of nothing."""
    done = outcomes(tmp_path, "hosts,mounts")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert (
        "ANTENNAOPT_REQUIRE names mounts; it takes hosts, mount, accounts, meep, openems, build123d, atheris, by comma"
        in done.stderr
    )


def test_no_other_test_skips_what_may_be_required():
    """Each lack has one name; `pytest.skip` for root, mounts, Meep or atheris would pass in silence."""
    files = [path for path in TESTS.rglob("*.py") if path.name != "required.py" and "gpu" not in path.parts]
    found = [
        (path.name, line.strip())
        for path in files
        for line in path.read_text("utf-8").splitlines()
        if "pytest.skip(" in line or "importorskip(" in line
    ]
    allowed = {"test_required.py", "test_measured.py", "test_bor_bits.py", "test_study_run.py"}
    assert [one for one in found if one[0] not in allowed] == []
