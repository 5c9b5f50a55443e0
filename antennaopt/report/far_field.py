"""The far field of a solved antenna as other programs take it: amplitudes of both planes, powers, the whole sphere.

E_theta = E(theta) cos(phi) and E_phi = -H(theta) sin(phi), with exp(+jwt) and without the factor exp(-jkr) / r, seen
from the axis's point z = 0. Their phase is over that of the feed's incident wave there. The field is along +x on the
axis. In volts it is that of an incident wave of 1 W, peak values.

An antenna of circular polarisation has a second feed, along +y, 90 degrees behind for RHCP and ahead for LHCP, and each
feed gets half of the power: RHCP has E_theta = E exp(-j phi) / sqrt(2), E_phi = -j H exp(-j phi) / sqrt(2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import constants

from antennaopt.errors import ConfigurationError
from antennaopt.figures import LINEAR
from antennaopt.quantities import FREQUENCY, QuantityError, format_frequency, parse_quantity
from antennaopt.report.data_files import waves_of
from antennaopt.solve.cuts import amplitudes
from antennaopt.solve.modes import returned_at_port

IMPEDANCE = math.sqrt(constants.mu_0 / constants.epsilon_0)
"""Of free space, ohm."""

PHI_STEP_DEG = 5.0
"""Of files that hold the whole sphere; order 1 needs a step below 90 degrees."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FarField:
    """The far field of one antenna.

    Attributes:
        title: For people.
        frequency_hz: Hz, ascending, (F,).
        theta_deg: Angles from the axis, equally spaced from 0 to 180 degrees, (T,).
        e_plane: Amplitude whose square is directivity, complex, (F, T).
        h_plane: The same in the H plane.
        s11: Complex, (F,).
        returned: Part of the incident power that comes back at the port, in all modes of the feed, (F,).
        efficiency: Radiated over accepted power, (F,).
        polarisation: Of the excitation: `linear`, `rhcp`, `lhcp`.
        waves: Of the modes reported, over the incident TE11, complex, by name, (F,) each; see `waves_of`.
    """

    title: str
    frequency_hz: np.ndarray
    theta_deg: np.ndarray
    e_plane: np.ndarray
    h_plane: np.ndarray
    s11: np.ndarray
    returned: np.ndarray
    efficiency: np.ndarray
    polarisation: str = LINEAR
    waves: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, outcome: Mapping[str, Any], *, title: str, polarisation: str = LINEAR) -> FarField:
        """Return the far field of an outcome.

        Args:
            outcome: An `ok` outcome as `evaluate` returns it, or of a run's row with its patterns.
            title: For people.
            polarisation: Of the experiment.

        Raises:
            ConfigurationError: It has no complex cuts, or one is not finite.
        """
        if outcome.get("e_plane") is None or outcome.get("s11") is None:
            why = (
                "this run stored its patterns in dB, without phase; solve the antenna again with `antennaopt simulate "
                "RUN --individual ID`"
                if outcome.get("older_dbi") is not None
                else f"there are no patterns on disk (status {outcome.get('status')})"
            )
            raise ConfigurationError(f"far field: {why}")
        if float(np.asarray(outcome["theta_deg"])[0]) < 0.0:
            raise ConfigurationError(
                "far field: two cuts are the whole pattern of a body of revolution only, and this antenna is none"
            )
        order = np.argsort(np.asarray(outcome["frequency_hz"], dtype=float))
        s11 = np.array([complex(*pair) for pair in outcome["s11"]])
        modes = outcome.get("modes")
        returned = np.abs(s11) ** 2 if modes is None else returned_at_port(modes, np.abs(s11) ** 2)
        efficiency = [1.0 if value is None else value for value in outcome["radiation_efficiency"]]
        found = cls(
            title=" ".join(title.split()),
            frequency_hz=np.asarray(outcome["frequency_hz"], dtype=float)[order],
            theta_deg=np.asarray(outcome["theta_deg"], dtype=float),
            e_plane=np.asarray(amplitudes(outcome["e_plane"]), dtype=complex)[order],
            h_plane=np.asarray(amplitudes(outcome["h_plane"]), dtype=complex)[order],
            s11=s11[order],
            returned=returned[order],
            efficiency=np.asarray(efficiency, dtype=float)[order],
            polarisation=polarisation,
            waves={name: np.array(values)[order] for name, values in waves_of(outcome).items()},
        )
        if not all(np.isfinite(one).all() for one in (found.e_plane, found.h_plane, found.s11, found.efficiency)):
            raise ConfigurationError("far field: a value is not finite; solve the antenna again")
        return found

    @property
    def accepted_w(self) -> np.ndarray:
        """Power that the antenna takes of an incident wave of 1 W, (F,)."""
        return 1.0 - self.returned

    @property
    def radiated_w(self) -> np.ndarray:
        """Power that it radiates of that, (F,)."""
        return self.efficiency * self.accepted_w

    def volts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return r E in both planes of an incident wave of 1 W, V, peak values, (F, T) each."""
        scale = np.sqrt(IMPEDANCE * np.maximum(self.radiated_w, 0.0) / (2.0 * np.pi))[:, None]
        return scale * self.e_plane, scale * self.h_plane

    def on_sphere(self, e: np.ndarray, h: np.ndarray, phi_deg: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return E_theta and E_phi of both planes' amplitudes (..., T) at angles phi (P,), (..., P, T) each."""
        phi = np.radians(phi_deg)
        cosine, sine = (np.where(np.abs(one) < 1e-15, 0.0, one)[:, None] for one in (np.cos(phi), np.sin(phi)))
        if self.polarisation == LINEAR:
            return e[..., None, :] * cosine, -h[..., None, :] * sine
        way = -1.0 if self.polarisation == "rhcp" else 1.0
        turn = (cosine + 1j * way * sine) / math.sqrt(2.0)
        return e[..., None, :] * turn, 1j * way * h[..., None, :] * turn

    def at(self, frequency: str | None) -> FarField:
        """Return the field at one of its frequencies, given with a unit; all of it for None.

        Raises:
            ConfigurationError: It is no frequency, or not solved.
        """
        if frequency is None:
            return self
        place = chosen(frequency, self.frequency_hz.tolist())
        names = ("frequency_hz", "e_plane", "h_plane", "s11", "returned", "efficiency")
        parts: dict[str, Any] = {name: getattr(self, name)[place : place + 1] for name in names}
        return replace(self, **parts, waves={name: one[place : place + 1] for name, one in self.waves.items()})


def chosen(frequency: str, solved: list[float]) -> int:
    """Return the place of a frequency, given with a unit, in a list, Hz.

    Raises:
        ConfigurationError: It is no frequency, or not in the list.
    """
    try:
        asked = parse_quantity(frequency, FREQUENCY)
    except QuantityError as error:
        raise ConfigurationError(f'--pattern-frequency "{frequency}" {error}') from None
    place = min(range(len(solved)), key=lambda at: abs(solved[at] - asked))
    if abs(solved[place] - asked) > 1e-6 * asked:
        known = ", ".join(format_frequency(one) for one in solved)
        raise ConfigurationError(f'--pattern-frequency "{frequency}" is not solved; use one of {known}')
    return place


def sphere_angles() -> np.ndarray:
    """Return the angles phi of files that hold the whole sphere, degrees, both ends included."""
    return np.arange(0.0, 360.0 + PHI_STEP_DEG / 2, PHI_STEP_DEG)
