"""Far field from a closed contour of revolution in air, by direct quadrature over all three coordinates.

Equivalence principle with J = n x H, M = -n x E on the surface swept by the contour (Balanis, Advanced Engineering
Electromagnetics, 2nd ed., section 6.8):

    E_theta = -jk/(4 pi) (L_phi + N_theta),  E_phi = +jk/(4 pi) (L_theta - N_phi)      (N here with eta0 H)

without exp(-jkR)/R. The integral over phi' is a trapezoidal sum of the vector integrand, which converges faster than
any power for this periodic function; no Bessel functions are used, so that codes which do use them are checked as well.
For azimuthal order 1 the far field is (A cos phi, B sin phi) in (theta, phi); A is read in the plane phi = 0, B in the
plane phi = 90 degrees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from fields import SPEED_OF_LIGHT_MM
from scipy.interpolate import CubicSpline


@dataclass(frozen=True, kw_only=True)
class ContourFields:
    """Quadrature points on the contour with outward normals (r, z) and fields; eta0 H in place of H."""

    r: np.ndarray
    z: np.ndarray
    weight: np.ndarray
    normal: np.ndarray
    e: np.ndarray
    h: np.ndarray


def _side_breaks(vertices, axis, fixed, value, low, high):
    on_side = np.abs(vertices[:, fixed] - value) < 1e-7
    breaks = np.sort(vertices[on_side, axis])
    return breaks[(breaks > low - 1e-7) & (breaks < high + 1e-7)]


def sample_contour(domain, solution, points_per_edge):
    """Evaluate the fields at Gauss points of every mesh edge on the Huygens contour."""
    r_max, z_min, z_max = domain.contour
    vertices = np.array([vertex.point for vertex in domain.mesh.vertices])
    nodes, weights = np.polynomial.legendre.leggauss(points_per_edge)
    r, z, weight, normal = [], [], [], []
    sides = (
        (1, 0, r_max, z_min, z_max, (1.0, 0.0)),
        (0, 1, z_max, 0.0, r_max, (0.0, 1.0)),
        (0, 1, z_min, 0.0, r_max, (0.0, -1.0)),
    )
    for axis, fixed, value, low, high, direction in sides:
        breaks = _side_breaks(vertices, axis, fixed, value, low, high)
        half, middle = np.diff(breaks) / 2, (breaks[1:] + breaks[:-1]) / 2
        along = (middle[:, None] + half[:, None] * nodes).ravel()
        across = np.full_like(along, value)
        r.append(along if axis == 0 else across)
        z.append(along if axis == 1 else across)
        weight.append((half[:, None] * weights).ravel())
        normal.append(np.tile(direction, (along.size, 1)))
    r, z = np.concatenate(r), np.concatenate(z)
    where = domain.mesh(r, z)
    return ContourFields(
        r=r,
        z=z,
        weight=np.concatenate(weight),
        normal=np.concatenate(normal),
        e=np.asarray(solution.e(where)),
        h=np.asarray(solution.h(where)),
    )


def contour_power(contour):
    """Power through the contour times eta0: half the real part of E x H* along the normal; cos^2 and sin^2 give pi."""
    (e_r, e_p, e_z), (h_r, h_p, h_z) = contour.e.T, contour.h.T.conj()
    # (E x H*)_r = E_phi H_z* - E_z H_phi*: sin*sin and cos*cos
    s_r, s_z = e_p * h_z - e_z * h_p, e_r * h_p - e_p * h_r
    flux = contour.normal[:, 0] * s_r + contour.normal[:, 1] * s_z
    return float(np.pi / 2 * np.sum(flux.real * contour.r * contour.weight))


def _cartesian(contour, phi):
    """Currents J and M as Cartesian vectors, shape (3, points, angles)."""
    c, s = np.cos(phi), np.sin(phi)

    def vector(field, even_r):
        # E: r and z components even (cos), phi odd (sin); H the other way round
        first, second = (c, s) if even_r else (s, c)
        f_r, f_p, f_z = (field[:, i, None] * part for i, part in enumerate((first, second, first)))
        return np.stack([f_r * c - f_p * s, f_r * s + f_p * c, f_z])

    n_r, n_z = contour.normal.T
    normal = np.stack([n_r[:, None] * c, n_r[:, None] * s, np.broadcast_to(n_z[:, None], (n_r.size, phi.size))])
    current = np.cross(normal, vector(contour.h, False), axis=0)
    magnetic = -np.cross(normal, vector(contour.e, True), axis=0)
    return current, magnetic


def amplitudes(contour, k, theta):
    """Far-field amplitudes A(theta), B(theta) of E_theta = A cos phi and E_phi = B sin phi."""
    count = 2 * int(np.ceil(k * contour.r.max())) + 40
    phi = 2 * np.pi * np.arange(count) / count
    current, magnetic = _cartesian(contour, phi)
    area = (contour.r * contour.weight)[:, None] * (2 * np.pi / count)
    x, y = contour.r[:, None] * np.cos(phi), contour.r[:, None] * np.sin(phi)
    z = contour.z[:, None]
    field = np.empty((2, theta.size), complex)
    for i, angle in enumerate(theta):
        sin, cos = np.sin(angle), np.cos(angle)
        # plane phi = 0: theta^ = (cos, 0, -sin), phi^ = y;  plane phi = 90: theta^ = (0, cos, -sin), phi^ = -x
        phase = area * np.exp(1j * k * (x * sin + z * cos))
        n_theta = np.sum(phase * (current[0] * cos - current[2] * sin))
        l_phi = np.sum(phase * magnetic[1])
        field[0, i] = -1j * k / (4 * np.pi) * (l_phi + n_theta)
        phase = area * np.exp(1j * k * (y * sin + z * cos))
        l_theta = np.sum(phase * (magnetic[1] * cos - magnetic[2] * sin))
        n_phi = -np.sum(phase * current[0])
        field[1, i] = 1j * k / (4 * np.pi) * (l_theta - n_phi)
    return field


def _half_power_width_deg(theta, density):
    """Twice the first angle at which the density has fallen to half its value at theta = 0; None if it never does."""
    spline = CubicSpline(np.degrees(theta), density - density[0] / 2)
    roots = spline.roots(extrapolate=False)
    return float(2 * roots[0]) if roots.size else None


def phase_centre(a, b, theta, k, largest_deg=40.0):
    """Height z, m, of the least-squares phase centre of both planes up to an angle, weighted by power over the sphere.

    The weight of a phase is |E|^2 sin(theta); the square root of it multiplies each row.
    """
    near = np.degrees(theta) <= largest_deg + 1e-9
    rows, phases = [], []
    for field in (a[near], -b[near]):  # on the axis B = -A
        weight = np.abs(field) * np.sqrt(np.sin(theta[near]))
        rows.append(np.stack([k * np.cos(theta[near]), np.ones(near.sum())], axis=1) * weight[:, None])
        phases.append(np.unwrap(np.angle(field)) * weight)
    return float(np.linalg.lstsq(np.concatenate(rows), np.concatenate(phases), rcond=None)[0][0]) * 1e-3


def summarise(domain, solution, frequency_hz, order):
    """Pattern figures of one solution as plain numbers (the entries of the reference file)."""
    k = 2 * np.pi * frequency_hz / SPEED_OF_LIGHT_MM
    contour = sample_contour(domain, solution, order + 4)
    nodes, weights = np.polynomial.legendre.leggauss(64 + int(2 * k * np.hypot(*np.abs(domain.contour[:2]))))
    sphere = amplitudes(contour, k, np.arccos(nodes))
    power = np.pi / 2 * float(np.sum(weights * np.sum(np.abs(sphere) ** 2, axis=0)))
    theta = np.radians(np.linspace(0.0, 180.0, 361))
    a, b = amplitudes(contour, k, theta)
    e_plane, h_plane = (2 * np.pi * np.abs(field) ** 2 / power for field in (a, b))
    cross = 2 * np.pi * np.abs((a + b) / 2) ** 2 / power
    accepted = solution.incident_power * (1 - abs(solution.s11) ** 2)

    def dbi(density):
        return 10 * np.log10(np.maximum(density, 1e-30))

    return {
        "s11": [solution.s11.real, solution.s11.imag],
        "directivity_dbi": float(dbi(e_plane[0])),
        "hpbw_e_deg": _half_power_width_deg(theta, e_plane),
        "hpbw_h_deg": _half_power_width_deg(theta, h_plane),
        "front_to_back_db": float(dbi(e_plane[0]) - dbi(e_plane[-1])),
        "crosspol_db": float(dbi(cross[theta <= np.pi / 2 + 1e-9].max()) - dbi(e_plane[0])),
        "radiation_efficiency": power / accepted,
        "e_plane_dbi": dbi(e_plane[::4]).tolist(),
        "h_plane_dbi": dbi(h_plane[::4]).tolist(),
        "cross_plane_dbi": dbi(cross[::4]).tolist(),
        "phase_centre_m": phase_centre(a, b, theta, k),
        "contour_over_far_power": contour_power(contour) / power,
        "power_balance": (power + solution.dissipated_power) / accepted,
    }
