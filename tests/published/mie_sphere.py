"""A dielectric sphere in a plane wave: Mie's series, and the same on the axisymmetric lattice.

Plane wave along +z, E along x, 1 V/m in the origin, sphere of radius a there. With k the wavenumber outside, x = ka,
n the refractive index, psi and xi Riccati-Bessel functions, a_n and b_n as usual, and p_n, t_n the angle functions,

    S1 = sum (2n + 1)/(n (n + 1)) (a_n p_n + b_n t_n),  S2 = sum (2n + 1)/(n (n + 1)) (a_n t_n + b_n p_n);

far away r E_theta = j/k S2 cos(phi), r E_phi = -j/k S1 sin(phi), times exp(-jkr), in the time convention exp(-jwt) of
the reference; ours is its conjugate. A point at the height h on the axis sees the transverse field

    E(h) = 1 exp(jk h cos t) + ...,

which by reciprocity is the far field of a dipole there, in the direction t from which the wave comes.

On the lattice a plane wave along z is E_r = -E_phi = f, H_r = H_phi = g for any radius: the curls along r cancel, in
differences too, and f and g obey the one-dimensional lattice. So the scattered field, total less incident, obeys the
lattice's own equations with X the inverse permittivity (the tensor at the surface included):

    dE_s/dt = X curl H_s + (X - 1) curl H_i,

no different from a source inside the sphere, and nothing is approximated.

References:
    Bohren & Huffman, Absorption and Scattering of Light by Small Particles, ch. 4 (near field: eq. 4.45);
    Stratton, Electromagnetic Theory, sec. 9.25.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.constants import speed_of_light
from scipy.special import spherical_jn, spherical_yn

from fdtd.axisymmetric.grid import AxisymmetricGrid, courant_limit
from fdtd.axisymmetric.media import Media, compensate_dispersion, effective_permittivity
from fdtd.axisymmetric.monitors import HuygensContour, Sampling
from fdtd.axisymmetric.problem import ModalSource, Problem
from fdtd.axisymmetric.scene import Dielectric, Scene
from fdtd.backends import cpu, reference
from fdtd.cpml import AxialLayer, RadialLayer
from fdtd.farfield.axisymmetric import FarFieldTransform
from fdtd.waveforms import GaussianPulse

FREQUENCY = 30e9
WAVELENGTH = speed_of_light / FREQUENCY
THETA = np.deg2rad(np.arange(0.0, 181.0, 2.0))
ALPHA = 0.1 * 2 * np.pi * FREQUENCY
LAYER, STRENGTH = 10, 0.8
RECORD_EVERY = 4


@dataclass(frozen=True)
class Sphere:
    """Relative permittivity; radius in wavelengths inside it."""

    permittivity: float
    radius: float

    @property
    def metres(self) -> float:
        return self.radius * WAVELENGTH / np.sqrt(self.permittivity)


def _riccati(orders: np.ndarray, x: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """psi_n(x), psi_n'(x), xi_n(x), xi_n'(x); xi with h_n^(1)."""
    j, dj = spherical_jn(orders, x), spherical_jn(orders, x, derivative=True)
    y, dy = spherical_yn(orders, x), spherical_yn(orders, x, derivative=True)
    h, dh = j + 1j * y, dj + 1j * dy
    return x * j, j + x * dj, x * h, h + x * dh


def mie_coefficients(sphere: Sphere, orders: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a_n and b_n (Bohren & Huffman, eq. 4.53)."""
    index = np.sqrt(sphere.permittivity)
    x = 2 * np.pi / WAVELENGTH * sphere.metres
    psi, dpsi, xi, dxi = _riccati(orders, x)
    inner, dinner, _, _ = _riccati(orders, index * x)
    a = (index * inner * dpsi - psi * dinner) / (index * inner * dxi - xi * dinner)
    b = (inner * dpsi - index * psi * dinner) / (inner * dxi - index * xi * dinner)
    return a, b


