"""50,000 steps at 0.98 of the Courant limit: random fields around a lens, and around cut metal, layers on all sides.

The limit (`fdtd.axisymmetric.grid.courant_limit`) is the lattice's own, exact; 0.98 of it is what every run uses.
Random fields hold every wave that the lattice has. Those that the air around can carry leave through the layers in
some thousand steps. What stays are the lattice's fastest waves, bound to the axis: for m >= 2 their
(2 sin(w dt/2)/S)^2 lies far above 8, the largest of a plane lattice, so they can go nowhere in r,
and along z they hardly move. They neither decay nor grow, and the sum of squares that is looked at beats by a few per
cent, being E at (n + 1) dt and H at (n + 3/2) dt. So
the mean energy of 10,000 steps must never be above that of the 10,000 before by more than
10 % (an eigenvalue outside the unit circle by 5e-6 would be; beats give 7 %, measured), and that it falls where bound
waves leak. The start is free of static charges, which would stay for ever: H is a curl, E nothing.

Resolved waves must leave, down to what rounding keeps alive: a pulse of 25 cells a wavelength.

Measured, mean energy of the last 10,000 steps over that of the second 10,000, float64 (float32 the same to 3e-4), and
energy of the pulse at the end, float64 / float32:

           m = 0            m = 1            m = 2            m = 3
    lens   0.26             0.76             0.91             0.96
           -229 / -133 dB   -238 / -131 dB   -237 / -138 dB   -229 / -129 dB
    horn   0.013            0.495            0.976            0.953
           -227 / -131 dB   -231 / -134 dB   -237 / -140 dB   -223 / -126 dB

The horn's wall is slanted. A sliver of a cell in front of it is enlarged, and the next face has as much less area
(`_raised` in `fdtd/axisymmetric/conductors.py`): both then drive their H by as much as the bound allows, and a wave of
the lattice's highest frequencies is bound between them, for m = 1 too. It holds 0.2 % of the energy of random fields,
and over 200,000 steps it stays the same to 1 % (0.481 to 0.487 of the second 10,000 steps). Before, with the wall moved
instead, all waves of m = 1 leaked (0.0075). No resolved wave excites it: pulses fall as far as they did.

Theory gives neither how fast bound waves leak nor how much of a pulse rounding keeps. The bounds (`KEPT`) are the
ratios measured and a half where the waves leak, and 3 to 5 % where they stay; 4 to 6 dB above the worst pulse, a factor
of 1.6 to 2 in the field, for m <= 2 and for m = 3, as other compilers and processors round otherwise (up to 3 dB seen).

Over 200,000 steps the plateaus of m = 2 and 3 are the same to 7 %. At 1.005 of the limit the horn's fields overflow
within 2,000 steps for every m, those of the lens within 3,000 for m = 2 and 3.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from open_space import ALPHA, CELL, CENTRE, LEAD, STRENGTH, layers
from shapely import Polygon

from fdtd.axisymmetric.conductors import open_parts
from fdtd.axisymmetric.grid import AxisymmetricGrid, courant_limit
from fdtd.axisymmetric.media import Media, effective_permittivity
from fdtd.axisymmetric.monitors import Sampling
from fdtd.axisymmetric.polygons import in_polygon
from fdtd.axisymmetric.problem import ModalSource, Problem
from fdtd.axisymmetric.scene import Dielectric, Scene, box, capped_cylinder, cone_shell
from fdtd.backends import cpu
from fdtd.backends.reference import Stepper
from fdtd.cpml import RadialLayer

STEPS, LAYER = 50_000, 6
NR, NZ, ORIGIN = 24, 34, 11
KEPT = {"lens": (0.4, 0.9, 0.95, 1.01), "horn": (0.021, 0.75, 1.03, 1.0)}  # by m
PULSE_DB = {"float64": (-221.0, -217.0), "float32": (-125.0, -121.0)}  # m <= 2, m = 3


def lens() -> Scene:
    """Cylinder and hemisphere of permittivity 3.8, radius 8.3 cells, nowhere on a node."""
    radius, extension = np.array([8.3 * CELL]), np.array([3.4 * CELL])
    body = Dielectric(
        distance=capped_cylinder(radius, extension),
        permittivity=np.array([3.8]),
        loss_tangent=np.zeros(1),
        r_max=8.3 * CELL,
        z_min=0.0,
        z_max=11.7 * CELL,
    )
    return Scene(batch=1, dielectrics=(body,))


def horn() -> Scene:
    """A back wall across the axis, a tube and a flare of 39 degrees, two cells thick, nowhere on a node."""
    cells = {name: np.array([value * CELL]) for name, value in {"r": 4.37, "R": 6.45, "a": 9.6, "A": 12.1}.items()}
    length, none, back = np.array([6.5 * CELL]), np.zeros(1), np.array([4.3 * CELL])
    tube = box(cells["r"], cells["R"], -back, none)
    wall = box(np.array([-np.inf]), cells["R"], -back - 1.7 * CELL, -back)
    flare = cone_shell(cells["r"], cells["a"], cells["R"], cells["A"], length)
    return Scene(batch=1, conductors=(tube, wall, flare))


def problem(scene: Scene, order: int, steps: int = STEPS) -> Problem:
    """Fields without static charges: H is a random curl, E nothing."""
    grid = AxisymmetricGrid(
        nr=NR, nz=NZ, cell=CELL, origin=ORIGIN, courant_number=0.98 * courant_limit(order), azimuthal_order=order
    )
    permittivity, conductivity, coupling = effective_permittivity(grid, scene, 30e9)
    open_length, open_area = open_parts(grid, scene)
    media = Media(
        permittivity=permittivity,
        conductivity=conductivity,
        open_length=open_length,
        open_area=open_area,
        coupling=coupling if scene.dielectrics else None,
    )
    posed = Problem(
        grid=grid,
        media=media,
        sampling=Sampling(record_every=50, check_every=50, steps=steps, decay=0.0),
        radial_layer=RadialLayer(cells=LAYER, strength=STRENGTH, alpha=ALPHA),
        axial_layers=layers(grid, LAYER, LAYER),
    )
    potential = np.zeros((1, 6, NZ, NR))
    inside = np.s_[:, :3, LAYER + 1 : NZ - LAYER - 1, : NR - LAYER - 1]
    potential[inside] = np.random.default_rng(order).standard_normal(potential[inside].shape)
    stepper = Stepper(dataclasses.replace(posed, initial=potential))
    stepper._step_h()
    start = stepper.stored()
    start[:, :3] = 0.0
    return dataclasses.replace(posed, initial=start)


def mean_energies(posed: Problem, precision: str) -> np.ndarray:
    """Mean of the energy over each 10,000 steps, over the largest ever seen."""
    looks: list[float] = []
    cpu.run(posed, precision=precision, watch=lambda _, ratio: looks.append(ratio))
    return np.reshape(looks, (STEPS // 10_000, -1)).mean(axis=1)


def plate(fraction: float) -> Scene:
    """A plate across the axis, its upper face at this fraction of the cell above z = 0."""
    cells = (-np.inf, 8.0, -3.0, fraction)
    return Scene(batch=1, conductors=(box(*(np.array([value * CELL]) for value in cells)),))


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_plate_across_the_axis(order: int) -> None:
    """Wherever its face cuts the cells at the axis, 3,000 steps from random fields stay finite and small.

    Measured, of a start of unit size: 1.1 for m = 0 and 1, 3.3 for m = 2 and 3; the bounds are these and a half.
    """
    for fraction in (0.3, 0.72, 0.79, 0.86):
        final = cpu.run(problem(plate(fraction), order, 3000), precision="float64").final
        assert final is not None
        assert np.nan_to_num(np.abs(final), nan=np.inf).max() < (1.7 if order < 2 else 5.0), fraction


@pytest.mark.parametrize("precision", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("scene", [lens, horn])
def test_random_fields(measured: Callable[..., float], scene: Callable[[], Scene], order: int, precision: str) -> None:
    """From 10,000 to 50,000 steps: less energy for m = 0 and 1, and no more for m = 2 and 3."""
    means = mean_energies(problem(scene(), order), precision)
    name = f"mean energy, steps 40,000-50,000 over 10,000-20,000, {scene.__name__}, m = {order}"
    measured(name, means[-1] / means[1], at_most=KEPT[scene.__name__][order], precision=precision)
    assert means[0] < (0.6 if scene is horn and order > 1 else 0.09)  # measured 0.52, 0.059
    assert (means[1:] < 1.1 * means[:-1]).all()


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("scene", [lens, horn])
def test_resolved_waves_leave(
    measured: Callable[..., float], scene: Callable[[], Scene], order: int, precision: str
) -> None:
    """A pulse of 25 cells a wavelength, from a ring of current in front of the lens or inside the horn's tube."""
    posed = problem(scene(), order)
    spread = 3 / CENTRE
    times = (np.arange(int(2 * LEAD * spread / posed.grid.time_step)) + 0.5) * posed.grid.time_step - LEAD * spread
    pulse = np.sin(CENTRE * times) * np.exp(-((times / spread) ** 2) / 2)
    source = ModalSource(
        plane=ORIGIN + 1, profile_r=np.arange(3.0) ** max(order - 1, 0), profile_phi=np.zeros(3), waveform=pulse
    )
    looks: list[float] = []
    lit = dataclasses.replace(posed, source=source, initial=None)
    cpu.run(lit, precision=precision, watch=lambda _, ratio: looks.append(ratio))
    decay = 10 * np.log10(max(looks[-20:]))
    name = f"energy after 50,000 steps, {scene.__name__}, m = {order}"
    measured(name, decay, "dB", at_most=PULSE_DB[precision][order == 3], precision=precision)


