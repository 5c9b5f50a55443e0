"""What `import fdtd` offers: its example runs, every name is there, and naming the package loads nothing."""

from __future__ import annotations

import doctest
import subprocess
import sys

import fdtd


def test_the_example_runs() -> None:
    found = doctest.testmod(fdtd, verbose=False)
    assert found.attempted > 10
    assert found.failed == 0


def test_every_name_is_there() -> None:
    for name in fdtd.__all__:
        assert getattr(fdtd, name) is not None
    assert set(fdtd.__all__) == set(fdtd._HOME_OF)
    assert set(fdtd.__all__) <= set(dir(fdtd))
    assert not hasattr(fdtd, "nothing_of_the_kind")


def test_naming_the_package_loads_nothing() -> None:
    text = "import sys, fdtd; print(*(one for one in ('numpy', 'scipy', 'numba') if one in sys.modules))"
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []
