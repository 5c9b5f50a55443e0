"""Compare the solver with results that are known otherwise; exit status 1 when one is missed.

python benchmarks/reference_fem/check.py
"""

from __future__ import annotations

import sys
from dataclasses import replace

import netgen.occ as occ
import ngsolve as ngs
import numpy as np
from cases import CASES
from far_field import summarise
from fields import SPEED_OF_LIGHT_MM, energies, solve
from run import FINEST, solve_case
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import eigsh
from shapes import build_domain

# S11 (dB), directivity (dBi), half-power widths E and H (deg), front to back (dB) of the open waveguide by another
# body-of-revolution finite-element code, printed to these digits.
OPEN_WAVEGUIDE = {
    28.5e9: (-15.550, 8.031, 72.98, 69.78, 12.21),
    30.0e9: (-18.347, 8.284, 69.92, 70.29, 13.11),
    31.5e9: (-20.821, 8.417, 71.60, 71.11, 13.80),
}
CAVITY_TE111_HZ = 12.843050e9
CAVITY_SLAB_HZ = 8.690016e9


def cavity_frequency_hz(slab_permittivity, near_hz, order=6):
    """Eigenfrequency of order 1 of a closed cylinder, R = 10 mm and 0 < z < 16 mm, slab in 0 < z < 6 mm."""
    plane = occ.WorkPlane()
    slab, rest = plane.Rectangle(10, 6).Face(), plane.MoveTo(0, 6).Rectangle(10, 10).Face()
    slab.faces.name, rest.faces.name = "slab", "rest"
    shape = occ.Glue([slab, rest])
    for edge in shape.edges:
        r, z = edge.center.x, edge.center.y
        edge.name = "axis" if r < 1e-6 else "inner" if abs(z - 6) < 1e-6 else "metal"
    mesh = ngs.Mesh(occ.OCCGeometry(shape, dim=2).GenerateMesh(maxh=4))
    space = ngs.HCurl(mesh, order=order, dirichlet="metal") * ngs.H1(mesh, order=order + 1, dirichlet="metal|axis")
    trial, test = space.TnT()
    curls, fields = energies(trial, test, (ngs.x, 1.0, 1.0))
    permittivity = mesh.MaterialCF({"slab": slab_permittivity}, default=1.0)
    free = np.flatnonzero(np.array(list(space.FreeDofs())))
    matrices = []
    for integrand in (curls, permittivity * fields):
        form = ngs.BilinearForm(integrand * ngs.dx(bonus_intorder=6)).Assemble()
        rows, columns, values = form.mat.COO()
        whole = csc_matrix((np.array(values), (np.array(rows), np.array(columns))), shape=(space.ndof, space.ndof))
        matrices.append(whole[free][:, free])
    k_near = 2 * np.pi * near_hz / SPEED_OF_LIGHT_MM
    values = eigsh(matrices[0], k=1, M=matrices[1], sigma=k_near**2, which="LM", return_eigenvectors=False)
    return float(np.sqrt(values[0])) * SPEED_OF_LIGHT_MM / (2 * np.pi)


def cavity_rows():
    """Closed cavity, empty and with a slab of permittivity 4, against the transcendental equations."""
    for name, permittivity, exact in (("TE111", 1.0, CAVITY_TE111_HZ), ("slab", 4.0, CAVITY_SLAB_HZ)):
        # the shift is off the eigenvalue on purpose, by less than the distance to the next one
        found = cavity_frequency_hz(permittivity, 1.01 * exact)
        yield f"cavity {name}, relative frequency", found / exact - 1, 1e-7


def open_waveguide_rows():
    """Open waveguide against the published table, to the digits it is printed with."""
    case = CASES[0]
    domain = build_domain(case, FINEST)
    for frequency, expected in OPEN_WAVEGUIDE.items():
        solution = solve(domain, frequency, 1.0 + 0j, FINEST)
        result = summarise(domain, solution, frequency, FINEST.order)
        found = [20 * np.log10(abs(solution.s11))]
        found += [result[key] for key in ("directivity_dbi", "hpbw_e_deg", "hpbw_h_deg", "front_to_back_db")]
        names = ("S11 dB", "directivity", "HPBW E", "HPBW H", "front to back")
        for name, value, target, digit in zip(names, found, expected, (1e-3, 1e-3, 1e-2, 1e-2, 1e-2), strict=True):
            yield f"open waveguide {frequency / 1e9} GHz {name}", value - target, 0.75 * digit


def invariance_rows():
    """A lens of permittivity 1 is no lens; the depth of the port plane and the place of the contour must not matter."""
    frequency = CASES[0]["design_frequency_hz"]
    bare = solve(build_domain(CASES[0], FINEST), frequency, 1.0 + 0j, FINEST)
    lens_domain = build_domain(CASES[1], FINEST)
    ghost = solve(lens_domain, frequency, 1.0 + 0j, FINEST)
    yield "lens of permittivity 1, S11", abs(ghost.s11 - bare.s11), 5e-6
    solution = solve(lens_domain, frequency, 2.53 + 0j, FINEST)
    deeper = solve(build_domain(CASES[1], FINEST, port_depth=18.0), frequency, 2.53 + 0j, FINEST)
    yield "port plane 18 mm deep, S11", abs(solution.s11 - deeper.s11), 5e-6
    wide_setting = replace(FINEST, air_gap_mm=5.0)
    wide = build_domain(CASES[1], wide_setting)
    far = summarise(wide, solve(wide, frequency, 2.53 + 0j, wide_setting), frequency, FINEST.order)
    near = summarise(lens_domain, solution, frequency, FINEST.order)
    yield "contour 5 mm away, directivity dB", far["directivity_dbi"] - near["directivity_dbi"], 5e-4


def scale_rows():
    """Maxwell's equations have no length: three times the size at a third of the frequency is the same antenna."""
    scaled = {key: 3 * value if key.endswith("_m") else value for key, value in CASES[0].items()}
    scaled |= {
        "design_frequency_hz": CASES[0]["design_frequency_hz"] / 3,
        "frequencies_hz": [frequency / 3 for frequency in CASES[0]["frequencies_hz"]],
    }
    first, second = (
        {key: result[key] for key in ("s11", "e_plane_dbi")}
        for result in (solve_case(case, FINEST.for_band(case))[0][1] for case in (CASES[0], scaled))
    )
    yield "three times the size, S11", abs(complex(*first["s11"]) - complex(*second["s11"])), 1e-7
    change = np.abs(np.subtract(first["e_plane_dbi"], second["e_plane_dbi"])).max()
    yield "three times the size, E-plane dB", change, 1e-4


def main():
    """Print every check and return the number that were missed."""
    ngs.SetNumThreads(1)
    missed = 0
    for rows in (cavity_rows, open_waveguide_rows, invariance_rows, scale_rows):
        for name, error, allowed in rows():
            missed += abs(error) > allowed
            print(
                f"{'ok  ' if abs(error) <= allowed else 'MISS'} {name}: {error:+.2e} (allowed {allowed:.1e})",
                flush=True,
            )
    return missed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
