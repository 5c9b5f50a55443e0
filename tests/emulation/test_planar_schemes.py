"""Every scheme of the planar stencils, run on the CPU by the emulation, against the oracles.

Odd sizes, tiles and slabs that do not divide the lattice, steps that the depths do not divide, layers on all sides,
lossy cells, cut and closed metal, sources on every component, probes; TE_z with and without coupled nodes.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from host_device import HostDevice

from fdtd.backends import planar_reference
from fdtd.backends.cuda import planar
from fdtd.errors import ConfigError, Unsuitable
from fdtd.planar.problem import JacobiProblem, PlanarMedia, PlanarProblem
from fdtd.schemes.machine import HOPPER

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from test_planar import error, random_problem

CHOICES = {
    "one_step": {},
    "trapezoidal": {"depth": 3, "core": (7, 9), "warps": 3},
    "skewed": {"levels": 4},
    "resident": {"cluster": 4},
}
TOLERANCE = {"float64": 1e-12, "float32": 1e-4}  # relative to each component's largest. Measured: 7e-16, 4e-7


def problem(kind: str, batch: int = 2, steps: int = 40) -> PlanarProblem:
    made = random_problem("TM" if kind == "tmz" else "TE", (33, 27), steps=steps, batch=batch)
    if kind == "tez, uncoupled":
        made = replace(made, media=replace(made.media, coupling=0 * made.media.coupling))
    return made


@pytest.mark.parametrize("kind", ["tmz", "tez", "tez, uncoupled"])
@pytest.mark.parametrize("scheme", CHOICES)
def test_fields(scheme: str, kind: str) -> None:
    made = problem(kind)
    precision = "float32" if kind == "tez, uncoupled" else "float64"
    measured = planar.run(made, HostDevice(), precision=precision, scheme=scheme, **CHOICES[scheme])
    assert error(measured, planar_reference.run(made), made) < TOLERANCE[precision]


@pytest.mark.parametrize("scheme", CHOICES)
def test_same_bits_in_any_place_of_a_batch(scheme: str) -> None:
    made = problem("tmz", batch=3, steps=20)
    assert made.initial is not None
    together = planar.run(made, HostDevice(), precision="float64", scheme=scheme, **CHOICES[scheme])
    media = PlanarMedia(**{name: array[[2]] for name, array in vars(made.media).items()})
    single = replace(made, media=media, initial=made.initial[[2]])
    alone = planar.run(single, HostDevice(), precision="float64", scheme=scheme, **CHOICES[scheme])
    np.testing.assert_array_equal(alone.final[0], together.final[2])
    for one, all_of_them in zip(alone.samples, together.samples, strict=True):
        np.testing.assert_array_equal(one[0], all_of_them[2])


@pytest.mark.parametrize(
    ("scheme", "shape"), [*((scheme, (2, 19, 27)) for scheme in CHOICES), ("skewed", (1, 90, 257))]
)
def test_five_point_sum(scheme: str, shape: tuple[int, ...]) -> None:
    """11 steps: three launches of four time levels, the last one shorter; the wide lattice has several strips."""
    rng = np.random.default_rng(1)
    made = JacobiProblem(initial=rng.standard_normal(shape), steps=11)
    choice = CHOICES[scheme] | ({"chunk": 33, "burst": 2} if scheme == "skewed" else {})
    measured = planar.run_sum(made, HostDevice(), precision="float64", scheme=scheme, **choice)
    assert np.abs(measured - planar_reference.run_sum(made)).max() < 1e-14  # measured: 4e-16, values below 5


def test_sums_grow_as_they_should() -> None:
    """With weight 1, the seed's own stencil, an inner point of a constant lattice far from the rim is 5^n."""
    made = JacobiProblem(initial=np.ones((1, 31, 31)), steps=9, weight=1.0)
    measured = planar.run_sum(made, HostDevice(), precision="float64", scheme="skewed", levels=4)
    assert measured[0, 15, 15] == 5.0**9
    assert (measured[0, 0] == 1.0).all()


def test_refusals_say_what_would_do() -> None:
    made = problem("tmz", steps=1)
    with pytest.raises(ConfigError, match="one_step, trapezoidal, skewed, wavefront, resident"):
        planar.run(made, HostDevice(), scheme="diamond")
    with pytest.raises(ConfigError, match="float32, float64"):
        planar.run(made, HostDevice(), precision="half")
    with pytest.raises(Unsuitable, match=r"compute capability 9.0 \(this device has 8.0\)"):
        planar.run(made, HostDevice(replace(HOPPER, capability=80)), scheme="resident")
    with pytest.raises(Unsuitable, match=r"too long for 2 time levels of tmz on chip \(allowed here: up to "):
        planar.run(made, HostDevice(replace(HOPPER, shared_bytes=4096)), scheme="skewed")
    with pytest.raises(Unsuitable, match="do not fit in the shared memory of 16 blocks"):
        planar.run(made, HostDevice(replace(HOPPER, shared_bytes=2048)), scheme="resident")
    with pytest.raises(Unsuitable, match="lower the depth"):
        planar.run(made, HostDevice(replace(HOPPER, shared_bytes=4096)), scheme="trapezoidal", depth=8)
