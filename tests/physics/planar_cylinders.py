"""A cylinder beside a line source, on the lattice and as the exact eigenfunction series.

Electric line current I along z (TM, u = E_z) or magnetic one K (TE, u = H_z); time convention exp(+jwt); cylinder of
radius a at the origin, source at (rho', phi'), k1 = sqrt(eps) k. By Graf's theorem, for rho < rho',

    u_i = C H_0(k |r - r'|) = C sum_n H_n(k rho') J_n(k rho) exp(jn (phi - phi')),   H = H^(2),
    u_s = C sum_n c_n H_n(k rho') H_n(k rho) exp(jn (phi - phi')),   C = -w mu I/4 (TM), -w eps0 K/4 (TE)
    dielectric: c_n = -(J_n'(ka) J_n(k1 a) - q J_n(ka) J_n'(k1 a)) / (H_n'(ka) J_n(k1 a) - q H_n(ka) J_n'(k1 a)),
                q = sqrt(eps) (TM), 1/sqrt(eps) (TE)
    metal:      c_n = -J_n(ka)/H_n(ka) (TM), -J_n'(ka)/H_n'(ka) (TE).

Far away u_s -> C sqrt(2j/(pi k rho)) exp(-jk rho) P(phi), P = sum_n c_n j^n H_n(k rho') exp(jn (phi - phi')), and the
scattering width against the incident intensity on the axis is 2 pi rho |u_s|^2/|u_i(0)|^2 = 4/k |P|^2/|H_0(k rho')|^2.

On the lattice the scattered field is that of the run less that of a run without the cylinder (a batch of two). P comes
from Green's second identity between it and the plane wave w = exp(jk r.rho^) over the links that cross a closed
contour, sum (u_in w_out - u_out w_in): the discrete identity, which does not depend on the contour.

References:
    Harrington, Time-Harmonic Electromagnetic Fields, ch. 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.constants import c, epsilon_0, mu_0
from scipy.special import h2vp, hankel2, jv, jvp

from fdtd.backends.cpu import planar
from fdtd.planar import PlanarGrid, PlanarLayer, PlanarProblem, PointCurrent, Probe
from fdtd.planar_bodies import compensated_permittivity, dielectric_cylinder, free_space, metal_cylinder, stack
from fdtd.waveforms import GaussianPulse

FREQUENCY = 10e9
WAVELENGTH = c / FREQUENCY
RADIUS, SOURCE, RING, CONTOUR, EDGE = 0.5, 1.0, 0.75, 1.1, 1.35  # wavelengths; CONTOUR and EDGE are half widths
SOURCE_ANGLE = 0.4  # rad; the source stands on the node next to it, and the series takes it from there
PERIODS = 80  # the cylinder rings: after 40, errors are up to 0.3 % more; after 120, the same
OFFSET = (0.31, 0.17)  # of the centre from a node, cells: no symmetry helps


@dataclass
class Comparison:
    """Relative L2 errors over angle."""

    ring: float
    width: float


def _coefficients(polarisation: str, permittivity: float | None, n: np.ndarray, ka: float) -> np.ndarray:
    if permittivity is None:
        return -jv(n, ka) / hankel2(n, ka) if polarisation == "TM" else -jvp(n, ka) / h2vp(n, ka)
    index = np.sqrt(permittivity)
    q = index if polarisation == "TM" else 1 / index
    inner, slope = jv(n, index * ka), q * jvp(n, index * ka)
    top = jvp(n, ka) * inner - jv(n, ka) * slope
    return -top / (h2vp(n, ka) * inner - hankel2(n, ka) * slope)


def compare(
    polarisation: str, permittivity: float | None, cells: int, *, tensor: bool = True, compensated: bool = True
) -> Comparison:
    """Errors of total field on a ring and of scattering width.

    Args:
        polarisation: "TM" or "TE".
        permittivity: Of the cylinder; None is metal.
        cells: Cells a wavelength in free space.
        tensor: As in `dielectric_cylinder`.
        compensated: Whether the lattice has `compensated_permittivity`, or the true one.
    """
    d, k = WAVELENGTH / cells, 2 * np.pi / cells  # k in 1/cell
    half = int(np.ceil(EDGE * cells)) + 10
    grid = PlanarGrid(nx=2 * half, ny=2 * half, cell=d, courant_number=0.5, polarisation=polarisation)
    background, inner = 1.0, permittivity or 1.0
    if compensated:
        background, inner = (compensated_permittivity(grid, value, FREQUENCY) for value in (background, inner))
    centre = (half + OFFSET[0], half + OFFSET[1])
    shape = {"centre": centre, "radius": RADIUS * cells, "background": background}
    if permittivity is None:
        body = metal_cylinder(grid, **shape)
    else:
        body = dielectric_cylinder(grid, permittivity=inner, tensor=tensor, **shape)
    out = grid.components[0]
    x, y = (at - origin for at, origin in zip(grid.positions(out), centre, strict=True))
    goal = SOURCE * cells * np.exp(1j * SOURCE_ANGLE)
    row, column = np.unravel_index(np.argmin(np.abs(x + 1j * y - goal)), grid.shape)
    source = complex(x[row, column], y[row, column])
    ring = np.nonzero(np.abs(np.hypot(x, y) - RING * cells) < 0.5)
    box = round(CONTOUR * cells)
    low, high = half - box, half + box
    side = np.arange(low, high + 1)
    links = []  # rows and columns inside, rows and columns outside
    for edge, step in ((low, -1), (high, 1)):
        links.append((side, 0 * side + edge, side, 0 * side + edge + step))
        links.append((0 * side + edge, side, 0 * side + edge + step, side))
    rows_in, columns_in, rows_out, columns_out = np.concatenate(links, axis=1)

    pulse = GaussianPulse(centre=FREQUENCY, width=0.25 * FREQUENCY).samples(grid.time_step)
    steps = int(PERIODS * cells / grid.courant_number)
    problem = PlanarProblem(
        grid=grid,
        media=stack(body, free_space(grid, 1, background)),
        layer=PlanarLayer(cells=10, alpha=0.05 * 2 * np.pi * FREQUENCY),
        steps=steps,
        sources=(PointCurrent(component=out, row=int(row), column=int(column), samples=pulse),),
        probes=tuple(
            Probe(component=out, rows=rows, columns=columns)
            for rows, columns in (ring, (rows_in, columns_in), (rows_out, columns_out))
        ),
    )
    records = planar.run(problem, precision="float64", threads=2)
    # The current at (n + 1/2) dt drives e sampled at (n + 1) dt; at n dt, h sampled at (n + 1/2) dt: half a step later.
    w = 2 * np.pi * FREQUENCY * grid.time_step
    kernel = np.exp(-1j * w * (np.arange(steps) + 0.5))
    current = (pulse * np.exp(-1j * w * np.arange(len(pulse)))).sum()
    total, inside, outside = (np.einsum("btp,t->bp", samples, kernel) / current for samples in records.samples)

    factor = -2 * np.pi * FREQUENCY / 4 * (mu_0 if polarisation == "TM" else epsilon_0 * np.sqrt(mu_0 / epsilon_0))
    n = np.arange(-40, 41)[:, None]
    weights = _coefficients(polarisation, permittivity, n, k * RADIUS * cells) * hankel2(n, k * abs(source))
    place = x[ring] + 1j * y[ring]
    scattered = (weights * hankel2(n, k * np.abs(place)) * np.exp(1j * n * np.angle(place / source))).sum(axis=0)
    exact = factor * (hankel2(0, k * np.abs(place - source)) + scattered)

    angles = np.linspace(0, 2 * np.pi, 360, endpoint=False)
    pattern = (weights * 1j**n * np.exp(1j * n * (angles - np.angle(source)))).sum(axis=0)
    width = 4 / k * np.abs(pattern / hankel2(0, k * abs(source))) ** 2
    inside, outside = inside[0] - inside[1], outside[0] - outside[1]

    def wave(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        at = x[rows, columns][:, None] * np.cos(angles) + y[rows, columns][:, None] * np.sin(angles)
        return np.exp(1j * k * at)

    crossing = inside @ wave(rows_out, columns_out) - outside @ wave(rows_in, columns_in)
    found = -0.25j * crossing / factor
    found_width = 4 / k * np.abs(found / hankel2(0, k * abs(source))) ** 2
    return Comparison(ring=_l2(total[0], exact), width=_l2(found_width, width))


def _l2(measured: np.ndarray, exact: np.ndarray) -> float:
    return float(np.linalg.norm(measured - exact) / np.linalg.norm(exact))
