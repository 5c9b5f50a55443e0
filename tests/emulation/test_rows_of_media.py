"""Media as the steppers read them: the kernel's have the bits of the arrays'."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from host_device import HostLauncher

from fdtd.backends.cuda import packing

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import random_problem


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(("seed", "batch", "coupled", "shared"), [
    (1, 1, True, False), (4, 3, True, False), (5, 3, False, True), (6, 2, False, False),
])  # fmt: skip
@pytest.mark.parametrize(("lead", "beyond"), [(0, 0), (5, 4), (16, 40)])
def test_rows_are_those_of_arrays(precision, seed, batch, coupled, shared, lead, beyond):
    problem = random_problem(seed, 1, batch)
    nz, nr = problem.grid.nz, problem.grid.nr
    reach = np.random.default_rng(seed).integers(0, nr + 1, (batch, 1, nz, 1))
    air = np.arange(nr) >= reach
    plain = {"permittivity": 1.0, "conductivity": 0.0, "open_length": 1.0, "open_area": 1.0}
    filled = {name: np.where(air, one, getattr(problem.media, name)) for name, one in plain.items()}
    coupling = None if problem.media.coupling is None else np.where(air[:, 0], 0.0, problem.media.coupling)
    media = replace(problem.media, **filled, coupling=coupling)
    if not coupled:
        media = replace(media, coupling=None)
    if shared:
        one = {name: np.broadcast_to(getattr(media, name)[:1], media.permittivity.shape)
               for name in ("open_length", "open_area")}  # fmt: skip
        media = replace(media, **one)
    problem, pitch = replace(problem, media=media), lead + nr + beyond
    expected, _ = packing.pack(problem, precision, lead=lead, pitch=pitch)
    words, found = np.zeros((batch, nz + 1), np.int32), {}
    packing.add_media_in_one_launch(problem, found, words, np.dtype(precision), lead, pitch, HostLauncher())
    for name, array in found.items():
        assert array.dtype == expected[name].dtype
        np.testing.assert_array_equal(array, expected[name], err_msg=name)
    np.testing.assert_array_equal(packing._marked(problem, words), expected["rows"])
    assert (expected["rows"] & packing.ROW_CUT).any() and len(set((expected["rows"] & 0xFFFF).ravel())) > 3
