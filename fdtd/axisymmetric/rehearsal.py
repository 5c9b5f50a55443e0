"""Preparation of a device for the batches of a study: kernels compiled and loaded, tables made; nothing is stepped.

Parts that need nothing of each other are made side by side: the run-time compiler works in as many threads as ask it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial

import numpy as np

from fdtd import backends
from fdtd.arrays import on_host
from fdtd.axisymmetric.layout import Layout
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.near_fields import near_field
from fdtd.axisymmetric.problem import Problem, Records
from fdtd.axisymmetric.scene import Scene
from fdtd.axisymmetric.simulation import PREPARING, Keep, field_map_of, fill, pose
from fdtd.axisymmetric.solutions import figures
from fdtd.backends import ARRAYS
from fdtd.farfield.axisymmetric import transform
from fdtd.side_by_side import side_by_side

_SAMPLES = 8  # of records that hold nothing: what is compiled does not depend on their number

Choose = Callable[[Media], Sequence[int]]


def rehearse(
    layout: Layout,
    scene: Scene,
    *,
    backend: str,
    precision: str,
    keep: Keep,
    choose: Choose | None = None,
    first: bool = True,
) -> None:
    """Have what `solve` takes on a device compiled, loaded and made.

    Args:
        layout: Of the study.
        scene: Two antennas of it; one where one will be solved alone. Kernels depend on the columns that hold more than
            air, so the widest is best, and those of CuPy on the dimensions of arrays, of which a batch of one has
            fewer.
        backend: "cuda".
        precision: "float32" or "float64".
        keep: What solutions will hold beyond figures.
        choose: As in `fdtd.axisymmetric.simulation.Hooks`.
        first: Whether batches wait until it has rasterised and packed: they would compile the same.

    Raises:
        Exception: As `solve`; a batch meets it again.
    """
    side_by_side(
        partial(_prepare, layout, scene, backend, precision, keep, choose=choose, first=first),
        partial(transform, layout.grid, layout.contour, layout.frequencies, layout.theta_intervals),
        partial(_look, layout, scene.batch, backend, precision, keep),
    )


def _prepare(
    layout: Layout, scene: Scene, backend: str, precision: str, keep: Keep, *, choose: Choose | None, first: bool
) -> None:
    """Rasterise and pack the antennas, and compile what steps them."""
    with backends.ahead(backend), PREPARING if first else nullcontext():
        media = fill(layout, scene, ARRAYS[backend]())
        if choose is not None:
            choose(media)
        problem, _ = pose(layout, media, field_map_of(layout, media, keep), few=keep.power_lost)
        backends.rehearse(backend, problem, precision)


def _look(layout: Layout, batch: int, backend: str, precision: str, keep: Keep) -> None:
    """Reduce records that hold nothing to figures."""
    with backends.ahead(backend):
        xp = ARRAYS[backend]()
        ones = xp.ones((batch, 3, layout.nz, layout.nr))
        media = Media(permittivity=ones, conductivity=ones, open_length=ones, open_area=ones)
        box = field_map_of(layout, media, keep)
        problem = Problem(
            grid=layout.grid,
            media=media,
            sampling=layout.sampling,
            radial_layer=layout.radial_layer,
            axial_layers=layout.axial_layers,
            contour=layout.contour,
            field_map=box,
        )
        records = Records(
            steps=np.zeros(batch, dtype=int),
            energy=np.zeros(batch),
            finite=np.ones(batch, dtype=bool),
            port=xp.zeros((batch, _SAMPLES, 2)),
            contour=xp.zeros((batch, _SAMPLES, layout.contour.size), dtype=precision),
            field_map=None if box is None else xp.zeros((batch, *box.shape), dtype=precision),
            final=None,
        )
        band = np.array(layout.frequencies) if keep.sweep else np.zeros(0)
        on_host(figures(layout, problem, records, slice(0, batch), band, losses=keep.power_lost))
        near_field(problem, records, 0, keep.fields)
