"""A small radiator in open space: in a small domain with absorbing layers, and in one too large to answer."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from cavities import BACKENDS
from scipy.constants import speed_of_light

from fdtd.axisymmetric.grid import AxisymmetricGrid, courant_limit
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.monitors import HuygensContour, Sampling
from fdtd.axisymmetric.problem import ModalSource, Problem
from fdtd.cpml import AxialLayer, RadialLayer

CELL = 0.4e-3
CELLS_PER_WAVELENGTH = 25.0
CENTRE = 2 * np.pi * speed_of_light / (CELLS_PER_WAVELENGTH * CELL)  # rad/s, 30 GHz
ALPHA = 0.1 * CENTRE
STRENGTH = 0.8
LEAD = 7.0  # the pulse begins at 2e-11 of its peak: a step there excites waves of the lattice that cling to the axis
STEPS = 440  # nothing comes back from the large domain's walls before that
MARGIN = 150
FACES = {"r": ("side", ("e", "e_z")), "z": ("bottom", ("e_r", "e"))}


def empty(grid: AxisymmetricGrid, batch: int = 1) -> Media:
    """Free space."""
    ones = np.ones((batch, 3, grid.nz, grid.nr))
    return Media(permittivity=ones, conductivity=0 * ones, open_length=ones, open_area=ones)


def layers(grid: AxisymmetricGrid, bottom: int, top: int) -> tuple[AxialLayer, ...]:
    """Layers of these thicknesses in front of both ends; 0 leaves one out."""
    ends = ((bottom, 0, bottom), (grid.nz - top, grid.nz, top))
    return tuple(
        AxialLayer(inner=inner, outer=outer, columns=grid.nr, strength=STRENGTH, alpha=ALPHA)
        for inner, outer, thickness in ends
        if thickness
    )


def radiate(
    backend: str,
    order: int,
    width: int,
    below: int,
    above: int,
    thickness: tuple[int, int, int],
    box: tuple[int, int, int],
    *,
    column: int = 0,
    steps: int = STEPS,
) -> np.ndarray:
    """Samples of the tangential E on a box around a ring of radial current, lit by a pulse.

    Args:
        backend: Which backend.
        order: Azimuthal order.
        width: Cells from the axis to the radial layer.
        below: Cells from the source's plane down to the layer.
        above: Cells up to the layer.
        thickness: Cells of the layers at r_max, z_min, z_max; 0 is a bare wall.
        box: The contour's column, and its distance below and above the source's plane.
        column: Where the ring stands; 0 is at the axis.
        steps: Length of the run.
    """
    radial, bottom, top = thickness
    grid = AxisymmetricGrid(
        nr=width + radial,
        nz=bottom + below + above + top,
        cell=CELL,
        origin=bottom + below,
        courant_number=0.98 * courant_limit(order),
        azimuthal_order=order,
    )
    spread = 3 / CENTRE
    times = (np.arange(steps) + 0.5) * grid.time_step - LEAD * spread
    problem = Problem(
        grid=grid,
        media=empty(grid),
        sampling=Sampling(record_every=1, check_every=steps, steps=steps, decay=0.0),
        radial_layer=RadialLayer(cells=radial, strength=STRENGTH, alpha=ALPHA),
        axial_layers=layers(grid, bottom, top),
        source=ModalSource(
            plane=grid.origin,
            profile_r=np.eye(column + 1)[column],
            profile_phi=np.zeros(column + 1),
            waveform=np.sin(CENTRE * times) * np.exp(-((times / spread) ** 2) / 2),
        ),
        contour=HuygensContour(column=box[0], bottom=grid.origin - box[1], top=grid.origin + box[2]),
    )
    return BACKENDS[backend](problem).contour[0]


@lru_cache
def undisturbed(order: int, box: tuple[int, int, int]) -> np.ndarray:
    """The same in a domain so large that its walls are not felt."""
    return radiate("reference", order, box[0] + MARGIN, box[1] + MARGIN, box[2] + MARGIN, (0, 0, 0), box)


def reflection_db(samples: np.ndarray, expected: np.ndarray, box: tuple[int, int, int], face: str) -> float:
    """Largest error of tangential E on one face over the largest value on it, over the whole run; radii divided out."""
    sections = HuygensContour(column=box[0], bottom=0, top=box[1] + box[2]).sections()
    side, names = FACES[face]
    error, scale = 0.0, 0.0
    for name in names:
        radii = 1.0
        if name == "e":
            radii = box[0] if face == "r" else np.maximum(np.arange(box[0] + 1), 1.0)
        part = sections[side, name]
        error = max(error, np.abs((samples[:, part] - expected[:, part]) / radii).max())
        scale = max(scale, np.abs(expected[:, part] / radii).max())
    return 20 * np.log10(error / scale)
