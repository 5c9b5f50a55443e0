"""Ports in a rectangular waveguide: a TE10 wave from an impressed current, and S11 from its amplitudes at two planes.

The guide runs along z, with the field along y or x, and what it feeds lies towards +z. The current stands in one plane
of E and has the profile of the mode on the lattice, so it excites no other mode; it radiates towards both ends, and an
absorbing layer has to stand behind it. The field at two planes in front of it is projected on the profile, in which all
other modes of the guide drop out exactly. In between, the lattice carries A exp(-jBz) + R exp(+jBz) with

    (2 / (c dt) sin(w dt / 2))^2 = K^2 + (2 / d sin(B d / 2))^2

where K^2 is the profile's eigenvalue on the lattice and d the cell along z. A is all that runs forwards, whatever the
layer behind sends back, so that S11 = R / A has no error of the layer.

References:
    Pozar, Microwave Engineering, 4th ed., sec. 3.3; Taflove & Hagness, 3rd ed., sec. 5.10 and eq. 4.12.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.constants import epsilon_0, mu_0, speed_of_light
from scipy.linalg import eigh_tridiagonal

from fdtd.errors import ConfigError
from fdtd.waveforms import GaussianPulse, pulse_for
from fdtd.yee.grid import Grid
from fdtd.yee.media import Media
from fdtd.yee.ports import Reading, plane_of, transform
from fdtd.yee.problem import Probe, Problem, Source
from fdtd.yee.scene import GuidePort, te10_band

_ETA = float(np.sqrt(mu_0 / epsilon_0))
_EVEN = 1e-6  # largest relative difference of the cells along the guide
_STEEPEST = 0.2  # smallest |sin(B L)| of two planes L apart: below it they hardly tell the waves apart


@dataclass(frozen=True, kw_only=True, eq=False)
class GuideMode:
    """A guide port on a lattice.

    Attributes:
        port: The port.
        points: E in the plane of the source, and in the two planes, (component, k, j, i), (3, points, 4).
        profile: E of the mode at the points of one plane, largest value about 1, (points,).
        weights: Of the projection on the mode: their product with `profile` is 1, (points,).
        eigenvalue: K^2, 1/m^2.
        cell: Along z, m.
        dt: Time step, s.
        width: Broad side of the whole guide, m.
        height: Narrow side of the whole guide, m.
        area: Integral of the profile squared over the part of the guide in the lattice, m^2.
        hole: First and last plane of the guide along x and along y.
    """

    port: GuidePort
    points: np.ndarray
    profile: np.ndarray
    weights: np.ndarray
    eigenvalue: float
    cell: float
    dt: float
    width: float
    height: float
    area: float
    hole: tuple[tuple[int, int], tuple[int, int]]

    @property
    def continued(self) -> bool:
        """False: a guide's records are not continued."""
        return False

    def loaded(self, media: Media) -> Media:
        """Return the media as they are."""
        return media

    def pulse(self, frequencies: np.ndarray) -> GaussianPulse:
        """Return a pulse that covers frequencies, Hz.

        Raises:
            ConfigError: One of them is outside the band of the single mode.
        """
        self.phase_constant(frequencies)
        return pulse_for(frequencies, te10_band(self.width, self.height)[0])

    def phase_constant(self, frequencies: np.ndarray) -> np.ndarray:
        """Return B of the wave on the lattice, rad/m, same shape.

        Raises:
            ConfigError: A frequency, Hz, is at or below TE10's cutoff, or the next mode propagates.
        """
        wanted = np.asarray(frequencies, dtype=float)
        time = 2 / (speed_of_light * self.dt) * np.sin(np.pi * wanted * self.dt)
        axial = time**2 - self.eigenvalue
        cutoff, after = te10_band(self.width, self.height)
        for one, value in zip(wanted.ravel(), axial.ravel(), strict=True):
            if value <= 0 or one >= after:
                word = "does not propagate" if value <= 0 else "is not the only mode"
                raise ConfigError(
                    f"TE10 {word} at {one / 1e9:g} GHz in a guide of {self.width * 1e3:g} x {self.height * 1e3:g} mm "
                    f"(alone from {cutoff / 1e9:.4g} to {after / 1e9:.4g} GHz); change the frequency or the guide"
                )
        return 2 / self.cell * np.arcsin(np.sqrt(axial) * self.cell / 2)

    def drive(self, problem: Problem, waveform: np.ndarray) -> Problem:
        """Return a problem with the port's current and the probe of its two planes.

        Args:
            problem: The same without.
            waveform: Of the current, at (n + 1/2) dt.
        """
        source = Source(points=self.points[0], gains=self.profile, waveform=waveform)
        weights = np.zeros((2, 2 * len(self.weights)))
        weights[0, : len(self.weights)] = weights[1, len(self.weights) :] = self.weights
        return replace(problem, source=source, probe=Probe(points=self.points[1:].reshape(-1, 4), weights=weights))

    def waves(self, sums: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
        """Return the amplitudes of E that run towards +z and -z at the reference plane, complex, (2, F), V/m s.

        Args:
            sums: Of the probe after every step, (steps, 2).
            frequencies: Hz, (F,).

        Raises:
            ConfigError: A frequency is outside the single mode's band, or the two planes are too close together or
                half a wavelength apart there.
        """
        beta = self.phase_constant(frequencies)
        apart = self.port.planes[1] - self.port.planes[0]
        sine = np.sin(beta * apart)
        if (np.abs(sine) < _STEEPEST).any():
            worst = int(np.abs(sine).argmin())
            raise ConfigError(
                f"port.planes are {apart * 1e3:g} mm apart, {beta[worst] * apart / (2 * np.pi):.3g} wavelengths of the "
                f"guide at {frequencies[worst] / 1e9:g} GHz; place them about {np.pi / 2 / beta[worst] * 1e3:.3g} mm "
                "apart"
            )
        near, far = (transform(sums[:, at], self.dt, 1.0, frequencies) for at in (0, 1))
        turn = np.exp(1j * beta * apart)
        forward, backward = (near * turn - far) / (2j * sine), (far - near / turn) / (2j * sine)
        shift = np.exp(1j * beta * (self.port.reference - self.port.planes[0]))
        return np.stack([forward / shift, backward * shift])

    def voltage(self, sums: np.ndarray) -> np.ndarray:
        """Return the sums of `drive`, the mode's field in the two planes, V/m, (steps, 2)."""
        return sums

    def read(
        self, voltage: np.ndarray, waveform: np.ndarray, dt: float, frequencies: np.ndarray, images: int = 1
    ) -> Reading:
        """Return what the sums `voltage` say; the impedance is E over H of the mode at the reference plane.

        Args:
            voltage: See `waves`.
            waveform: Not used: the wave into the antenna is measured.
            dt: Not used: that of the lattice.
            frequencies: Hz, (F,).
            images: How many times the power in the lattice counts.

        Raises:
            ConfigError: See `waves`.
        """
        del waveform, dt
        s11 = self.reflection(voltage, frequencies)
        scale = self.for_one_watt(voltage, frequencies, images)
        return Reading(s11=s11, impedance=self.impedance(s11, frequencies), scale=scale)

    def lengths_at(self, places: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Return zeros: no resistance is in the guide; see `Feed`."""
        del shape
        return np.zeros(len(places))

    def uneven(self, lost: np.ndarray, voltage: np.ndarray, dt: float, frequencies: np.ndarray) -> np.ndarray:
        """Return zeros; see `Feed`."""
        del voltage, dt, frequencies
        return np.zeros(len(lost))

    def reflection(self, sums: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
        """Return S11 of TE10 at the reference plane, complex, (F,), time convention exp(+jwt); see `waves`."""
        forward, backward = self.waves(sums, frequencies)
        return backward / forward

    def for_one_watt(self, sums: np.ndarray, frequencies: np.ndarray, images: int) -> np.ndarray:
        """Return what makes the wave towards +z one of 1 W and phase 0 at the reference, complex, (F,).

        The power is that of the lattice, Re sum E x H* / 2 with H half a cell further: |A|^2 sin(B d) / (d w') for a
        profile of unit area, w' = 2 / (c dt) sin(w dt / 2). It is conserved exactly.

        Args:
            sums: See `waves`.
            frequencies: Hz, (F,).
            images: How many times the power in the lattice counts.
        """
        forward = self.waves(sums, frequencies)[0]
        time = 2 / (speed_of_light * self.dt) * np.sin(np.pi * frequencies * self.dt)
        admittance = np.sin(self.phase_constant(frequencies) * self.cell) / (self.cell * time)
        return 1 / (forward * np.sqrt(images * admittance * self.area / (2 * _ETA)))

    def impedance(self, s11: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
        """Return E over H at the reference plane, ohm, complex, (F,)."""
        wave = _ETA * 2 * np.pi * frequencies / speed_of_light / self.phase_constant(frequencies)
        return wave * (1 + s11) / (1 - s11)


def guide_mode(port: GuidePort, grid: Grid, media: Media) -> GuideMode:
    """Return a port's mode on a lattice.

    Raises:
        ConfigError: A side or plane is between lattice planes, a plane is in a layer, a side has no wall, the cells
            along the guide are not even, or something stands in the guide.
    """
    x, y = (_sides(port, grid, axis) for axis in (0, 1))
    levels = [plane_of(grid, 2, place, name) for place, name in _upright(port)]
    for level, (place, name) in zip(levels, _upright(port), strict=True):
        if not grid.layers[4] <= level <= grid.counts[2] - grid.layers[5]:
            raise ConfigError(f"port.{name} = {place:g} m is in an absorbing layer; move it in front of the layer")
    steps = grid.spacing(2)[levels[0] : levels[2]]
    if np.ptp(steps) > _EVEN * steps[0]:
        raise ConfigError(
            f"cells along z between port.source and port.planes are {steps.min():g} to {steps.max():g} m; make them "
            "even there, as the port needs"
        )
    along = "xy".index(port.field)
    broad = 1 - along
    sides = (x, y)
    inner, values, eigenvalue = _profile(grid, broad, sides[broad])
    rows = np.arange(*sides[along])
    j, i = (one.ravel() for one in np.meshgrid(*((rows, inner) if along else (inner, rows)), indexing="ij"))
    for k in levels:
        _check_walls(grid, media.metal, k, sides, along)
        filled = media.permittivity[along, k, j, i] != 1
        lossy = media.conductivity[along, k, j, i] != 0
        if (media.metal[along, k, j, i] | filled | lossy).any():
            raise ConfigError(f"the guide is not empty at z = {grid.z[k]:g} m; move port.source or port.planes")
    points = np.stack([np.stack([np.full_like(i, along), np.full_like(i, k), j, i], axis=1) for k in levels])
    profile = np.tile(values, len(rows)) if along else np.repeat(values, len(rows))
    across, down = (i, j) if along else (j, i)
    weights = profile * grid.dual(broad)[across] * grid.spacing(along)[down]
    doubled = [2 if _is_cut(grid, axis, sides[axis]) else 1 for axis in (broad, along)]
    width, height = (float(np.ptp(getattr(port, "xy"[axis]))) for axis in (broad, along))
    return GuideMode(
        port=port,
        points=points,
        profile=profile,
        weights=weights / (weights @ profile),
        eigenvalue=eigenvalue,
        cell=float(steps.mean()),
        dt=grid.dt,
        width=doubled[0] * width,
        height=doubled[1] * height,
        area=float(weights @ profile),
        hole=(x, y),
    )


def _upright(port: GuidePort) -> list[tuple[float, str]]:
    return [(port.source, "source"), (port.planes[0], "planes"), (port.planes[1], "planes")]


def _sides(port: GuidePort, grid: Grid, axis: int) -> tuple[int, int]:
    low, high = getattr(port, "xy"[axis])
    return plane_of(grid, axis, low, "xy"[axis]), plane_of(grid, axis, high, "xy"[axis])


def _is_cut(grid: Grid, axis: int, sides: tuple[int, int]) -> bool:
    faces = (*grid.magnetic, *grid.mirrors)
    return any(f"{'xy'[axis]}{side}" in faces and at in sides for side, at in _ends(grid, axis))


def _is_magnetic(grid: Grid, axis: int, sides: tuple[int, int]) -> bool:
    return any(f"{'xy'[axis]}{side}" in grid.magnetic and at in sides for side, at in _ends(grid, axis))


def _ends(grid: Grid, axis: int) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("-", 0), ("+", grid.counts[axis])


def _profile(grid: Grid, axis: int, sides: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, float]:
    """Return where along the broad side the mode is not zero, its E there, and K^2: the lowest of -d2/dx2."""
    magnetic = [f"{'xy'[axis]}{side}" in grid.magnetic and at in sides for side, at in _ends(grid, axis)]
    inner = np.arange(sides[0] + (not magnetic[0]), sides[1] + magnetic[1])
    dual = grid.dual(axis)[inner]
    inverse = np.zeros(grid.counts[axis] + 2)
    inverse[1:-1] = 1 / grid.spacing(axis)  # entry i is of the cell in front of plane i
    before, after = inverse[inner], inverse[inner + 1]
    values, vectors = eigh_tridiagonal(
        (before + after) / dual, -after[:-1] / np.sqrt(dual[:-1] * dual[1:]), select="i", select_range=(0, 0)
    )
    profile = vectors[:, 0] / np.sqrt(dual)
    return inner, profile / profile[np.abs(profile).argmax()], float(values[0])


def _check_walls(
    grid: Grid, metal: np.ndarray, k: int, sides: tuple[tuple[int, int], tuple[int, int]], field: int
) -> None:
    """Check that each side of the guide is metal or a wall of the lattice that TE10 has; E is along axis `field`."""
    for axis in (0, 1):
        across = slice(*sides[1 - axis])
        for at in sides[axis]:
            wall = metal[1, k, across, at] if axis == 0 else metal[0, k, at, across]
            if not wall.all() and not (axis != field and _is_magnetic(grid, axis, (at, at))):
                name, place = "xy"[axis], grid.planes[axis][at]
                raise ConfigError(
                    f"the guide has no wall at {name} = {place:g} m, z = {grid.z[k]:g} m; put metal on that plane"
                )
