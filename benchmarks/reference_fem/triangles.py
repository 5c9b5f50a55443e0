"""Feko's example horn by the method of moments on flat triangles: the phase centre against the triangles' edge.

    python benchmarks/reference_fem/triangles.py [--edges 5 6 7 8] [--out FILE]

The example's number comes from such a mesh, and flat triangles with corners on a circle make a narrower guide. The
electric field integral equation is tested with the functions of Rao, Wilton and Glisson on thin walls. A dipole across
the axis, a quarter of a guide wavelength in front of the closed back wall, excites the guide; only TE11 reaches the
step, and the pattern does not depend on the dipole. Needs Gmsh and Numba in addition to `fields.py`'s packages.
Lengths are mm, exp(+jwt).

References:
    Rao, Wilton & Glisson, IEEE Trans. Antennas Propag. 30 (1982) 409; Graglia, IEEE Trans. Antennas Propag. 41 (1993)
    1448, for the static potentials of a triangle.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import gmsh
import numpy as np
from far_field import phase_centre
from numba import njit
from scipy.linalg import lu_factor, lu_solve

DATA = Path(__file__).resolve().parents[2] / "tests" / "published" / "data" / "triangles_stepped_horn.json"
WAVELENGTH = 299.792458 / 12.5
K = 2 * np.pi / WAVELENGTH
FEED, STEP, MOUTH, LENGTH = (part * WAVELENGTH for part in (0.51, 0.65, 1.0, 3.05))
GUIDE = 2 * 29.3  # two guide wavelengths, as in the example
DIPOLE = np.array([0.0, 0.0, 29.3 / 4 - GUIDE])
NEAR = 2.5  # edges: below, the static part of the inner integral is in closed form
_A, _B = (6 + np.sqrt(15)) / 21, (6 - np.sqrt(15)) / 21
SEVEN = np.array([[1 / 3] * 3, *(np.roll([1 - 2 * a, a, a], turn) for a in (_A, _B) for turn in range(3))])
SEVEN_WEIGHTS = np.array([9 / 40] + [(155 + np.sqrt(15)) / 1200] * 3 + [(155 - np.sqrt(15)) / 1200] * 3)
THREE = np.array([np.roll([2 / 3, 1 / 6, 1 / 6], turn) for turn in range(3)])


@dataclass(frozen=True, kw_only=True)
class Surface:
    """Triangles and the functions on the edges that two of them share.

    Attributes:
        corners: mm, (triangles, 3, 3).
        area: mm^2, (triangles,).
        normal: Unit vectors, (triangles, 3).
        function: Which function belongs to the edge opposite each corner, (triangles, 3); -1 at the mouth's rim.
        half: Sign and edge length over twice the area of that half of the function, the same shape.
        size: Number of functions.
    """

    corners: np.ndarray
    area: np.ndarray
    normal: np.ndarray
    function: np.ndarray
    half: np.ndarray
    size: int


def mesh(edge):
    """Corners of the triangles of the horn's walls, (triangles, 3) places and (places, 3) mm."""
    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    for key in ("Mesh.MeshSizeMin", "Mesh.MeshSizeMax"):
        gmsh.option.setNumber(key, edge)
    shapes = gmsh.model.occ
    section = [(0, -GUIDE), (FEED, -GUIDE), (FEED, 0), (STEP, 0), (MOUTH, LENGTH)]
    points = [shapes.addPoint(r, 0, z) for r, z in section]
    lines = [(1, shapes.addLine(*ends)) for ends in pairwise(points)]
    shapes.revolve(lines, 0, 0, 0, 0, 0, 1, 2 * np.pi)
    shapes.removeAllDuplicates()
    shapes.synchronize()
    gmsh.model.mesh.generate(2)
    gmsh.model.mesh.removeDuplicateNodes()
    tags, places, _ = gmsh.model.mesh.getNodes()
    row = {tag: at for at, tag in enumerate(tags)}
    corners = gmsh.model.mesh.getElementsByType(2)[1]
    gmsh.finalize()
    return np.array([row[tag] for tag in corners]).reshape(-1, 3), places.reshape(-1, 3)