def angle_functions(orders: np.ndarray, cosine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p_n = P_n^1 / sin and t_n = d P_n^1 / d theta, (orders, angles), by upward recurrence (eq. 4.47)."""
    p, t = np.zeros((len(orders) + 1, len(cosine))), np.zeros((len(orders) + 1, len(cosine)))
    p[1], t[1] = 1.0, cosine
    for n in range(2, len(orders) + 1):
        p[n] = (2 * n - 1) / (n - 1) * cosine * p[n - 1] - n / (n - 1) * p[n - 2]
        t[n] = n * cosine * p[n] - (n + 1) * p[n - 1]
    return p[1:], t[1:]


def mie_far_field(sphere: Sphere) -> tuple[np.ndarray, np.ndarray]:
    """Amplitudes A and B over phi of r E_theta and r E_phi at `THETA`, V, exp(+jwt)."""
    k = 2 * np.pi / WAVELENGTH
    orders = np.arange(1, 12 + int(2 * k * sphere.metres))
    a, b = mie_coefficients(sphere, orders)
    p, t = angle_functions(orders, np.cos(THETA))
    weights = (2 * orders + 1) / (orders * (orders + 1))
    s1, s2 = (weights * a) @ p + (weights * b) @ t, (weights * a) @ t + (weights * b) @ p
    return np.conj(1j / k * s2), np.conj(-1j / k * s1)


def scattering_efficiency(sphere: Sphere) -> float:
    """Scattering cross-section over pi a^2 (eq. 4.61)."""
    x = 2 * np.pi / WAVELENGTH * sphere.metres
    orders = np.arange(1, 12 + int(2 * x))
    a, b = mie_coefficients(sphere, orders)
    return float(2 / x**2 * ((2 * orders + 1) * (np.abs(a) ** 2 + np.abs(b) ** 2)).sum())


def dipole_far_field(sphere: Sphere, height: float) -> tuple[np.ndarray, np.ndarray]:
    """Far field A, B at `THETA` of a dipole along x on the axis, a height above the sphere's centre, to a factor.

    By reciprocity the field at the dipole of a plane wave that comes from the direction theta. Seen in the wave's own
    frame the dipole stands at the angle pi - theta from its direction of travel, so with r = height, rho = k r, and
    c_n = j^n (2n + 1)/(n (n + 1)), the scattered field is (eqs. 4.45, 4.50)

        E_theta = cos(phi) sum c_n (j a_n xi_n'/rho t_n - b_n h_n p_n),
        E_phi  = -sin(phi) sum c_n (j a_n xi_n'/rho p_n - b_n h_n t_n).
    """
    k = 2 * np.pi / WAVELENGTH
    rho = k * height
    orders = np.arange(1, 12 + int(2 * k * sphere.metres))
    a, b = mie_coefficients(sphere, orders)
    cosine = -np.cos(THETA)
    p, t = angle_functions(orders, cosine)
    c = 1j**orders * (2 * orders + 1) / (orders * (orders + 1))
    _, _, xi, dxi = _riccati(orders, rho)
    electric, magnetic = c * 1j * a * dxi / rho, c * b * xi / rho
    incident = np.exp(1j * rho * cosine)
    e_theta = cosine * incident + electric @ t - magnetic @ p
    e_phi = incident + electric @ p - magnetic @ t
    return np.conj(-e_theta), np.conj(-e_phi)


def lattice(
    sphere: Sphere, cells: float, gap: float, tensor: bool, compensated: bool
) -> tuple[AxisymmetricGrid, Media, int]:
    """Grid with layers, a quarter wavelength of room and `gap` metres above the sphere; media; cells to its surface.

    Args:
        sphere: In the origin.
        cells: A wavelength in the sphere.
        gap: Room for a source, m.
        tensor: Whether E_r and E_z are coupled at the surface.
        compensated: Whether the lattice's dispersion is, as in every simulation of an antenna.
    """
    d = WAVELENGTH / np.sqrt(sphere.permittivity) / cells
    reach = int(np.ceil(sphere.metres / d)) + 1
    room = max(int(np.ceil(WAVELENGTH / 4 / d)), 8)
    above = int(np.ceil(gap / d))
    grid = AxisymmetricGrid(
        nr=reach + room + LAYER,
        nz=2 * (reach + room + LAYER) + above,
        cell=d,
        origin=reach + room + LAYER,
        courant_number=0.98 * courant_limit(1),
    )
    a = sphere.metres
    body = Dielectric(
        distance=lambda index, r, z: a - np.hypot(r, z) + 0.0 * index,
        permittivity=np.array([sphere.permittivity]),
        loss_tangent=np.zeros(1),
        r_max=a,
        z_min=-a,
        z_max=a,
    )
    permittivity, conductivity, coupling = effective_permittivity(grid, Scene(batch=1, dielectrics=(body,)), FREQUENCY)
    if compensated:
        compensate_dispersion(grid, permittivity, FREQUENCY)
    ones = np.ones((1, 3, grid.nz, grid.nr))
    media = Media(
        permittivity=permittivity,
        conductivity=conductivity,
        open_length=ones,
        open_area=ones,
        coupling=coupling if tensor else None,
    )
    return grid, media, reach


def pose(grid: AxisymmetricGrid, media: Media, contour: HuygensContour, periods: float, **more: object) -> Problem:
    """The lattice with its layers and a run of a number of periods."""
    steps = RECORD_EVERY * 20 * int(np.ceil(periods / FREQUENCY / grid.time_step / RECORD_EVERY / 20))
    return Problem(
        grid=grid,
        media=media,
        sampling=Sampling(record_every=RECORD_EVERY, check_every=20 * RECORD_EVERY, steps=steps, decay=0.0),
        radial_layer=RadialLayer(cells=LAYER, strength=STRENGTH, alpha=ALPHA),
        axial_layers=tuple(
            AxialLayer(inner=inner, outer=outer, columns=grid.nr, strength=STRENGTH, alpha=ALPHA)
            for inner, outer in ((LAYER, 0), (grid.nz - LAYER, grid.nz))
        ),
        contour=contour,
        **more,  # pyright: ignore[reportArgumentType]
    )


def far_field(problem: Problem, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A and B at `THETA`, V/m m, from contour samples."""
    grid, contour = problem.grid, problem.contour
    assert contour is not None
    at_e, at_h = problem.sampling.sample_times(grid, len(samples))
    spectrum = np.empty((1, contour.size), dtype=complex)
    for (_, component), where in contour.sections().items():
        times = at_h if component.startswith("h") else at_e
        spectrum[:, where] = np.exp(-2j * np.pi * FREQUENCY * times)[np.newaxis] @ samples[:, where]
    a, b = FarFieldTransform(grid, contour, np.array([FREQUENCY]), THETA)(spectrum)
    return a[0] * grid.cell, b[0] * grid.cell


class _Scattered(reference.Stepper):
    """The field scattered out of a plane wave along +z, which runs on a line of its own."""

    def __init__(self, problem: Problem, pulse: np.ndarray) -> None:
        super().__init__(problem)
        reach = (
            int(problem.sampling.steps * self.grid.courant_number / 2) + 2
        )  # nothing comes back from the line's ends
        self.start = reach
        self.electric, self.magnetic = np.zeros(2 * reach + self.grid.nz), np.zeros(2 * reach + self.grid.nz)
        self.pulse = pulse

    def _step_e(self) -> None:
        super()._step_e()
        courant, nz = self.grid.courant_number, self.grid.nz
        curl = -np.diff(self.magnetic, prepend=0.0)
        here = np.zeros((1, nz, self.grid.nr))
        here[:] = curl[self.start : self.start + nz, np.newaxis]
        coupled = self._coupled(here, 0.0 * here)
        for name, sign in (("e_r", 1.0), ("e_phi", -1.0)):
            self.fields[name][:, :nz, : self.grid.nr] += sign * courant * (self.gain[name] - 1) * here
        self.fields["e_phi"][:, :, 0] = 0.0
        for name, change in coupled.items():
            self.fields[name][:, :nz, : self.grid.nr] += courant * change
        self.electric += courant * curl
        if self.steps < len(self.pulse):
            self.electric[self.start - 1] -= self.pulse[self.steps]

    def _step_h(self) -> None:
        super()._step_h()
        self.magnetic -= self.grid.courant_number * np.diff(self.electric, append=0.0)


def scattered(
    sphere: Sphere, cells: float, *, compensated: bool = True, periods: float = 40
) -> tuple[np.ndarray, np.ndarray]:
    """A and B at `THETA` of the sphere in a plane wave of 1 V/m in the origin, on the lattice; V."""
    grid, media, reach = lattice(sphere, cells, 0.0, True, compensated)
    contour = HuygensContour(column=reach + 2, bottom=grid.origin - reach - 2, top=grid.origin + reach + 2)
    problem = pose(grid, media, contour, periods)
    stepper = _Scattered(problem, GaussianPulse(centre=FREQUENCY, width=0.2 * FREQUENCY).samples(grid.time_step))
    recorder = reference._Recorder(problem)
    amplitude = 0.0
    for n in range(problem.sampling.steps):
        stepper.step()
        if (n + 1) % RECORD_EVERY == 0:
            recorder.record(stepper, n)
            turn = np.exp(-2j * np.pi * FREQUENCY * (n + 1) * grid.time_step)
            amplitude += stepper.electric[stepper.start + grid.origin] * turn
    a, b = far_field(problem, np.array(recorder.contour[0]))
    return a / amplitude, b / amplitude


def error(found: tuple[np.ndarray, np.ndarray], exact: tuple[np.ndarray, np.ndarray]) -> float:
    """Relative L2 difference of both cuts over the sphere of angles."""
    weight = np.sin(THETA)
    power = sum(np.abs(y) ** 2 @ weight for y in exact)
    return float(np.sqrt(sum(np.abs(x - y) ** 2 @ weight for x, y in zip(found, exact, strict=True)) / power))


def beside(
    sphere: Sphere, cells: float, height: float, *, tensor: bool = True, compensated: bool = True, periods: float = 100
) -> tuple[np.ndarray, np.ndarray]:
    """A and B at `THETA` of a ring of radial current around the axis, `height` m above the centre, to a factor."""
    grid, media, reach = lattice(sphere, cells, max(height - sphere.metres, 0.0), tensor, compensated)
    plane = round(height / grid.cell)
    top = max(reach + 2, plane + 4)
    contour = HuygensContour(column=reach + 2, bottom=grid.origin - reach - 2, top=grid.origin + top)
    source = ModalSource(
        plane=grid.origin + plane,
        profile_r=np.ones(1),
        profile_phi=np.zeros(1),
        waveform=GaussianPulse(centre=FREQUENCY, width=0.2 * FREQUENCY).samples(grid.time_step),
    )
    problem = pose(grid, media, contour, periods, source=source)
    return far_field(problem, cpu.run(problem, precision="float64", threads=1).contour[0])
