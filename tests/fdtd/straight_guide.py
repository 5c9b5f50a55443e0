"""A straight circular guide, matched at both ends, with a source and a port in it."""

from __future__ import annotations

import numpy as np
from scipy.constants import speed_of_light

from fdtd.axisymmetric.conductors import open_parts
from fdtd.axisymmetric.grid import AxisymmetricGrid, courant_limit
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.monitors import FieldMap, Sampling
from fdtd.axisymmetric.ports import GuideMode, lowest_te_mode
from fdtd.axisymmetric.problem import ModalSource, Problem
from fdtd.axisymmetric.scene import Scene, box
from fdtd.cpml import AxialLayer, RadialLayer
from fdtd.waveforms import pulse_for

RADIUS = 3.6e-3
FREQUENCIES = np.array([28.5e9, 30e9, 31.5e9])
CUTOFF = 24.401e9


def guide_grid(cell: float, nz: int = 4, order: int = 1) -> AxisymmetricGrid:
    """A lattice around the guide, two cells wider than it."""
    return AxisymmetricGrid(
        nr=int(np.ceil(RADIUS / cell)) + 3,
        nz=nz,
        cell=cell,
        origin=0,
        courant_number=0.98 * courant_limit(order),
        azimuthal_order=order,
    )


def guide_walls(grid: AxisymmetricGrid, radius: float = RADIUS) -> tuple[np.ndarray, np.ndarray]:
    """Open lengths and areas with metal at r >= radius, each (1, 3, nz, nr)."""
    far = np.array([1.0])
    return open_parts(grid, Scene(batch=1, conductors=(box(np.array([radius]), far, -far, far),)))


def guide_mode(cell: float, radius: float = RADIUS, order: int = 1) -> tuple[AxisymmetricGrid, GuideMode]:
    """The guide's lowest TE mode on a lattice."""
    grid = guide_grid(cell, order=order)
    lengths, areas = guide_walls(grid, radius)
    return grid, lowest_te_mode(grid, lengths[0, :, 1], areas[0, :, 1])


def matched_guide(
    cell: float, layer: int = 16, length: int = 60, steps: int | None = None
) -> tuple[Problem, GuideMode]:
    """Absorber, source, port, absorber; from left to right, `length` cells between the absorbers.

    The tube runs through both absorbers and up to the conducting ends of the domain.
    """
    grid = guide_grid(cell, nz=2 * layer + length)
    lengths, areas = guide_walls(grid)
    mode = lowest_te_mode(grid, lengths[0, :, 1], areas[0, :, 1])
    columns = len(mode.e_r) + 1
    pulse = pulse_for(FREQUENCIES, CUTOFF)
    alpha = 0.1 * 2 * np.pi * 30e9
    settled = int((pulse.duration + 4 * length * cell / (0.4 * speed_of_light)) / grid.time_step)
    problem = Problem(
        grid=grid,
        media=Media(
            permittivity=np.ones_like(lengths),
            conductivity=np.zeros_like(lengths),
            open_length=lengths,
            open_area=areas,
        ),
        sampling=Sampling(record_every=4, check_every=400, steps=steps or 20 * settled, decay=1e-7, settled=settled),
        radial_layer=RadialLayer(cells=0),
        axial_layers=(
            AxialLayer(inner=layer, outer=0, columns=columns, alpha=alpha),
            AxialLayer(inner=grid.nz - layer, outer=grid.nz, columns=columns, alpha=alpha),
        ),
        source=ModalSource(
            plane=layer + 5, profile_r=mode.e_r, profile_phi=mode.e_phi, waveform=pulse.samples(grid.time_step)
        ),
        port=mode.monitor(layer + 20),
        field_map=FieldMap(rows=(layer, grid.nz - layer), columns=(0, columns), frequencies=FREQUENCIES),
    )
    return problem, mode
