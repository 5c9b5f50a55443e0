"""Lumped ports: a voltage source with a resistance along columns of edges, and S11 from the voltage across it.

The resistance is a conductivity of the edges, the source an impressed current in them. A source of voltage Vs with a
resistance R drives I = (Vs - V) / R, where the updates of E take the mean of V before and after the step. With its
spectrum, V cos(w dt / 2) of the samples, the wave that comes back is exactly that of the lattice:

    S11 = (V - R I) / (V + R I) = 2 V / Vs - 1

so |S11| <= 1 holds to rounding on a passive lattice once the fields have decayed. V is the mean over the columns. Where
the field E of the edges is not even, the resistance takes more than that of V, by sum G |E - mean E|^2 / 2: power that
is not reflected, and does not reach the antenna. At the end of a line of 5 mm on 3 mm of substrate it is 1.2 % of the
power available at 5 GHz.

A column of edges has the reactance of a round wire of radius b = exp(-gamma) / 4 sqrt(dx^2 + dy^2), a fifth of a cell:
away from it, the potential of a lattice's point source is that of such a wire. Halving the cell adds f mu0 h ln 2.
A pin of radius a and length h has, in series, mu0 h / (2 pi) ln(b / a) more inductance, which may be negative. It adds
to Z, and changes current and fields by one factor a frequency, as the pin's current is that of the port.

References:
    Piket-May, Taflove & Baron, IEEE MTT 42 (1994) 1514; Taflove & Hagness, 3rd ed., sec. 15.9. Radius of a lattice's
    point source: Peaceman, SPE Journal 23 (1983) 531, for wells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product
from typing import Protocol

import numpy as np
from scipy.constants import epsilon_0, mu_0

from fdtd.errors import ConfigError
from fdtd.waveforms import Pulse, short_pulse_for
from fdtd.yee.grid import Grid
from fdtd.yee.media import Media, plane_at
from fdtd.yee.problem import Probe, Problem, Source, factors
from fdtd.yee.scene import Interval, LumpedPort

_IMPEDANCE = float(np.sqrt(mu_0 / epsilon_0))
_COLUMN = float(np.exp(-np.euler_gamma) / 4)  # radius of a column over the diagonal of the cells about it
_REACH = 2  # lattice lines to either side that a port may move to reach metal


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """What a port's records say at F frequencies, complex, (F,).

    Attributes:
        s11: Reflection.
        impedance: Of the antenna, ohm.
        scale: Factor from spectra of the run to fields for 1 W available from the port.
    """

    s11: np.ndarray
    impedance: np.ndarray
    scale: np.ndarray


class Feed(Protocol):
    """An antenna's port on a lattice: what `fdtd.yee.solve` needs of it, whatever the kind."""

    @property
    def hole(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """First and last plane along x and along y of a guide that the Huygens box leaves out."""
        ...

    @property
    def continued(self) -> bool:
        """Whether the antenna's damped waves are found in the voltage, to continue the records with."""
        ...

    def pulse(self, frequencies: np.ndarray) -> Pulse:
        """Return what drives the port, for frequencies in Hz."""
        ...

    def loaded(self, media: Media) -> Media:
        """Return media with what the port adds to them."""
        ...

    def drive(self, problem: Problem, waveform: np.ndarray) -> Problem:
        """Return a problem with the port's source and its sums; `waveform` at (n + 1/2) dt."""
        ...

    def voltage(self, sums: np.ndarray) -> np.ndarray:
        """Return the record that `read` takes, from the sums of `drive`, (steps, sums)."""
        ...

    def read(
        self, voltage: np.ndarray, waveform: np.ndarray, dt: float, frequencies: np.ndarray, images: int = 1
    ) -> Reading:
        """Return what the records say; `images` is how many times the power in the lattice counts."""
        ...

    def lengths_at(self, places: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Return what E of edges weighs in the port's voltage, m, from flat indices into an array of some shape."""
        ...

    def uneven(self, lost: np.ndarray, voltage: np.ndarray, dt: float, frequencies: np.ndarray) -> np.ndarray:
        """Return the power in the lattice that the port takes beyond what S11 says, in the units of the run, (F,).

        Args:
            lost: Power lost in what the port adds to the media, in the same units, (F,).
            voltage: Of the same fields, complex, V in the units of the run, (F,).
            dt: Time step, s.
            frequencies: Hz, (F,).
        """
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class PortColumns:
    """A lumped port on a lattice.

    Attributes:
        points: Its edges (component, k, j, i), (edges, 4).
        lengths: Of the edges, m, (edges,).
        conductances: What each edge's column conducts a length, S/m^2 times m: w / (R A), (edges,).
        weights: Share of the edge's column in the port, (edges,).
        resistance: Of the port, ohm.
        axis: 0, 1, 2 for edges along x, y, z.
        inductance: What a pin has more than the column, in series, H.
        images: How many times the lattice's part of the port makes the whole.
    """

    points: np.ndarray
    lengths: np.ndarray
    conductances: np.ndarray
    weights: np.ndarray
    resistance: float
    axis: int = 2
    inductance: float = 0.0
    images: int = 1

    @property
    def hole(self) -> None:
        """None: the Huygens box is closed."""
        return

    @property
    def continued(self) -> bool:
        """True."""
        return True

    def pulse(self, frequencies: np.ndarray) -> Pulse:
        """Return the source's pulse for frequencies, Hz."""
        return short_pulse_for(frequencies, 0.0)

    def loaded(self, media: Media) -> Media:
        """Return media with the port's resistance in them."""
        conductivity = media.conductivity.copy()
        total = self.lengths[self._first_column()].sum()
        conductivity[tuple(self.points.T)] += total * self.conductances
        return replace(media, conductivity=conductivity)

    def _first_column(self) -> np.ndarray:
        across = [1 + 2 - axis for axis in range(3) if axis != self.axis]
        return (self.points[:, across] == self.points[0, across]).all(axis=1)

    def drive(self, problem: Problem, waveform: np.ndarray) -> Problem:
        """Return a problem, with loaded media, that has the port's source and a probe of its voltage.

        Args:
            problem: The same without.
            waveform: Voltage of the source at (n + 1/2) dt, V.
        """
        at = tuple(self.points.T)  # never in metal
        _, cb = factors(problem.media.permittivity[at], problem.media.conductivity[at], problem.grid.dt)
        gains = -cb * _IMPEDANCE * self.conductances
        weights = -(self.weights * self.lengths)[None]
        source = Source(points=self.points, gains=gains, waveform=waveform)
        return replace(problem, source=source, probe=Probe(points=self.points, weights=weights))

    def voltage(self, sums: np.ndarray) -> np.ndarray:
        """Return the voltage after every step, V, (steps,), from the sums of `drive`."""
        return sums[:, 0]

    def read(
        self, voltage: np.ndarray, waveform: np.ndarray, dt: float, frequencies: np.ndarray, images: int = 1
    ) -> Reading:
        """Return what the voltage says; arguments as for `reflection`, and `images` changes nothing."""
        del images  # the resistance is that of the whole port
        s11 = self.reflection(voltage, waveform, dt, frequencies)
        scale = np.sqrt(8 * self.resistance) / transform(waveform, dt, 0.5, frequencies)
        if self.inductance:
            scale = scale * self.current(s11, frequencies)
        return Reading(s11=s11, impedance=self.resistance * (1 + s11) / (1 - s11), scale=scale)

    def lengths_at(self, places: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Return what E of edges weighs in the port's voltage; see `Feed`."""
        own = np.ravel_multi_index(tuple(self.points.T), shape)
        lengths = np.zeros(shape).ravel()
        lengths[own] = self.weights * self.lengths
        return lengths[places]

    def uneven(self, lost: np.ndarray, voltage: np.ndarray, dt: float, frequencies: np.ndarray) -> np.ndarray:
        """Return what the resistance takes more than that of an even field; see `Feed`."""
        even = np.abs(voltage) ** 2 / (2 * self.resistance * self.images)
        return (lost - even) * np.cos(np.pi * frequencies * dt) ** 2

    def reflection(self, voltage: np.ndarray, waveform: np.ndarray, dt: float, frequencies: np.ndarray) -> np.ndarray:
        """Return S11, complex, (frequencies,), time convention exp(+jwt).

        Args:
            voltage: At (n + 1) dt, V, (steps,).
            waveform: Of the source, V, at (n + 1/2) dt.
            dt: Time step, s.
            frequencies: Hz.
        """
        across = transform(voltage, dt, 1.0, frequencies) * np.cos(np.pi * frequencies * dt)
        s11 = 2 * across / transform(waveform, dt, 0.5, frequencies) - 1
        if not self.inductance:
            return s11
        added = 2j * np.pi * frequencies * self.inductance * (1 - s11)
        return (2 * self.resistance * s11 + added) / (2 * self.resistance + added)

    def current(self, s11: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
        """Return the current in the pin over that in the column at the same source, complex, (frequencies,).

        Args:
            s11: As `reflection` returned it.
            frequencies: Hz.
        """
        return 1 - 2j * np.pi * frequencies * self.inductance * (1 - s11) / (2 * self.resistance)


def transform(samples: np.ndarray, dt: float, offset: float, frequencies: np.ndarray) -> np.ndarray:
    """Return sum x[n] exp(-jw (n + offset) dt) dt, (frequencies,)."""
    phase = -2j * np.pi * frequencies * dt
    row = max(1, math.isqrt(len(samples)))  # exp(p (row a + b)) = exp(p row a) exp(p b): few exponentials
    rows = -(-len(samples) // row)
    table = np.zeros(rows * row)
    table[: len(samples)] = samples
    along = np.exp(np.outer(np.arange(row) + offset, phase))
    across = np.exp(np.outer(row * np.arange(rows), phase))
    return (table.reshape(rows, row) @ along * across).sum(axis=0) * dt


def plane_of(grid: Grid, axis: int, place: float, name: str) -> int:
    """Return the lattice plane along an axis that a port's entry of some name stands on, m.

    Raises:
        ConfigError: It is beyond the lattice or between planes.
    """
    first, last = grid.planes[axis][[0, -1]]
    found = plane_at(grid.planes[axis], place)
    if found is None and not first <= place <= last:
        raise ConfigError(
            f"port.{name} = {place:g} m is beyond the lattice ({first:g} to {last:g} m); move it or enlarge the lattice"
        )
    if found is None:
        near = grid.planes[axis][np.abs(grid.planes[axis] - place).argmin()]
        raise ConfigError(
            f"port.{name} = {place:g} m lies between lattice planes (the nearest is {near:g} m); move one of them"
        )
    return found


def port_columns(port: LumpedPort, grid: Grid, media: Media) -> PortColumns:
    """Return a port's edges on a lattice.

    A port that has one line along an axis takes the nearest one there at which all its ends touch metal, at most two
    lines away: the nearest to the end of a strip may be beyond the metal. In a symmetry plane it stays in it.

    Raises:
        ConfigError: An end lies between lattice planes or touches no metal, both are in one plane, metal is in the
            way, or a pin has several columns.
    """
    along = "xyz".index(port.axis)
    first, second = (axis for axis in range(3) if axis != along)
    levels = [_level(grid, along, end, side) for end, side in zip(port.span(port.axis), (-1, 1), strict=True)]
    if None in levels:
        end = port.span(port.axis)[levels.index(None)]
        raise ConfigError(f"port.{port.axis} = {end:g} m lies between lattice planes; make the grid with `layout`")
    low, high = (int(level) for level in levels if level is not None)
    if low == high:
        gap = abs(float(np.subtract(*port.span(port.axis))))
        raise ConfigError(
            f"port.{port.axis} spans {gap:g} m, less than a thousandth of a cell, so both ends share a lattice plane; "
            "widen the gap or make cells smaller"
        )
    places = [_lines(grid.planes[axis], port.span("xyz"[axis])) for axis in (first, second)]
    places = _nearest_on_metal(port, grid, media.metal, (low, high), places)
    width = [grid.dual(axis) for axis in (first, second)]
    total = sum(width[0][one] for one in places[0]) * sum(width[1][one] for one in places[1])
    share = 1
    for at, axis in enumerate((first, second)):
        share *= 2 ** sum(_on_magnetic_wall(grid, axis, int(one)) for one in places[at])
    points, lengths, conductances, weights = [], [], [], []
    step = np.diff(grid.planes[along])
    for two in places[1]:
        for one in places[0]:
            column = {first: int(one), second: int(two)}
            _check_column(port, grid, media, (low, high), column)
            area = width[0][one] * width[1][two]
            for level in range(low, high):
                points.append((along, *_node(column, along, level)))
                lengths.append(step[level])
                weights.append(area / total)
                conductances.append(1 / (total * port.resistance * share))
    return PortColumns(
        points=np.array(points),
        lengths=np.array(lengths),
        conductances=np.array(conductances),
        weights=np.array(weights),
        resistance=port.resistance,
        axis=along,
        inductance=_inductance(port, grid, (first, second), places),
        images=share,
    )


def _level(grid: Grid, along: int, end: float, side: int) -> int | None:
    """Return the plane of a port's end; in a gap of a sheet the next line outwards, which is the sheet's last one."""
    planes = grid.planes[along]
    found = plane_at(planes, end)
    if found is not None or along == 2 or not planes[0] < end < planes[-1]:
        return found
    return int(np.searchsorted(planes, end)) - (side < 0)


def _inductance(port: LumpedPort, grid: Grid, across: tuple[int, int], places: list[np.ndarray]) -> float:
    """Return what a pin has more than its column, H."""
    if port.radius is None:
        return 0.0
    if len(places[0]) != 1 or len(places[1]) != 1:
        raise ConfigError(f"port.radius = {port.radius:g} m goes with a single column; leave it out, or the width")
    cells = [grid.spacing(axis)[max(0, at[0] - 1) : at[0] + 1].mean() for axis, at in zip(across, places, strict=True)]
    low, high = port.span(port.axis)
    return mu_0 * (high - low) / (2 * np.pi) * float(np.log(_COLUMN * np.hypot(*cells) / port.radius))


def _node(column: dict[int, int], along: int, level: int) -> tuple[int, int, int]:
    """Return the node [k, j, i] of a column at a level."""
    x, y, z = (level if axis == along else column[axis] for axis in range(3))
    return z, y, x


def _lines(planes: np.ndarray, span: Interval) -> np.ndarray:
    """Indices of the planes in an interval, or of the nearest to its middle."""
    margin = 1e-6 * float(np.diff(planes).min())
    found = np.nonzero((planes >= span[0] - margin) & (planes <= span[1] + margin))[0]
    return found if len(found) else np.array([np.abs(planes - (span[0] + span[1]) / 2).argmin()])


def _nearest_on_metal(
    port: LumpedPort, grid: Grid, metal: np.ndarray, levels: tuple[int, int], near: list[np.ndarray]
) -> list[np.ndarray]:
    """Return lines of a port along both axes across it: the nearest ones with metal at both ends of all columns."""
    along = "xyz".index(port.axis)
    across = [axis for axis in range(3) if axis != along]
    choices = [_around(grid, axis, lines) for axis, lines in zip(across, near, strict=True)]
    middles = [sum(port.span("xyz"[axis])) / 2 for axis in across]

    def distance(places: tuple[np.ndarray, ...]) -> tuple[float, ...]:
        parts = zip(across, places, middles, strict=True)
        away = sum(abs(float(grid.planes[axis][one[0]]) - middle) for axis, one, middle in parts if len(one) == 1)
        return (away, *(int(one[0]) for one in places))

    for places in sorted(product(*choices), key=distance):
        columns = [dict(zip(across, column, strict=True)) for column in product(*(one.tolist() for one in places))]
        ends = product(zip(levels, (-1, 0), strict=True), columns)
        if all(_touches(metal, along, level, column, beyond) for (level, beyond), column in ends):
            return list(places)
    return near


def _around(grid: Grid, axis: int, lines: np.ndarray) -> list[np.ndarray]:
    """Return what a port may have in place of its lines along an axis."""
    if len(lines) > 1 or _on_magnetic_wall(grid, axis, int(lines[0])):  # a column off a symmetry plane were two ports
        return [lines]
    first = int(lines[0])
    return [np.array([at]) for at in range(max(0, first - _REACH), min(grid.counts[axis], first + _REACH) + 1)]


def _on_magnetic_wall(grid: Grid, axis: int, plane: int) -> bool:
    """Return whether a plane along an axis is a magnetic wall, a symmetry plane."""
    name = "xyz"[axis]
    return any(plane == end and f"{name}{side}" in grid.magnetic for side, end in (("-", 0), ("+", grid.counts[axis])))


def _touches(metal: np.ndarray, along: int, level: int, column: dict[int, int], beyond: int) -> bool:
    """Whether the node has metal on an edge across the port, or on the edge `beyond` it along it (-1, or 0)."""
    node = _node(column, along, level)
    for axis in column:
        for step in (0, 1):
            before = list(node)
            before[2 - axis] -= step
            if before[2 - axis] >= 0 and metal[(axis, *before)]:
                return True
    return level + beyond >= 0 and bool(metal[(along, *_node(column, along, level + beyond))])


def _check_column(port: LumpedPort, grid: Grid, media: Media, levels: tuple[int, int], column: dict[int, int]) -> None:
    along, name = "xyz".index(port.axis), port.axis
    place = "({}) m".format(", ".join(f"{grid.planes[axis][at]:g}" for axis, at in column.items()))
    for level, end, beyond in zip(levels, port.span(name), (-1, 0), strict=True):
        if not _touches(media.metal, along, level, column, beyond):
            raise ConfigError(f"port at {place} ends in air at {name} = {end:g} m; move it onto metal, or metal to it")
    if any(media.metal[(along, *_node(column, along, level))] for level in range(*levels)):
        raise ConfigError(
            f"port at {place} runs through metal; leave a gap for it between {name} = {port.span(name)} m"
        )