def test_polygons_of_any_shape(measured: Callable[..., float]) -> None:
    """Around 120 polygons of metal with sharp and blunt corners random fields of m = 1 lose energy within 5,000 steps.

    Antennas are of this order; for m = 0 and 2 some polygons at the axis need smaller steps.

    While a whole face next to an enlarged sliver could lose half of its area, 15 of 160 such runs overflowed:
    two open edges then drive that face by twice as much as a whole cell's, where 1.28 is allowed.
    """
    kept = []
    for seed in range(140):
        rng = np.random.default_rng([seed, 1])
        angle = np.sort(rng.uniform(0.0, 2 * np.pi, rng.integers(3, 9)))
        size = rng.uniform(1.0, 9.0, len(angle))
        r = np.clip(np.abs(rng.uniform(0.0, 12.0) + size * np.cos(angle)), 0.0, 15.0)
        z = np.clip(rng.uniform(-4.0, 14.0) + size * np.sin(angle), -4.0, 15.0)
        if not Polygon(zip(r, z, strict=True)).is_valid:
            continue
        polygon = CELL * np.stack([r, z], axis=-1)[None]
        scene = Scene(batch=1, conductors=(lambda *point, polygon=polygon: in_polygon(polygon, *point),))
        looks: list[float] = []
        cpu.run(problem(scene, 1, 5000), precision="float64", watch=lambda _, one, looks=looks: looks.append(one))
        assert len(looks) == 100, f"polygon {seed}: the fields overflow"
        kept.append(max(looks[-20:]))
    assert len(kept) >= 110
    measured("energy left after 4,000 steps, largest of the polygons", max(kept), at_most=0.9)
