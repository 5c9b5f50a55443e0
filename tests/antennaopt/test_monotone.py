"""Monotone cubics have SciPy's bits, whatever the points, and `import antennaopt...shaped_lens` needs none of it."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

from antennaopt.families import kind, stack
from antennaopt.families.monotone import monotone_cubics


def bits(x, y):
    ours, theirs = monotone_cubics(x, y), np.asarray(PchipInterpolator(x, y, axis=0).c)
    assert ours.shape == theirs.shape
    assert np.array_equal(ours.view(np.int64), theirs.view(np.int64))


@pytest.mark.parametrize("points", [3, 4, 15, 40])
def test_they_have_the_bits_of_scipys(points):
    """Also where neighbours are equal, slopes change their sign, and a curve ends flat, steeply or with a turn."""
    numbers = np.random.default_rng(points)
    x = np.cumsum(numbers.uniform(0.01, 1.0, points))
    smooth = numbers.uniform(8e-3, 20e-3, (points, 400))
    bits(x, smooth)
    bits(x, np.round(smooth, 3))  # many are equal
    bits(x, np.round(smooth, 3) - 0.014)
    bits(x, np.sort(smooth, axis=0) ** 8)
    bits(np.linspace(-np.pi / 2, np.pi / 2, points), smooth)


def test_a_constant_is_flat():
    assert np.array_equal(monotone_cubics(np.arange(3.0), np.full((3, 1), 2.0))[:3], np.zeros((3, 2, 1)))


def test_a_lens_is_drawn_without_scipys_interpolation():
    code = (
        "import sys; from antennaopt.families import kind, stack; lens = kind('shaped_lens');"
        "design = {f'lens.radii.{n}': 0.01 for n in range(8)} | {'feed.outer_radius': 0.004};"
        "print(lens.size(stack([design])), 'scipy.interpolate' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "False"
    assert kind("shaped_lens").size(stack([{f"lens.radii.{n}": 0.01 for n in range(8)} | {"feed.outer_radius": 0.004}]))
