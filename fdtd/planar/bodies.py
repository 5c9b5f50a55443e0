"""Cylinders on the planar lattice: effective permittivity and conformal metal.

A cell that a dielectric's surface cuts has, for a field along the surface, the mean permittivity, and for a field
across it, the harmonic mean; with n the normal, the inverse permittivity is the tensor

    <1/eps> n n + (1 - n n) / <eps>,

its diagonal on e_x and e_y, its off-diagonal part at nodes. e_z is along every surface. Means are over the cell around
the component's own node.

References:
    Farjadpour et al., Opt. Lett. 31 (2006) 2972; Dey & Mittra, IEEE MGWL 7 (1997) 273.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fdtd.errors import ConfigError
from fdtd.planar.problem import PlanarGrid, PlanarMedia

_STRIPS = 64  # a cell's part of a disc is summed in as many strips, each of exact length: error below 1e-4
_SHORTEST = 0.2  # open nodes nearer than this to metal along the lattice become metal: the time step needs it


def free_space(grid: PlanarGrid, batch: int = 1, permittivity: float = 1.0) -> PlanarMedia:
    """One lossless dielectric everywhere.

    Args:
        grid: The lattice.
        batch: Number of problems.
        permittivity: Relative.
    """
    parts = 1 if grid.polarisation == "TM" else 2
    one = np.ones((batch, *grid.shape))
    everywhere = np.ones((batch, parts, *grid.shape))
    return PlanarMedia(
        permittivity=permittivity * everywhere,
        conductivity=0 * everywhere,
        open_node=one > 0,
        open_x=one,
        open_y=one,
        open_area=one,
        coupling=0 * one,
    )


def stack(*media: PlanarMedia) -> PlanarMedia:
    """Several media as one batch."""
    fields = PlanarMedia.__dataclass_fields__
    return PlanarMedia(**{name: np.concatenate([getattr(one, name) for one in media]) for name in fields})


def disc_fraction(x: np.ndarray, y: np.ndarray, radius: float) -> np.ndarray:
    """Part of the unit cells around points (relative to the disc's centre) that is in the disc; all in cells."""
    distance = np.hypot(x, y)
    fraction = (distance < radius).astype(float)
    cut = np.abs(distance - radius) < 0.75
    strips = x[cut][:, None] + (np.arange(_STRIPS) + 0.5) / _STRIPS - 0.5
    height = np.sqrt(np.maximum(radius**2 - strips**2, 0.0))
    low = np.maximum(y[cut][:, None] - 0.5, -height)
    fraction[cut] = np.maximum(np.minimum(y[cut][:, None] + 0.5, height) - low, 0.0).mean(axis=1)
    return fraction


def dielectric_cylinder(
    grid: PlanarGrid,
    *,
    centre: tuple[float, float],
    radius: float,
    permittivity: float,
    background: float = 1.0,
    tensor: bool = True,
) -> PlanarMedia:
    """A dielectric cylinder with smoothed surface.

    Args:
        grid: The lattice.
        centre: x and y, cells.
        radius: Cells.
        permittivity: Relative.
        background: Relative permittivity around it.
        tensor: Whether e_x and e_y are coupled at the surface (TE); without, the order drops to about one.
    """
    media = free_space(grid, 1, background)
    out = media.permittivity.copy()
    names = [name for name in grid.components if name.startswith("e")]
    for part, name in enumerate(names):
        x, y = (at - origin for at, origin in zip(grid.positions(name), centre, strict=True))
        mean, inverse = _means(x, y, radius, permittivity, background)
        across = {"e_z": 0 * x, "e_x": x, "e_y": y}[name] ** 2 / np.maximum(x**2 + y**2, 1e-12)
        out[0, part] = 1 / (inverse * across + (1 - across) / mean)
    coupling = media.coupling.copy()
    if grid.polarisation == "TE" and tensor:
        x, y = np.mgrid[: grid.ny + 1, : grid.nx + 1][::-1].astype(float)
        x, y = x - centre[0], y - centre[1]
        mean, inverse = _means(x, y, radius, permittivity, background)
        coupling[0] = x * y / np.maximum(x**2 + y**2, 1e-12) * (inverse - 1 / mean)
    return replace(media, permittivity=out, coupling=coupling)


def _means(x: np.ndarray, y: np.ndarray, radius: float, inner: float, outer: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean permittivity and mean inverse permittivity of the cells around points."""
    fraction = disc_fraction(x, y, radius)
    return outer + (inner - outer) * fraction, 1 / outer + (1 / inner - 1 / outer) * fraction


def metal_cylinder(
    grid: PlanarGrid, *, centre: tuple[float, float], radius: float, background: float = 1.0
) -> PlanarMedia:
    """A perfectly conducting cylinder that cuts cells.

    TM: the segments between open nodes and the metal have the length that is open, along the lattice; nodes nearer
    than 0.2 cells to it become metal. TE: open parts of segments and cells; cells too small for the time step are
    taken as large as it needs.

    Args:
        grid: The lattice.
        centre: x and y, cells.
        radius: Cells.
        background: Relative permittivity around it.
    """
    if radius < 2:
        raise ConfigError(f"radius = {radius} cells is too small for conformal metal (needs >= 2); refine the lattice")
    media = free_space(grid, 1, background)
    y, x = np.mgrid[: grid.ny + 1, : grid.nx + 1].astype(float)
    x, y = x - centre[0], y - centre[1]
    if grid.polarisation == "TM":
        node = np.hypot(x, y) > radius
        for u, v in ((x, y), (y, x)):
            chord = np.sqrt(np.maximum(radius**2 - v**2, 0.0))
            node &= (np.abs(v) >= radius) | (np.abs(u) - chord >= _SHORTEST)
        open_x = _distance(x, y, node, radius, 1)
        open_y = _distance(y, x, node, radius, 0)
        return replace(media, open_node=node[None], open_x=open_x[None], open_y=open_y[None])
    open_x, open_y = _outside(x, y, radius), _outside(y, x, radius)
    area = 1 - disc_fraction(x + 0.5, y + 0.5, radius)
    around = open_x + np.roll(open_x, -1, 0) + open_y + np.roll(open_y, -1, 1)
    area = np.where(around > 0, np.maximum(area, around * grid.courant_number**2 / (2 * background)), 0.0)
    return replace(media, open_x=open_x[None], open_y=open_y[None], open_area=area[None])


def _distance(u: np.ndarray, v: np.ndarray, node: np.ndarray, radius: float, axis: int) -> np.ndarray:
    """Open lengths of segments along u from each node to the next: 1, 0 in metal, else up to the metal's surface."""
    after = np.roll(node, -1, axis)
    chord = np.sqrt(np.maximum(radius**2 - v**2, 0.0))
    start = np.where(node, np.abs(u), np.abs(u + 1))
    reach = start - chord
    # A line that misses the disc ends at a node that the metal took over, which is all but on the surface.
    cut = np.where((np.abs(v) < radius) & (reach < 2), reach, 1.0)
    return np.where(node & after, 1.0, np.where(node | after, np.maximum(cut, _SHORTEST), 0.0))


def _outside(u: np.ndarray, v: np.ndarray, radius: float) -> np.ndarray:
    """Part of the segments from u to u + 1 outside the disc."""
    chord = np.sqrt(np.maximum(radius**2 - v**2, 0.0))
    return 1 - np.clip(np.minimum(u + 1, chord) - np.maximum(u, -chord), 0.0, 1.0)


def compensated_permittivity(grid: PlanarGrid, permittivity: float, frequency: float) -> float:
    """The permittivity with which waves on the lattice have, on the mean over directions, their right wavelength.

    From the lattice's dispersion relation, with k d = w d sqrt(eps)/c at the angle t,

        eps' sin^2(w dt/2) / S^2 = sin^2(k d cos t / 2) + sin^2(k d sin t / 2).

    Good at one frequency; what remains is the lattice's anisotropy, a quarter of its phase error.

    Args:
        grid: The lattice.
        permittivity: Relative, of the medium.
        frequency: Hz.

    References:
        Taflove & Hagness, Computational Electrodynamics, 3rd ed., ch. 4.
    """
    step = 2 * np.pi * frequency * grid.time_step
    angle = np.linspace(0, np.pi / 2, 64, endpoint=False)
    half = step / grid.courant_number * np.sqrt(permittivity) / 2
    sines = np.sin(half * np.cos(angle)) ** 2 + np.sin(half * np.sin(angle)) ** 2
    return float(grid.courant_number**2 * sines.mean() / np.sin(step / 2) ** 2)