def surface(triangles, places):
    """Number the functions of a mesh."""
    corners = places[triangles]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    twice = np.linalg.norm(across, axis=1)
    owners = {}
    for triangle, own in enumerate(triangles):
        for corner in range(3):
            ends = tuple(sorted(np.delete(own, corner)))
            owners.setdefault(ends, []).append((triangle, corner))
    shared = [(ends, halves) for ends, halves in owners.items() if len(halves) == 2]
    function, half = np.full(triangles.shape, -1), np.zeros(triangles.shape)
    for number, (ends, halves) in enumerate(shared):
        length = np.linalg.norm(places[ends[0]] - places[ends[1]])
        for sign, at in zip((1, -1), halves, strict=True):
            function[at], half[at] = number, sign * length / twice[at[0]]
    normal = across / twice[:, None]
    return Surface(corners=corners, area=twice / 2, normal=normal, function=function, half=half, size=len(shared))


@njit(cache=True)
def static(point, corners, normal):
    """Integrals of 1/R and of r'/R over a triangle (Graglia's closed forms)."""
    height = ((point - corners[0]) * normal).sum()
    foot = point - height * normal
    potential, moment = 0.0, np.zeros(3)
    for i in range(3):
        along = corners[(i + 1) % 3] - corners[i]
        length = np.sqrt((along * along).sum())
        along = along / length
        outward = np.cross(along, normal)
        away = ((corners[i] - foot) * outward).sum()
        start = ((corners[i] - foot) * along).sum()
        end = start + length
        square = away * away + height * height
        to_start, to_end = np.sqrt(start * start + square), np.sqrt(end * end + square)
        moment += outward * 0.5 * (end * to_end - start * to_start)
        if square > 1e-14:
            if start > 0:
                logarithm = np.log((to_end + end) / (to_start + start))
            else:
                logarithm = np.log((to_start - start) / (to_end - end))
            moment += outward * 0.5 * square * logarithm
            potential += away * logarithm
            up = abs(height)
            if up > 1e-9:
                turned = np.arctan(away * end / (square + up * to_end))
                potential -= up * (turned - np.arctan(away * start / (square + up * to_start)))
    return potential, moment + foot * potential


@njit(cache=True)
def _pair(first, other, corners, normal, area, near, of_first, of_other):
    """Mean values of G, r.r' G and, into `of_first` and `of_other`, of r G and r' G over two triangles."""
    plain, dots = 0j, 0j
    of_first[:], of_other[:] = 0, 0
    for x in range(first.shape[0]):
        potential, moment = 0.0, first[x]
        if near:
            potential, moment = static(first[x], corners, normal)
        inner, r, p, z = potential / area + 0j, 0j, 0j, 0j
        if near:
            r, p, z = moment[0] / area + 0j, moment[1] / area + 0j, moment[2] / area + 0j
        for y in range(other.shape[0]):
            u, v, w = first[x, 0] - other[y, 0], first[x, 1] - other[y, 1], first[x, 2] - other[y, 2]
            distance = np.sqrt(u * u + v * v + w * w)
            if not near:
                kernel = np.exp(-1j * K * distance) / (3 * distance)
            elif distance < 1e-7:
                kernel = -1j * K * SEVEN_WEIGHTS[y]
            else:
                kernel = (np.exp(-1j * K * distance) - 1) / distance * SEVEN_WEIGHTS[y]
            inner += kernel
            r, p, z = r + kernel * other[y, 0], p + kernel * other[y, 1], z + kernel * other[y, 2]
        weight = SEVEN_WEIGHTS[x] if near else 1 / 3
        plain += weight * inner
        dots += weight * (first[x, 0] * r + first[x, 1] * p + first[x, 2] * z)
        for axis in range(3):
            of_first[axis] += weight * inner * first[x, axis]
        of_other[0] += weight * r
        of_other[1] += weight * p
        of_other[2] += weight * z
    return plain, dots


