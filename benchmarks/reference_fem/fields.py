"""Time-harmonic fields of azimuthal order 1 in a body of revolution by high-order finite elements.

Convention exp(+jwt); E = (e_r cos phi, e_phi sin phi, e_z cos phi). Lengths in mm, k in rad/mm.

Unknowns. With u = r e_phi the curl is

    curl_r = -(e_z + du/dz) / r,    curl_z = (e_r + du/dr) / r,    curl_phi = de_r/dz - de_z/dr,

singular on the axis in each term. The substitution e_t = r v - grad u (e_t = (e_r, e_z)) turns it into

    curl_r = -v_z,    curl_z = v_r,    curl_phi = d(r v_r)/dz - d(r v_z)/dr,

regular for any polynomial v, if only u = 0 on the axis; then e_r = -e_phi and e_z = 0 there, as order 1 demands. v is
sought in a Nedelec space, u in H1 of one order more. Gradients of scalar potentials are exactly the pairs (0, u), so
the discrete kernel is the exact one and there are no spurious modes. On metal u = 0 and v x n = 0. (Lacoste, Numer.
Math. 84 (2000) 577; Oh, Comput. Math. Appl. 70 (2015) 2063.)

Open space. A layer of complex coordinates, r~ = r + int sigma_r, z~ = z + int sigma_z with s = 1 - j sigma, covers the
outside (Chew & Weedon, Microw. Opt. Tech. Lett. 7 (1994) 599; in cylindrical coordinates Teixeira & Chew, IEEE MGWL 7
(1997) 371: r~ replaces r in 1/r too). With the covariant parts e'_r = s_r e_r, e'_z = s_z e_z, e'_t = r v - grad u
again.

Port. On z = z_p, the only travelling mode being TE11, n x curl E = j beta E - 2 j beta E_inc holds for that mode;
the others have died out before (Jin, The Finite Element Method in Electromagnetics, 3rd ed., on waveguide ports).
"""

from __future__ import annotations

from dataclasses import dataclass

import ngsolve as ngs
import numpy as np
from scipy.special import jnp_zeros

SPEED_OF_LIGHT_MM = 299.792458e9
KC_A = float(jnp_zeros(1, 1)[0])


@dataclass(frozen=True, kw_only=True)
class Solution:
    """Fields for a TE11 wave of amplitude 1 at z = 0 (before reflection), and what the port saw.

    Attributes:
        e: Coefficient function (e_r, e_phi, e_z).
        h: Coefficient function of eta0 (h_r, h_phi, h_z).
        s11: Reflection of the transverse electric field at z = 0.
        incident_power: Power of the incident wave times eta0.
        dissipated_power: Power turned to heat in the dielectric times eta0.
        dofs: Unknowns.
    """

    e: ngs.CoefficientFunction
    h: ngs.CoefficientFunction
    s11: complex
    incident_power: float
    dissipated_power: float
    dofs: int


def relative_permittivity(case, frequency_hz, design_frequency_hz):
    """Complex permittivities by region: a conductivity that gives the loss tangent at the design frequency."""

    def of(body):
        loss = body.get("loss_tangent", 0.0) * design_frequency_hz / frequency_hz
        return body.get("permittivity", 1.0) * (1 - 1j * loss)

    drawn = {f"body{place}": of(body) for place, body in enumerate(case.get("bodies", ())) if not body.get("metal")}
    return drawn or {"lens": of(case)}


def _stretching(domain, resolution):
    """Complex r~ and the two stretching factors; quadratic profile."""
    r_layer, z_low, z_high = domain.layer
    depth = domain.layer_thickness
    k_design = 2 * np.pi * resolution.design_frequency_hz / SPEED_OF_LIGHT_MM
    peak = 3 * resolution.pml_attenuation / (k_design * depth)

    def ramp(distance):
        return ngs.IfPos(distance, distance / depth, 0.0)

    in_r = ramp(ngs.x - r_layer)
    in_z = ramp(ngs.y - z_high) + ramp(z_low - ngs.y)
    r_stretched = ngs.x - 1j * peak * depth / 3 * in_r * in_r * in_r
    return r_stretched, 1 - 1j * peak * in_r * in_r, 1 - 1j * peak * in_z * in_z


def _te11(inner_radius):
    """Transverse TE11 field (e_r, e_phi) = (J1(s)/s, -J1'(s)), as a power series in s (exact on the axis too)."""
    s2 = (KC_A / inner_radius) ** 2 * ngs.x * ngs.x / 4
    e_r, e_phi, term = 0.0, 0.0, 0.5
    for n in range(12):
        e_r, e_phi = e_r + term * s2**n, e_phi - (2 * n + 1) * term * s2**n
        term = -term / ((n + 1) * (n + 2))
    return e_r, e_phi


