"""A line source next to a cylinder: total field on a ring and scattering width, with corrected lattice errors.

The cylinder stands with its axis in the origin and the source on a node of the lattice. Two problems run side by side,
with the cylinder and without it; their difference is the scattered field. Its far field follows from Green's second
identity between it and the plane waves of space, w = exp(jk r.rho^), over the links that cross a closed contour,

    P = sum (u_in w_out - u_out w_in),

the lattice's own identity: it does not depend on the contour, and gives the strength of the sources inside.

Two of the lattice's errors are known at a single frequency, and corrected by default:

- waves are too short, by a few tenths of a per cent at 20 cells a wavelength, which adds up across a dielectric:
  `compensated_permittivity` instead of the true one, from the lattice's dispersion relation;
- a point current radiates too strongly. In K^2(k) u = source, K^2 = sum (2 sin(k_x d/2) / d)^2, the wave that leaves at
  an angle has the residue 1 / (dK^2/dk) and not 1 / 2k, and jw is 2j sin(w dt/2) / dt: `line_source_gain`.

What is left of either is the lattice's anisotropy.

References:
    Harrington, Time-Harmonic Electromagnetic Fields, ch. 5; Taflove & Hagness, 3rd ed., ch. 4 (dispersion).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.constants import epsilon_0, mu_0, speed_of_light
from scipy.special import hankel2

from fdtd.errors import ConfigError
from fdtd.planar.bodies import compensated_permittivity, dielectric_cylinder, free_space, metal_cylinder, stack
from fdtd.planar.problem import PlanarGrid, PlanarLayer, PlanarMedia, PlanarProblem, PlanarRecords, PointCurrent, Probe
from fdtd.waveforms import GaussianPulse

Run = Callable[[PlanarProblem], PlanarRecords]
"""A planar backend, such as `fdtd.backends.planar_reference.run`."""

_LAYER = 10  # cells; better than -100 dB (tests/physics/test_planar_absorbing_layers.py)
_CLEAR = 4  # cells between the source, the ring and the cylinder: nearer to a point current the lattice's field is off
_FIRST, _LAST = 40, 1280  # periods
_EDGE = 0.25  # wavelengths from what matters to the layers


@dataclass(frozen=True, kw_only=True)
class Cylinder:
    """A circular cylinder around the origin.

    Attributes:
        radius: m.
        permittivity: Relative; None is a perfect conductor.
    """

    radius: float
    permittivity: float | None = None


@dataclass(frozen=True, kw_only=True)
class Mesh:
    """Resolution of a cylinder, and length of the run.

    Attributes:
        cells_per_wavelength: In the cylinder, or in free space if that is denser.
        compensate: Take the lattice's phase error and the point current's gain out; without, a plain lattice.
        tensor: As in `fdtd.planar.bodies.dielectric_cylinder`.
        settled: How far the last period must have fallen below the largest sample on the ring; a dielectric cylinder
            rings. The run is as long as it needs, up to 1280 periods.
    """

    cells_per_wavelength: float = 20.0
    compensate: bool = True
    tensor: bool = True
    settled: float = 1e-3


@dataclass(frozen=True, kw_only=True)
class Scattering:
    """Answer at one frequency, time convention exp(+jwt), for an electric (TM) or magnetic (TE) line current of 1.

    Attributes:
        x, y: Nodes next to the ring, m, (points,).
        total: E_z in V/m for 1 A (TM), or H_z in A/m for 1 V (TE), complex (points,).
        incident: The same without the cylinder.
        angles: Directions from the x axis, rad, (angles,).
        width: Scattering width 2 pi rho |u_s|^2 / |u_i(0)|^2 as rho grows, m, (angles,).
        ringing: Largest sample of the last period over the largest of all, on the ring: what the run left out.
    """

    x: np.ndarray
    y: np.ndarray
    total: np.ndarray
    incident: np.ndarray
    angles: np.ndarray
    width: np.ndarray
    ringing: float


def line_source_gain(grid: PlanarGrid, permittivity: float, frequency: float, lattice_permittivity: float) -> float:
    """Return by how much the waves of a unit point current on the lattice are stronger than those of a line current.

    Args:
        grid: The lattice.
        permittivity: Relative, of the medium.
        frequency: Hz.
        lattice_permittivity: What stands on the lattice for it; a magnetic current's field is in proportion to it.
    """
    step = np.pi * frequency * grid.time_step
    kd = 2 * np.pi * frequency / speed_of_light * np.sqrt(permittivity) * grid.cell
    angle = np.linspace(0, np.pi / 2, 64, endpoint=False)
    c, s = np.cos(angle), np.sin(angle)
    residue = np.mean(kd / (c * np.sin(kd * c) + s * np.sin(kd * s)))
    medium = 1.0 if grid.polarisation == "TM" else lattice_permittivity / permittivity
    return float(residue * np.sin(step) / step * medium)


def scatter(
    cylinder: Cylinder,
    *,
    polarisation: str,
    frequency: float,
    source: tuple[float, float],
    ring: float,
    angles: np.ndarray,
    mesh: Mesh | None = None,
    run: Run | None = None,
) -> Scattering:
    """Solve a line source beside a cylinder in free space.

    Args:
        cylinder: What scatters.
        polarisation: "TM" (electric line current, E_z) or "TE" (magnetic line current, H_z).
        frequency: Hz.
        source: Where the current stands, x and y, m.
        ring: Radius at which the total field is returned, m.
        angles: Directions of the scattering width, rad.
        mesh: Lattice and length of the run; `Mesh()` if None.
        run: Backend; the CPU's in float64 if None.

    Raises:
        ConfigError: The source is in the cylinder, or the ring too near to the source.
    """
    mesh = mesh or Mesh()
    wavelength = speed_of_light / frequency
    d = wavelength / (mesh.cells_per_wavelength * math.sqrt(max(cylinder.permittivity or 1.0, 1.0)))
    distance = math.hypot(*source)
    for name, gap in (("the cylinder", distance - cylinder.radius), ("the ring", abs(distance - ring))):
        if gap < _CLEAR * d:
            raise ConfigError(
                f"source = {distance * 1e3:.4g} mm from the axis is {gap * 1e3:.4g} mm from {name} "
                f"(needs >= {_CLEAR * d * 1e3:.4g} mm); move it or refine the lattice"
            )
    box = math.ceil(cylinder.radius / d) + 3  # half the width of the contour, cells
    reach = max(box + 2, math.ceil(ring / d) + 1)
    edge = math.ceil(_EDGE * wavelength / d) + _LAYER
    x, y = source[0] / d, source[1] / d
    column, row = (math.ceil(max(reach, -at)) + edge + math.ceil(at) for at in (x, y))
    grid = PlanarGrid(
        nx=math.ceil(max(reach, -x) + max(reach, x)) + 2 * edge + 2,
        ny=math.ceil(max(reach, -y) + max(reach, y)) + 2 * edge + 2,
        cell=d,
        polarisation=polarisation,
    )
    name = grid.components[0]
    half = grid.positions(name)[0][0, 0]  # E_z stands on nodes, H_z between them
    centre = (column + half - x, row + half - y)
    at_x, at_y = (at - origin for at, origin in zip(grid.positions(name), centre, strict=True))
    on_ring = np.nonzero(np.abs(np.hypot(at_x, at_y) - ring / d) < 0.5)
    inside, outside = _links(round(centre[0] - half), round(centre[1] - half), box)

    media, background = _media(grid, cylinder, frequency, centre, mesh)
    pulse = GaussianPulse(centre=frequency, width=0.25 * frequency).samples(grid.time_step)
    period = math.ceil(1 / (frequency * grid.time_step))
    problem = PlanarProblem(
        grid=grid,
        media=media,
        layer=PlanarLayer(cells=_LAYER, alpha=0.05 * 2 * np.pi * frequency),
        steps=_FIRST * period,
        sources=(PointCurrent(component=name, row=row, column=column, samples=pulse),),
        probes=tuple(Probe(component=name, rows=rows, columns=columns) for rows, columns in (on_ring, inside, outside)),
    )
    records, ringing = _run_until(run or _cpu, problem, mesh.settled, period)
    # The current at (n + 1/2) dt drives e sampled at (n + 1) dt; at n dt, h sampled at (n + 1/2) dt: half a step later.
    turn = 2 * np.pi * frequency * grid.time_step
    kernel = np.exp(-1j * turn * (np.arange(records.samples[0].shape[1]) + 0.5))
    current = (pulse * np.exp(-1j * turn * np.arange(len(pulse)))).sum()
    around, within, beyond = (np.einsum("btp,t->bp", samples, kernel) / current for samples in records.samples)
    gain = line_source_gain(grid, 1.0, frequency, background) if mesh.compensate else 1.0
    unit = 1.0 if polarisation == "TM" else math.sqrt(epsilon_0 / mu_0)  # H comes scaled by the impedance

    k = 2 * np.pi * d / wavelength
    waves = []
    for rows, columns in (inside, outside):
        along = at_x[rows, columns][:, None] * np.cos(angles) + at_y[rows, columns][:, None] * np.sin(angles)
        waves.append(np.exp(1j * k * along))
    crossing = (within[0] - within[1]) @ waves[1] - (beyond[0] - beyond[1]) @ waves[0]
    strength = -2 * np.pi * frequency / 4 * (mu_0 if polarisation == "TM" else epsilon_0 / unit)
    pattern = crossing / (4 * strength) / hankel2(0, k * math.hypot(x, y))
    return Scattering(
        x=at_x[on_ring] * d,
        y=at_y[on_ring] * d,
        total=around[0] * unit / gain,
        incident=around[1] * unit / gain,
        angles=np.asarray(angles),
        width=4 * wavelength / (2 * np.pi) * np.abs(pattern) ** 2,
        ringing=ringing,
    )


def _run_until(run: Run, problem: PlanarProblem, settled: float, period: int) -> tuple[PlanarRecords, float]:
    """Run twice as long until the last period on the ring is low enough; return its level too."""
    while True:
        records = run(problem)
        ring = np.abs(records.samples[0][0])
        ringing = float(ring[-period:].max() / ring.max())
        if ringing <= settled or problem.steps >= _LAST * period:
            return records, ringing
        problem = replace(problem, steps=2 * problem.steps)


def _cpu(problem: PlanarProblem) -> PlanarRecords:
    from fdtd.backends.cpu import planar

    return planar.run(problem, precision="float64", threads=2)


def _media(
    grid: PlanarGrid, cylinder: Cylinder, frequency: float, centre: tuple[float, float], mesh: Mesh
) -> tuple[PlanarMedia, float]:
    """The batch of two, with the cylinder and without; and the permittivity that stands for free space."""

    def on_lattice(permittivity: float) -> float:
        return compensated_permittivity(grid, permittivity, frequency) if mesh.compensate else permittivity

    background, radius = on_lattice(1.0), cylinder.radius / grid.cell
    if cylinder.permittivity is None:
        body = metal_cylinder(grid, centre=centre, radius=radius, background=background)
    else:
        body = dielectric_cylinder(
            grid,
            centre=centre,
            radius=radius,
            permittivity=on_lattice(cylinder.permittivity),
            background=background,
            tensor=mesh.tensor,
        )
    return stack(body, free_space(grid, 1, background)), background


def _links(column: int, row: int, box: int) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Rows and columns of the nodes inside and outside a square contour, one pair a link that crosses it."""
    side = np.arange(-box, box + 1)
    edges = [(side, np.full(side.shape, edge), step) for edge, step in ((-box, -1), (box, 1))]
    inside = [(along, across) for along, across, _ in edges] + [(across, along) for along, across, _ in edges]
    outside = [(along, across + s) for along, across, s in edges] + [(across + s, along) for along, across, s in edges]
    shift = np.array([[row], [column]])
    first, second = (np.concatenate([np.stack(pair) for pair in pairs], axis=1) + shift for pairs in (inside, outside))
    return (first[0], first[1]), (second[0], second[1])
