"""Transmission between two ports is the same both ways: from a horn's feed to a current in front of its lens, and back.

With M the inverse permittivity and W the nodes' radii, the update of E and H is symmetric in W M^-1: curls are adjoint
to each other, the tensor at dielectric surfaces and the areas of cut cells mutual, absorbing layers stretched
coordinates. So for currents p in one plane and q in another, sample by sample in time,

    q . W M^-1 E(t | p) = p . W M^-1 E(t | q),

a reaction on each side (Rumsey's), whatever stands between: here a conical horn of cut cells, a lens that is flat on
one side and curved on the other with the tensor on its surface, absorbing layers, and the axis, for m = 1. The current
in front is random in r, so no symmetry of its own helps; the other one is the feed's mode.

Measured, largest difference over the largest sample, 1200 steps: 8e-16 without loss, with and without the tensor, and
8e-16 with any loss as long as there is no tensor. With both, 5e-6 at a loss tangent of 0.02 and 1e-4 at 0.3: the
tensor's off-diagonal entry is real, and joins nodes of different conductivity. That is far below the error of the
surface itself.

The bounds: a rounding of 2^-53 in every step, of any sign, is sqrt(1200) 2^-53 = 3.8e-15 after 1200 steps. With loss
and the tensor there is no theory: twice what is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from antennaopt.families import FAMILIES, stack
from fdtd.axisymmetric.layout import Extent, lay_out
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.monitors import PortMonitor
from fdtd.axisymmetric.problem import Problem
from fdtd.axisymmetric.scene import Dielectric
from fdtd.axisymmetric.settings import Settings
from fdtd.axisymmetric.simulation import fill, pose
from fdtd.backends import cpu

Profile = tuple[np.ndarray, np.ndarray]
CELL, STEPS = 0.4e-3, 1200
ROUNDING = np.sqrt(STEPS) * 2.0**-53
HORN = {
    "feed.inner_radius": 3.6e-3,
    "feed.outer_radius": 4e-3,
    "feed.length": 10e-3,
    "horn.length": 6e-3,
    "horn.aperture_radius": 6.1e-3,
    "horn.wall": 0.5e-3,
}
EXTENT = Extent(r_max=8e-3, z_min=-10.4e-3, z_max=16e-3, feed_radius=3.6e-3, feed_length=10e-3, permittivity=2.53)


def horn_and_lens(loss_tangent: float, tensor: bool) -> tuple[Problem, Profile, int]:
    """The problem, the feed's mode and the plane in front of the lens."""
    layout = lay_out(
        EXTENT, Settings(frequencies=(28.5e9, 30e9, 31.5e9), design_frequency=30e9, cell=CELL, exact_steps=STEPS)
    )
    lens = Dielectric(
        distance=lambda index, r, z: np.minimum(5.3e-3 - np.hypot(r, 1.3 * (z - 9.7e-3)), z - 8.3e-3) + 0.0 * index,
        permittivity=np.array([2.53]),
        loss_tangent=np.array([loss_tangent]),
        r_max=6e-3,
        z_min=4e-3,
        z_max=15e-3,
    )
    media = fill(layout, replace(FAMILIES["conical_horn"].scene(stack([HORN])), dielectrics=(lens,)))
    assert ((media.open_length > 0) & (media.open_length < 1)).sum() > 20
    assert media.coupling is not None
    assert (media.coupling != 0).sum() > 20
    if not tensor:
        media = replace(media, coupling=None)
    problem, (mode,) = pose(layout, media)
    sampling = replace(problem.sampling, record_every=1, check_every=STEPS, steps=STEPS, decay=0.0)
    return replace(problem, sampling=sampling, contour=None), (mode.e_r, mode.e_phi), layout.origin + 38


def receiver(media: Media, plane: int, profile: Profile) -> PortMonitor:
    """The reaction of a profile on the stored fields: its W M^-1 E, e = r E_phi being stored."""
    columns = len(profile[0])
    node, half = np.arange(columns), np.arange(columns) + 0.5
    closed = media.open_length[0, :, plane, :columns] == 0
    inverse = np.where(closed, 0.0, media.permittivity[0, :, plane, :columns])
    inverse /= np.where(closed, 1.0, media.open_length[0, :, plane, :columns])
    v_phi = np.divide(profile[1], node, out=np.zeros(columns), where=node > 0) * inverse[1]
    return PortMonitor(
        plane=plane, v_r=profile[0] * half * inverse[0], v_phi=v_phi, c_r=np.zeros(columns), c_phi=np.zeros(columns)
    )


@lru_cache
def both_ways(loss_tangent: float, tensor: bool) -> tuple[np.ndarray, np.ndarray]:
    """What arrives in front of the lens from the feed, and in the feed from in front of the lens, (STEPS,)."""
    problem, mode, front = horn_and_lens(loss_tangent, tensor)
    assert problem.source is not None
    rng = np.random.default_rng(1)
    current = rng.standard_normal(12), np.append(0.0, rng.standard_normal(11))
    ends = (problem.source.plane, mode), (front, current)
    received = []
    for sender, listener in (ends, ends[::-1]):
        source = replace(problem.source, plane=sender[0], profile_r=sender[1][0], profile_phi=sender[1][1])
        one = replace(problem, source=source, port=receiver(problem.media, *listener))
        received.append(cpu.run(one, precision="float64", threads=1).port[0][:, 0])
    return received[0], received[1]


def difference(loss_tangent: float, tensor: bool) -> float:
    one, other = both_ways(loss_tangent, tensor)
    return float(np.abs(one - other).max() / np.abs(one).max())


@pytest.mark.parametrize("tensor", [True, False])
def test_without_loss(measured: Callable[..., float], tensor: bool) -> None:
    """To rounding, every sample; and what arrives is a pulse, not nothing."""
    one, _ = both_ways(0.0, tensor)
    assert np.abs(one).max() > 0.1
    name = "difference of the two ways, " + ("tensor" if tensor else "diagonal")
    measured(name, difference(0.0, tensor), at_most=ROUNDING)


@pytest.mark.parametrize(("loss_tangent", "tensor", "bound"), [(0.02, False, ROUNDING), (0.02, True, 1e-5)])
def test_with_loss(measured: Callable[..., float], loss_tangent: float, tensor: bool, bound: float) -> None:
    """To rounding with the tensor's diagonal; with the whole of it to what a real off-diagonal entry costs."""
    name = "difference of the two ways, lossy, " + ("tensor" if tensor else "diagonal")
    measured(name, difference(loss_tangent, tensor), at_most=bound, loss_tangent=loss_tangent)


def test_of_what_differs() -> None:
    """The measure itself: with another current in front, or another lens, what arrives is not the same at all."""
    one, _ = both_ways(0.0, True)
    other, _ = both_ways(0.02, True)
    assert np.abs(one - other).max() > 0.01 * np.abs(one).max()