@njit(cache=True)
def fill(corners, normal, area, function, half, size, edge, seven, three):
    """Matrix of the equation over -j omega mu / (4 pi), (functions, functions)."""
    matrix = np.zeros((size, size), np.complex64)
    left, right = np.zeros(3, np.complex128), np.zeros(3, np.complex128)
    for p in range(len(area)):
        for q in range(len(area)):
            u, v, w = seven[p, 0] - seven[q, 0]
            near = u * u + v * v + w * w < (NEAR * edge) ** 2
            first, other = (seven[p], seven[q]) if near else (three[p], three[q])
            plain, dots = _pair(first, other, corners[q], normal[q], area[q], near, left, right)
            for i in range(3):
                for j in range(3):
                    m, n = function[p, i], function[q, j]
                    if m >= 0 and n >= 0:
                        value = dots - 4 / K**2 * plain
                        for axis in range(3):
                            u, v = corners[p, i, axis], corners[q, j, axis]
                            value += u * v * plain - v * left[axis] - u * right[axis]
                        matrix[m, n] += half[p, i] * half[q, j] * area[p] * area[q] * value
    return matrix


def dipole_field(points):
    """Field of the dipole along x, (1 + grad grad / k^2) x G, (..., 3)."""
    apart = points - DIPOLE
    distance = np.linalg.norm(apart, axis=-1, keepdims=True)
    unit, kr = apart / distance, K * distance
    along = unit[..., :1] * unit
    return np.exp(-1j * kr) / distance * ((1 - 1j / kr - 1 / kr**2) * [1.0, 0, 0] + (-1 + 3j / kr + 3 / kr**2) * along)


def far_amplitudes(at, current, theta):
    """Amplitudes A and B of `far_field.amplitudes` from currents (points, 3) at points, the dipole's included."""
    found = []
    for sin, cos in zip(np.sin(theta), np.cos(theta), strict=True):
        e_plane = np.exp(1j * K * (at[:, 0] * sin + at[:, 2] * cos)) @ (current[:, 0] * cos - current[:, 2] * sin)
        h_plane = np.exp(1j * K * (at[:, 1] * sin + at[:, 2] * cos)) @ current[:, 0]
        own = np.exp(1j * K * DIPOLE[2] * cos)
        found.append((e_plane + own * cos, -h_plane - own))
    return np.array(found).T


def solve(edges_a_wavelength):
    """Functions and phase centre in front of the mouth, mm, of a mesh."""
    edge = WAVELENGTH / edges_a_wavelength
    ours = surface(*mesh(edge))
    seven, three = (np.einsum("qi,tix->tqx", rule, ours.corners) for rule in (SEVEN, THREE))
    shape = (ours.corners, ours.normal, ours.area, ours.function, ours.half)
    matrix = fill(*shape, ours.size, edge, seven, three)
    weights = SEVEN_WEIGHTS * ours.area[:, None]
    incident = dipole_field(seven)
    excited = np.zeros(ours.size, np.complex64)
    for corner in range(3):
        own = ours.function[:, corner] >= 0
        values = (seven - ours.corners[:, corner, None]) * ours.half[:, corner, None, None]
        tested = (weights[..., None] * values * incident).sum(axis=(1, 2))
        np.add.at(excited, ours.function[own, corner], tested[own])
    amounts = lu_solve(lu_factor(matrix, overwrite_a=True), -excited)
    current = np.zeros(seven.shape, complex)
    for corner in range(3):
        amount = np.where(ours.function[:, corner] >= 0, amounts[ours.function[:, corner]], 0)
        scale = (amount * ours.half[:, corner])[:, None, None]
        current += scale * (seven - ours.corners[:, corner, None])
    theta = np.radians(np.linspace(0, 90, 181))
    flat = (current * weights[..., None]).reshape(-1, 3)
    a, b = far_amplitudes(seven.reshape(-1, 3), flat, theta)
    return ours.size, phase_centre(a, b, theta, K) * 1e3 - LENGTH


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--edges", type=float, nargs="+", default=[5, 6, 7, 8], help="a wavelength")
    parser.add_argument("--out", type=Path, default=DATA)
    arguments = parser.parse_args()
    rows = []
    for edges in arguments.edges:
        start = time.perf_counter()
        size, centre = solve(edges)
        rows.append({"edges_a_wavelength": edges, "unknowns": size, "phase_centre_mm": round(centre, 4)})
        print(rows[-1], f"{time.perf_counter() - start:.0f} s", flush=True)
    lines = ",\n".join(f" {json.dumps(row)}" for row in rows)
    arguments.out.write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    main()
