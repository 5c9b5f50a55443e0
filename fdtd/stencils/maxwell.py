"""Maxwell's equations: `TMZ`, `TEZ`, `COUPLED_TEZ` in the plane (`fdtd.planar.problem`), `YEE3D` in space.

H is scaled by the impedance of free space. A gain holds the time step, the cell, the medium, and where conductors cut a
cell the open part of it; a keep is what loss leaves of a field.

References:
    Yee, IEEE Trans. Antennas Propag. 14 (1966) 302; Taflove & Hagness, Computational Electrodynamics, 3rd ed., ch. 3.
"""

from __future__ import annotations

from fdtd.stencils.formula import Formula, Phase
from fdtd.stencils.terms import Both, Coefficient, Component, Difference, Layered, Spacing, Term, Where


def layered(axis: str, term: Term) -> Layered:
    """Return a derivative that absorbing layers stretch."""
    return Layered(Difference(axis, term))


def _tmz() -> Formula:
    e_z, h_x, h_y = Component("e_z", (0, 0)), Component("h_x", (0, 1)), Component("h_y", (1, 0))
    gain_x, gain_y, keep, gain = map(Coefficient, ("gain_x", "gain_y", "keep", "gain"))
    return Formula(
        name="tmz",
        title="TM_z: h_x -= S/l_y dy e_z, h_y += S/l_x dx e_z, then eps de_z = S (dx h_y - dy h_x) with loss",
        axes="xy",
        components=(e_z, h_x, h_y),
        coefficients=(gain_x, gain_y, keep, gain),
        phases=(
            Phase({h_x: h_x + gain_x * layered("y", e_z), h_y: h_y + gain_y * layered("x", e_z)}),
            Phase({e_z: keep * e_z + gain * (layered("x", h_y) - layered("y", h_x))}),
        ),
        limit="c dt/d <= 1/sqrt(2)",
    )


def _tez(coupled: bool) -> Formula:
    h_z, e_x, e_y = Component("h_z", (1, 1)), Component("e_x", (1, 0)), Component("e_y", (0, 1))
    c_x, c_y = Component("c_x", (1, 0), kept=False), Component("c_y", (0, 1), kept=False)
    gain_h = Coefficient("gain_h")
    length_x, length_y = Coefficient("length_x", (1, 0)), Coefficient("length_y", (0, 1))
    keep_x, keep_y, gain_x, gain_y = map(Coefficient, ("keep_x", "keep_y", "gain_x", "gain_y"))
    coupling = Coefficient("coupling", (0, 0))
    curl_x, curl_y = layered("y", h_z), -layered("x", h_z)
    electric = {e_x: keep_x * e_x + gain_x * curl_x, e_y: keep_y * e_y + gain_y * curl_y}
    # Closed segments pass nothing on.
    passed = {c_x: Where(gain_x, curl_x), c_y: Where(gain_y, curl_y)}
    coupled_phase = Phase(
        {
            e_x: Where(gain_x, e_x + Both("x", coupling * Both("y", c_y)), e_x),
            e_y: Where(gain_y, e_y + Both("y", coupling * Both("x", c_x)), e_y),
        },
        sparse=True,
    )
    return Formula(
        name="tez",
        title="TE_z: h_z -= S/A (dx (l_y e_y) - dy (l_x e_x)), then eps de_x = S dy h_z, eps de_y = -S dx h_z with loss"
        + (", and what coupled nodes pass on" if coupled else ""),
        axes="xy",
        components=(h_z, e_x, e_y, *((c_x, c_y) if coupled else ())),
        coefficients=(
            gain_h, length_x, length_y, keep_x, keep_y, gain_x, gain_y, *((coupling,) if coupled else ()),
        ),
        phases=(
            Phase({h_z: h_z + gain_h * (layered("x", length_y * e_y) - layered("y", length_x * e_x))}),
            Phase(electric | passed if coupled else electric, early=(gain_x, gain_y)),
            *((coupled_phase,) if coupled else ()),
        ),
        limit="c dt/d <= 1/sqrt(2)",
    )  # fmt: skip


def _yee3d() -> Formula:
    e = {axis: Component(f"e_{axis}", tuple(int(axis == one) for one in "xyz")) for axis in "xyz"}
    h = {axis: Component(f"h_{axis}", tuple(int(axis != one) for one in "xyz")) for axis in "xyz"}
    keep = {axis: Coefficient(f"keep_{axis}") for axis in "xyz"}
    gain = {axis: Coefficient(f"gain_{axis}") for axis in "xyz"}
    half = {axis: Spacing(f"half_{axis}", axis) for axis in "xyz"}  # over distances of nodes
    node = {axis: Spacing(f"node_{axis}", axis) for axis in "xyz"}  # over distances of half nodes
    turns = {"x": ("y", "z"), "y": ("z", "x"), "z": ("x", "y")}
    magnetic, electric = {}, {}
    for axis, (first, second) in turns.items():
        curl_e = half[first] * layered(first, e[second]) - half[second] * layered(second, e[first])
        curl_h = node[first] * layered(first, h[second]) - node[second] * layered(second, h[first])
        magnetic[h[axis]] = h[axis] - curl_e
        electric[e[axis]] = keep[axis] * e[axis] + gain[axis] * curl_h
    return Formula(
        name="yee3d",
        title="Yee's lattice: dH = -S curl E, then eps dE = S curl H with loss, graded cells, any medium",
        axes="xyz",
        components=(*e.values(), *h.values()),
        coefficients=(*keep.values(), *gain.values()),
        phases=(Phase(magnetic), Phase(electric)),
        limit="c dt <= 1/sqrt(1/dx^2 + 1/dy^2 + 1/dz^2) of the smallest cells",
    )


TMZ_FORMULA = _tmz()
TEZ_FORMULA = _tez(coupled=False)
COUPLED_TEZ_FORMULA = _tez(coupled=True)
YEE3D_FORMULA = _yee3d()
