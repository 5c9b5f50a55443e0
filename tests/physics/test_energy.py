"""Energy on the lattice: conserved to rounding without loss; with loss only the conductivity removes it.

With M the lattice's inverse permittivity (its r-z tensor and the open lengths included), W the nodes' radii and A the
faces' open areas, the leapfrog keeps

    U = e(n+1) . W M^-1 e(n+1) + h(n+1/2) . W A h(n+3/2),

as its curls are adjoint to each other in W: on the axis, next to walls and in cut cells too. Any asymmetry (a wrong
rule on the axis, a coupling that is not mutual, a face that drives its edges by another area than they drive it) shows
as drift. With the semi-implicit loss x = sigma dt / (2 eps eps0), multiplying eps (e' - e) + x eps (e' + e) = curl h by
e' + e gives the discrete Poynting theorem: a step takes x eps (e' + e)^2 W from U, exactly.

Closed lattice of 11 x 17 cells, random fields, permittivities of 1 to 4, couplings, a cone of metal that cuts cells, at
0.9 of the Courant limit, 500 steps. Measured, largest change of U over U: 9e-16 for m = 0, 1, 2, 3; with loss, U and
what was lost together: 1.4e-15. The bound: a rounding of 2^-53 of U in every step, of any sign, is sqrt(500) 2^-53 =
2.5e-15 after 500; twice that, as the readings are rounded too. With 3.9 instead of 4 in the rule on the axis, m = 0:
6e-4; with the tenth root of each face's area left out of what drives h_phi: 3e-3.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.constants import epsilon_0

from fdtd.axisymmetric.conductors import open_parts
from fdtd.axisymmetric.grid import AxisymmetricGrid, courant_limit
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.monitors import Sampling
from fdtd.axisymmetric.problem import Problem
from fdtd.axisymmetric.scene import Scene, cone_shell
from fdtd.backends.reference import Stepper
from fdtd.cpml import RadialLayer

CELL = 0.5e-3
NR, NZ, STEPS = 11, 17, 500
ROUNDING = 2 * np.sqrt(STEPS) * 2.0**-53
ELECTRIC, MAGNETIC = ("e_r", "e_phi", "e_z"), ("h_r", "h_phi", "h_z")


def closed_box(order: int, lossy: bool) -> Problem:
    """Random fields in a closed box; without couplings where it is lossy, which the upper half then is."""
    rng = np.random.default_rng(order)
    grid = AxisymmetricGrid(
        nr=NR, nz=NZ, cell=CELL, origin=3, courant_number=0.9 * courant_limit(order), azimuthal_order=order
    )
    one = [np.array([size * CELL]) for size in (3.3, 5.4, 4.4, 6.7, 6.0)]
    open_length, open_area = open_parts(grid, Scene(batch=1, conductors=(cone_shell(*one),)))
    assert ((open_length > 0) & (open_length < 1)).any()
    assert (open_area < 1).any()
    shape = (1, 3, NZ, NR)
    free = (open_length[:, 0] == 1) & (open_length[:, 2] == 1)
    free[:, :, 1:] &= open_length[:, 0, :, :-1] == 1
    free[:, 1:] &= open_length[:, 2, :-1] == 1
    free[:, :, 0] = free[:, 0] = False
    coupling = np.where(free, rng.uniform(-0.05, 0.05, free.shape), 0.0)
    conductivity = np.zeros(shape)
    if lossy:
        conductivity[:, :, NZ // 2 :] = rng.uniform(0.0, 0.5, conductivity[:, :, NZ // 2 :].shape)
        coupling[:, NZ // 2 - 1 :] = 0.0
    fields = rng.standard_normal((1, 6, NZ, NR))
    return Problem(
        grid=grid,
        media=Media(
            permittivity=rng.uniform(1.0, 4.0, shape),
            conductivity=conductivity,
            open_length=open_length,
            open_area=open_area,
            coupling=coupling,
        ),
        sampling=Sampling(record_every=1, check_every=STEPS, steps=STEPS, decay=0.0),
        radial_layer=RadialLayer(cells=0),
        axial_layers=(),
        initial=fields,
    )


class Ledger:
    """Energy of a stepper's fields, in units of the lattice."""

    def __init__(self, stepper: Stepper) -> None:
        node, half = np.arange(NR, dtype=float), np.arange(NR) + 0.5
        axis = node.copy()
        if stepper.order == 0:
            axis[0] = 1 / 8  # half of the disc of radius d/2
        radii = {"e_r": half, "e_phi": node, "e_z": axis, "h_r": node, "h_phi": half, "h_z": half}
        self.stepper = stepper
        self.weights = {name: np.broadcast_to(radius, (NZ, NR)) for name, radius in radii.items()}
        self.inverse = np.linalg.inv(self._permittivity())
        self.loss = self._loss()

    def _permittivity(self) -> np.ndarray:
        """W^-1 M of e_r and e_z, dense; unit rows at conductors and next to walls."""
        size = NZ * NR
        matrix = np.zeros((2 * size, 2 * size))
        for column in range(2 * size):
            curls = np.zeros((2, 1, NZ, NR))
            curls.reshape(-1)[column] = 1.0
            coupled = self.stepper._coupled(curls[0], curls[1])
            matrix[:, column] = np.concatenate([coupled[name].ravel() for name in ("e_r", "e_z")])
        gain = np.concatenate([self._lossless_gain(name).ravel() for name in ("e_r", "e_z")])
        matrix += np.diag(np.where(gain > 0, gain, 1.0))
        weight = np.concatenate([self.weights[name].ravel() for name in ("e_r", "e_z")])
        product = matrix / np.where(weight > 0, weight, 1.0)
        assert product == pytest.approx(product.T, abs=1e-14)  # what the coupling must be: mutual
        return product

    def _lossless_gain(self, name: str) -> np.ndarray:
        part = ELECTRIC.index(name)
        media = self.stepper.problem.media
        return media.open_length[0, part] / media.permittivity[0, part]

    def _loss(self) -> dict[str, np.ndarray]:
        """W eps x over the open length, of each component."""
        media, time_step = self.stepper.problem.media, self.stepper.grid.time_step
        out = {}
        for part, name in enumerate(ELECTRIC):
            x = media.conductivity[0, part] * time_step / (2 * media.permittivity[0, part] * epsilon_0)
            gain = self._lossless_gain(name)
            out[name] = self.weights[name] * x * np.divide(1.0, gain, out=np.zeros_like(gain), where=gain > 0)
        return out

    def copy(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        return {name: self.stepper.fields[name][0, :NZ, :NR].copy() for name in names}

    def electric(self) -> float:
        e = self.copy(ELECTRIC)
        both = np.concatenate([e["e_r"].ravel(), e["e_z"].ravel()])
        gain = self._lossless_gain("e_phi")
        phi = np.divide(e["e_phi"] ** 2, gain, out=np.zeros_like(gain), where=gain > 0)
        return float(both @ self.inverse @ both + (self.weights["e_phi"] * phi).sum())

    def magnetic(self, before: dict[str, np.ndarray]) -> float:
        now = self.copy(MAGNETIC)
        return float(sum((self.weights[n] * self.stepper.face[n][0] * before[n] * now[n]).sum() for n in MAGNETIC))


def run(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """U after each step, and what the conductivity took in it."""
    stepper = Stepper(problem)
    ledger = Ledger(stepper)
    energies, losses = np.zeros(STEPS), np.zeros(STEPS)
    for n in range(STEPS):
        magnetic, electric = ledger.copy(MAGNETIC), ledger.copy(ELECTRIC)
        stepper.step()
        energies[n] = ledger.electric() + ledger.magnetic(magnetic)
        for name, now in ledger.copy(ELECTRIC).items():
            losses[n] += (ledger.loss[name] * (now + electric[name]) ** 2).sum()
    return energies, losses


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_kept_without_loss(measured: Callable[..., float], order: int) -> None:
    """The whole of 500 steps, tensor and cut metal on."""
    energies, _ = run(closed_box(order, lossy=False))
    assert energies[0] > 0
    drift = np.abs(energies / energies[0] - 1).max()
    measured("largest change of the energy", drift, at_most=ROUNDING, m=order)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_lost_to_the_conductivity(measured: Callable[..., float], order: int) -> None:
    """Energy plus all that was lost so far is the energy in the beginning, to rounding; and most of it is lost."""
    energies, losses = run(closed_box(order, lossy=True))
    total = energies + np.cumsum(losses)
    assert losses.min() >= 0
    assert energies[-1] < 0.5 * energies[0]
    measured("largest change of energy and loss", np.abs(total / total[0] - 1).max(), at_most=ROUNDING, m=order)
