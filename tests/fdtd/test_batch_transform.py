"""Records of a whole batch in one array, as a device leaves them, give what each antenna's own records give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from antennaopt.geometry import FAMILIES, stack
from fdtd.backends import cpu
from fdtd.layout import Extent, Layout, lay_out
from fdtd.ports import GuideMode
from fdtd.problem import Problem, Records
from fdtd.simulation import _map, fill, pose
from fdtd.solutions import solutions

DESIGN = {
    "feed.inner_radius": 3.6e-3,
    "feed.outer_radius": 4.0e-3,
    "feed.length": 8e-3,
    "lens.loss_tangent": 0.01,
    "lens.extension": 2e-3,
    "lens.radius": 7e-3,
}
PERMITTIVITIES = (1.2, 4.0, 9.0)


@pytest.fixture(scope="module")
def solved() -> tuple[Layout, Problem, GuideMode, Records]:
    """Three lenses that stop at different steps."""
    sizes = {"r_max": 8e-3, "z_min": -8.4e-3, "z_max": 10e-3, "feed_radius": 3.6e-3, "feed_length": 8e-3}
    extent = Extent(**sizes, permittivity=2.53)
    layout = lay_out(extent, frequencies=(28e9, 30e9), design_frequency=30e9, cell=0.6e-3, decay_db=55.0)
    media = fill(
        layout,
        FAMILIES["hemispherical_lens"].scene(stack([DESIGN | {"lens.permittivity": one} for one in PERMITTIVITIES])),
    )
    problem, mode = pose(layout, media, _map(layout, media, False))
    return layout, problem, mode, cpu.run(problem, precision="float64")


def test_one_array_for_the_batch(solved: tuple[Layout, Problem, GuideMode, Records]) -> None:
    """Zeros after an antenna's stop change nothing."""
    layout, problem, mode, records = solved
    assert len({len(one) for one in records.contour}) > 1
    longest = max(len(one) for one in records.contour)

    def together(parts: list[np.ndarray]) -> np.ndarray:
        return np.stack([np.pad(one, ((0, longest - len(one)), (0, 0))) for one in parts])

    assert isinstance(records.port, list) and isinstance(records.contour, list)
    whole = replace(records, port=together(records.port), contour=together(records.contour))
    batch = solutions(layout, problem, mode, whole, sweep=5)
    for one, alone in zip(batch, solutions(layout, problem, mode, records, sweep=5), strict=True):
        assert (one.steps, one.energy, one.finite) == (alone.steps, alone.energy, alone.finite)
        for name in ("s11", "e_plane", "h_plane", "accepted", "radiated", "through_contour", "dissipated", "sweep_s11"):
            ours, theirs = getattr(one, name), getattr(alone, name)
            assert np.abs(ours - theirs).max() <= 1e-12 * np.abs(theirs).max(), name
