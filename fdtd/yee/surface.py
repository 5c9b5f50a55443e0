"""Results from the samples of an antenna: spectra, far field, flux through the box and losses.

A gathering takes the samples of a batch while its antennas are stepped, and has the answers at the end. That of the
host is here; a device has its own, whose samples stay where they are (`fdtd.backends.cuda.yee_surface`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fdtd.farfield.box import HuygensBox
from fdtd.yee.spectrum import Accumulator


@dataclass(frozen=True, kw_only=True, eq=False)
class Surface:
    """What is sampled of an antenna, and what for.

    Attributes:
        box: The Huygens box, whose samples come first.
        lossy: Weights of the lossy edges, whose samples follow, (3, lossy): of |E|^2 in the power lost in media and in
            that lost in the port's resistance, W/(V/m)^2, and of E in the port's voltage, m.
        frequencies: Hz, (F,).
        interval: Between samples, s.
        theta: Directions of the far field, from z, rad, (D,).
        phi: The same from x.
    """

    box: HuygensBox
    lossy: np.ndarray
    frequencies: np.ndarray
    interval: float
    theta: np.ndarray
    phi: np.ndarray

    @property
    def size(self) -> int:
        """Number of samples taken at a time."""
        return len(self.box.indices) + self.lossy.shape[1]

    def at_one_time(self, values: np.ndarray) -> np.ndarray:
        """Return the spectra of the box's samples as of one time: H is half a step earlier.

        Args:
            values: Spectra of all samples, (F, size).
        """
        found = values[:, : len(self.box.indices)].copy()
        found[:, self.box.magnetic] *= np.exp(1j * np.pi * self.frequencies * self.box.grid.dt)[:, None]
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Far:
    """What the spectra of one antenna's samples give, in the units of its run.

    Attributes:
        field: E_theta and E_phi in the surface's directions, see `HuygensBox.radiate`, (F, D, 2).
        flux: Through the box, see `HuygensBox.flux`, (F,).
        losses: In media and in the port's resistance, W, (F, 2).
        voltage: Of the port, complex, V, (F,).
        spectra: Returns E and H of the box's samples at one time, (F, box).
    """

    field: np.ndarray
    flux: np.ndarray
    losses: np.ndarray
    voltage: np.ndarray
    spectra: Callable[[], np.ndarray]


class Gatherer(Protocol):
    """Gets the samples of one antenna from its backend."""

    def ring_on(self, rates: np.ndarray, count: int) -> None:
        """Add what waves of these rates, 1/s, do after the last sample; they are fitted to the last `count`."""
        ...


class Gathering(Protocol):
    """The samples of a batch."""

    @property
    def takers(self) -> Sequence[Any]:
        """A `Gatherer` an antenna; to the gathering's own backend also a `fdtd.yee.problem.Taker`."""
        ...

    def far(self) -> list[Far]:
        """Return the answers, when all samples have been taken."""
        ...


class OnHost:
    """Samples of backends that step on the host.

    Args:
        surfaces: One an antenna.
    """

    def __init__(self, surfaces: Sequence[Surface]) -> None:
        self._surfaces = surfaces
        self.takers = [Accumulator(one.frequencies, one.size, one.interval) for one in surfaces]

    def far(self) -> list[Far]:
        """Return the answers."""
        return [_far(one, taker.values) for one, taker in zip(self._surfaces, self.takers, strict=True)]


def _far(surface: Surface, values: np.ndarray) -> Far:
    box, spectra = surface.box, surface.at_one_time(values)
    lossy = values[:, len(box.indices) :]
    return Far(
        field=box.radiate(spectra, surface.frequencies, surface.theta, surface.phi),
        flux=box.flux(spectra),
        losses=(np.abs(lossy) ** 2) @ surface.lossy[:2].T,
        voltage=lossy @ surface.lossy[2],
        spectra=lambda: spectra,
    )