def _curl_phi(v):
    return -ngs.x * ngs.curl(v) - v[1]


def energies(trial, test, stretching):
    """Integrands of (curl E, curl F) and (E, F) over r and z, for pairs (v, u) and (w, q) and (r~, s_r, s_z)."""
    (v, u), (w, q) = trial, test
    r = ngs.x
    r_s, s_r, s_z = stretching
    e_t, f_t = r * v - ngs.grad(u), r * w - ngs.grad(q)
    curls = r * r * (s_r / (s_z * r_s) * v[1] * w[1] + s_z / (s_r * r_s) * v[0] * w[0])
    curls += r_s / (s_r * s_z) * _curl_phi(v) * _curl_phi(w)
    fields = r_s * (s_z / s_r * e_t[0] * f_t[0] + s_r / s_z * e_t[1] * f_t[1]) + s_r * s_z / r_s * u * q
    return curls, fields


def _assemble(space, domain, k, beta, permittivity, resolution):
    """Bilinear form and source of the incident wave of amplitude 1 at the port plane."""
    (v, u), (w, q) = space.TnT()
    r = ngs.x
    curls, fields = energies((v, u), (w, q), _stretching(domain, resolution))
    form = ngs.BilinearForm(space, symmetric=True, condense=True)
    form += (curls - k**2 * permittivity * fields) * ngs.dx(bonus_intorder=6)

    port = ngs.ds("port", bonus_intorder=space.components[1].globalorder + 6)
    e_r = (r * v.Trace() - ngs.grad(u).Trace())[0]
    f_r = (r * w.Trace() - ngs.grad(q).Trace())[0]
    form += 1j * beta * (r * e_r * f_r + u * q / r) * port
    mode_r, mode_phi = _te11(domain.inner_radius)
    source = ngs.LinearForm(space)
    source += 2j * beta * (r * mode_r * f_r + mode_phi * q) * port
    return form.Assemble(), source.Assemble()


def solve(domain, frequency_hz, permittivities, resolution):
    """Solve for one frequency.

    Args:
        domain: Mesh and positions from `shapes.build_domain`.
        frequency_hz: Frequency.
        permittivities: Complex relative permittivity by region; 1 elsewhere.
        resolution: Orders and layer strength.

    Returns:
        The `Solution`.
    """
    mesh, a = domain.mesh, domain.inner_radius
    k = 2 * np.pi * frequency_hz / SPEED_OF_LIGHT_MM
    beta = float(np.sqrt(k**2 - (KC_A / a) ** 2))
    permittivity = mesh.MaterialCF(permittivities, default=1.0)
    space = ngs.HCurl(mesh, order=resolution.order, dirichlet="metal|outer", complex=True) * ngs.H1(
        mesh, order=resolution.order + 1, dirichlet="metal|outer|axis", complex=True
    )
    form, source = _assemble(space, domain, k, beta, permittivity, resolution)
    field = ngs.GridFunction(space)
    ngs.solvers.BVP(bf=form, lf=source, gf=field, inverse="sparsecholesky", print=False)
    v, u = field.components
    r = ngs.x
    e_t = r * v - ngs.grad(u)
    e = ngs.CF((e_t[0], u / r, e_t[1]))
    h = (1j / k) * ngs.CF((-v[1], _curl_phi(v), v[0]))

    mode_r, mode_phi = _te11(a)
    port = ngs.ds("port", bonus_intorder=resolution.order + 6)
    trace_r = (r * ngs.BoundaryFromVolumeCF(v) - ngs.BoundaryFromVolumeCF(ngs.grad(u)))[0]
    norm = ngs.Integrate((mode_r**2 + mode_phi**2) * r * port, mesh).real
    total = ngs.Integrate((trace_r * mode_r * r + u * mode_phi) * port, mesh) / norm
    to_aperture = np.exp(-1j * beta * domain.port_z)
    s11 = complex((total - 1) * to_aperture**2)
    scale = complex(to_aperture)
    conductivity = mesh.MaterialCF({name: -value.imag for name, value in permittivities.items()}, default=0.0)
    square = sum(ngs.Norm(e[i]) ** 2 for i in range(3))
    heat = np.pi / 2 * k * ngs.Integrate(conductivity * square * r, mesh, order=2 * resolution.order + 4)
    return Solution(
        e=e * scale,
        h=h * scale,
        s11=s11,
        incident_power=float(np.pi / 2 * beta / k * norm),
        dissipated_power=float(np.real(heat)),
        dofs=space.ndof,
    )
