"""The far field of a solved antenna for other programs: amplitudes of both planes, powers, the whole sphere.

E_theta = E(theta) cos(phi) and E_phi = -H(theta) sin(phi), with exp(+jwt) and without the factor exp(-jkr) / r, seen
from the axis's point z = 0. Their phase is over that of the feed's incident wave there. The field is along +x on the
axis. In volts it is that of an incident wave of 1 W, peak values.

An antenna that is no body of revolution has E_theta and E_phi on the whole sphere instead, of its one feed whatever the
polarisation. Its phase is over that of the wave at its port. A linear one has E along +x on the axis.

A body of revolution of circular polarisation has a second feed, along +y, 90 degrees behind for RHCP and ahead for
LHCP, and each feed gets half of the power: RHCP has E_theta = E exp(-j phi) / sqrt(2), E_phi = -j H exp(-j phi) /
sqrt(2).
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
from antennaopt.solve.cuts import amplitudes, sphere_angles
from antennaopt.solve.modes import returned_at_port
from fdtd.farfield.polarisation import components

IMPEDANCE = math.sqrt(constants.mu_0 / constants.epsilon_0)
"""Of free space, ohm."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FarField:
    """The far field of one antenna.

    Attributes:
        title: For people.
        frequency_hz: Hz, ascending, (F,).
        theta_deg: Angles from the axis, equally spaced from 0 to 180 degrees, (T,).
        e_plane: Co-polar amplitude whose square is directivity, complex, (F, T); of a body of revolution of its linear
            feed.
        h_plane: The same in the H plane, phi = 90 degrees.
        s11: Complex, (F,).
        returned: Part of the incident power that is not accepted, (F,): what comes back at the port in all modes of the
            feed, and what an uneven field loses in the port's resistance.
        efficiency: Radiated over accepted power, (F,).
        polarisation: Of the excitation: `linear`, `rhcp`, `lhcp`.
        waves: Of the modes reported, over the incident TE11, complex, by name, (F,) each; see `waves_of`.
        sphere: E_theta and E_phi in the same units at `sphere_angles`, (2, F, P, T); None of a body of revolution,
            whose two planes are all.
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
    sphere: np.ndarray | None = None

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
        order = np.argsort(np.asarray(outcome["frequency_hz"], dtype=float))
        s11 = np.array([complex(*pair) for pair in outcome["s11"]])
        modes = outcome.get("modes")
        returned = np.abs(s11) ** 2 if modes is None else returned_at_port(modes, np.abs(s11) ** 2)
        efficiency = [1.0 if value is None else value for value in outcome["radiation_efficiency"]]
        theta, sphere = np.asarray(outcome["theta_deg"], dtype=float), None
        planes = [np.asarray(amplitudes(outcome[name]), dtype=complex)[order] for name in ("e_plane", "h_plane")]
        if theta[0] < 0.0:
            sphere = _sphere(outcome)[:, order]
            theta = np.asarray(outcome["sphere"]["theta_deg"], dtype=float)
            along = ((0, sphere[:, :, 0]), (np.pi / 2, sphere[:, :, _place(90.0)]))
            planes = [components(field[0], field[1], phi, polarisation)[0] for phi, field in along]
            with np.errstate(invalid="ignore"):  # nothing on the axis
                given = np.subtract(outcome["realized_gain_dbi"], outcome["directivity_dbi"])
            accepted = 10.0 ** (given / 10.0) / np.asarray(efficiency, dtype=float)
            returned = np.where(np.isfinite(accepted), 1.0 - accepted, returned)
        found = cls(
            title=" ".join(title.split()),
            frequency_hz=np.asarray(outcome["frequency_hz"], dtype=float)[order],
            theta_deg=theta,
            e_plane=planes[0],
            h_plane=planes[1],
            sphere=sphere,
            s11=s11[order],
            returned=returned[order],
            efficiency=np.asarray(efficiency, dtype=float)[order],
            polarisation=polarisation,
            waves={name: np.array(values)[order] for name, values in waves_of(outcome).items()},
        )
        numbers = (found.e_plane, found.h_plane, found.s11, found.efficiency, *(() if sphere is None else (sphere,)))
        if not all(np.isfinite(one).all() for one in numbers):
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

    @property
    def _volts(self) -> np.ndarray:
        """Volts of an incident wave of 1 W, peak, of an amplitude of 1, (F,)."""
        return np.sqrt(IMPEDANCE * np.maximum(self.radiated_w, 0.0) / (2.0 * np.pi))

    def volts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return r E in both planes of an incident wave of 1 W, V, peak values, (F, T) each."""
        scale = self._volts[:, None]
        return scale * self.e_plane, scale * self.h_plane

    def sphere_volts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return r E_theta, r E_phi of an incident wave of 1 W, V, peak values, at `sphere_angles`, (F, P, T) each."""
        if self.sphere is None:
            return self._on_sphere(*self.volts(), sphere_angles())
        scale = self._volts[:, None, None]
        return scale * self.sphere[0], scale * self.sphere[1]

    def polar_cut(self, phi_deg: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the amplitudes E_theta and E_phi in a plane phi, theta from -180 to 180 degrees, (F, 2 T - 1)."""
        if self.sphere is None:
            e, h = (np.concatenate([one[:, :0:-1], one], axis=1) for one in (self.e_plane, self.h_plane))
            of_theta, of_phi = (one[:, 0] for one in self._on_sphere(e, h, np.array([phi_deg])))
            return of_theta, of_phi
        near, far = (self.sphere[:, :, _place(at)] for at in (phi_deg, phi_deg + 180.0))
        # on the other side both unit vectors point the other way
        of_theta, of_phi = np.concatenate([-far[..., :0:-1], near], axis=-1)
        return of_theta, of_phi

    def _on_sphere(self, e: np.ndarray, h: np.ndarray, phi_deg: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
        if self.sphere is not None:
            parts["sphere"] = self.sphere[:, place : place + 1]
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


def _place(phi_deg: float) -> int:
    """Return where an angle stands in `sphere_angles`."""
    return int(np.argmin(np.abs(sphere_angles() - phi_deg)))


def _sphere(outcome: Mapping[str, Any]) -> np.ndarray:
    """Return the far field on the sphere of an antenna that is no body of revolution, (2, F, P, T).

    Raises:
        ConfigurationError: The outcome has two cuts only, as rows of a run.
    """
    if outcome.get("sphere") is None:
        raise ConfigurationError(
            "far field: a run stores two cuts, which are the whole pattern of a body of revolution only; solve the "
            "antenna again with `antennaopt simulate RUN --individual ID --ffs FILE`"
        )
    return np.array([outcome["sphere"][name] for name in ("e_theta", "e_phi")], dtype=complex)
