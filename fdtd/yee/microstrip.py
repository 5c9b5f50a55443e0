"""Ports in microstrip lines: voltages in three planes, currents around the strip, and the resulting waves.

The line runs along x or y above its ground, and on into the absorbing layer behind the source. A current between ground
and strip excites it. With the voltage V between both in three planes that are d apart, waves F and B of the quasi-TEM
mode have

    V1 + V3 = 2 V2 cos(B d)

whatever they are, so that the phase constant needs no formula for the line. Where V2 is near a node the quotient says
nothing; so the phase constant over frequency is a polynomial of degree 2, fitted with the weight |V2|^2 sin^2(B d). F
and B are the least squares of all three voltages. F is all that runs forwards, whatever the layer behind sends back, so
that S11 = B / F has no error of the layer. The current through a loop around the strip's edges is that of the lattice
exactly (Ampere), and gives the wave resistance (F - B) / I, by voltage and current.

References:
    Sheen, Ali, Abouzahra & Kong, IEEE MTT 38 (1990) 849; Taflove & Hagness, 3rd ed., sec. 14.2 (voltages and currents).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from scipy.constants import epsilon_0, mu_0, speed_of_light

from fdtd.errors import ConfigError
from fdtd.yee.grid import FACES, Grid
from fdtd.yee.media import Media
from fdtd.yee.ports import plane_of, transform
from fdtd.yee.problem import Probe, Problem, Source

_IMPEDANCE = float(np.sqrt(mu_0 / epsilon_0))
_EVEN = 1e-6  # largest relative difference of distances that are to be equal
_STEEPEST = 0.2  # smallest sin(B d) of planes d apart: below it they hardly tell the waves apart
_MISSED = 0.05  # largest error of the fitted cos(B d), weighted with the power
_SUMS = 5  # of a port: three voltages, two currents


@dataclass(frozen=True, kw_only=True)
class LinePort:
    """A port in a microstrip line. All lengths in m.

    Attributes:
        axis: "x" or "y", along which the line runs.
        into: 1 where the circuit lies towards larger coordinates, -1 where towards smaller ones.
        strip: Both edges of the strip along the other axis.
        z: Ground and strip, planes of the lattice.
        source: Place along the line of the current, a plane of the lattice.
        planes: Three places beyond it, equally far apart, planes of the lattice: a tenth to a fifth of the line's
            wavelength apart, six heights of the strip or more from the source and from where the line ends. Sides and
            top of the lattice take part: leave eight heights or more between the strip and their layers.
        reference: Place along the line to which S is referred, between the layers.
    """

    axis: str
    into: int
    strip: tuple[float, float]
    z: tuple[float, float]
    source: float
    planes: tuple[float, float, float]
    reference: float

    def __post_init__(self) -> None:
        if self.axis not in ("x", "y") or self.into not in (1, -1):
            raise ConfigError(f'port.axis = "{self.axis}", into = {self.into} are not allowed (need x or y, 1 or -1)')
        for name in ("strip", "z", "source", "planes", "reference"):
            if not np.isfinite(getattr(self, name)).all():
                raise ConfigError(f"port.{name} = {getattr(self, name)} m is not finite")
        for name in ("strip", "z"):
            low, high = getattr(self, name)
            if not high > low:
                raise ConfigError(f"port.{name} = ({low:g}, {high:g}) m is empty (needs low < high)")
        steps = self.into * np.diff([self.source, *self.planes])
        if not (steps > 0).all():
            raise ConfigError(
                f"port.source = {self.source:g} m and port.planes = {self.planes} m are not one after the other "
                f"towards {'+' if self.into > 0 else '-'}{self.axis}; put the source behind the planes"
            )
        if abs(steps[1] - steps[2]) > 1e-3 * steps[1]:
            raise ConfigError(f"port.planes are {steps[1]:g} and {steps[2]:g} m apart; make the distances equal")

    def shares_line(self, other: LinePort) -> bool:
        """Return whether another port is in the same strip and looks the same way, so that its line cannot run on."""
        same = self.axis == other.axis and self.into == other.into
        overlap = (
            max(first[0], second[0]) < min(first[1], second[1])
            for first, second in ((self.strip, other.strip), (self.z, other.z))
        )
        return same and all(overlap)


@dataclass(frozen=True, kw_only=True, eq=False)
class LineWaves:
    """Waves of a line at F frequencies, all complex (F,) but where said.

    Attributes:
        forward: Voltage of the wave into the circuit at the reference, V s.
        backward: The same of the wave that comes out.
        phase_constant: rad/m, real.
        resistance: Wave resistance, voltage over current, ohm.
    """

    forward: np.ndarray
    backward: np.ndarray
    phase_constant: np.ndarray
    resistance: np.ndarray

    def effective_permittivity(self, frequencies: np.ndarray) -> np.ndarray:
        """Return the square of the phase constant over that of air, at the frequencies, Hz, (F,)."""
        return (self.phase_constant * speed_of_light / (2 * np.pi * frequencies)) ** 2


@dataclass(frozen=True, kw_only=True, eq=False)
class LineOnLattice:
    """A line's port on a lattice.

    Attributes:
        port: The port.
        driven: Edges of the source (component, k, j, i), (edges, 4).
        gains: Of them, V/m a unit of the waveform, (edges,).
        points: What the sums are made of, (points, 4).
        weights: Of the three voltages, V a V/m, and the two currents half a cell before and behind the middle plane, A
            a V/m, (5, points).
        cell: Along the line at the middle plane, m.
        dt: Time step, s.
    """

    port: LinePort
    driven: np.ndarray
    gains: np.ndarray
    points: np.ndarray
    weights: np.ndarray
    cell: float
    dt: float

    def waves(self, sums: np.ndarray, frequencies: np.ndarray) -> LineWaves:
        """Return the waves.

        Args:
            sums: Of the port after every step, (steps, 5).
            frequencies: Hz, (F,), at least 5 of them over the band.

        Raises:
            ConfigError: The planes are too close together, or half a wavelength apart.
        """
        volts = np.array([transform(sums[:, at], self.dt, 1.0, frequencies) for at in range(3)])
        amperes = np.array([transform(sums[:, at], self.dt, 0.5, frequencies) for at in (3, 4)]).mean(axis=0)
        beta = self._phase_constant(volts, frequencies)
        along = self.port.into * (np.array(self.port.planes) - self.port.reference)
        phase = np.exp(-1j * np.outer(beta, along))
        found = np.array([
            np.linalg.lstsq(np.stack([one, 1 / one], axis=1), volts[:, at], rcond=None)[0]
            for at, one in enumerate(phase)
        ])  # fmt: skip
        forward, backward = found.T
        current = amperes * self.port.into / np.cos(beta * self.cell / 2)
        across = forward * phase[:, 1] - backward / phase[:, 1]
        return LineWaves(forward=forward, backward=backward, phase_constant=beta, resistance=across / current)

    def _phase_constant(self, volts: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
        apart = abs(self.port.planes[1] - self.port.planes[0])
        power = np.abs(volts[1]) ** 2
        cosine = np.real((volts[0] + volts[2]) * np.conj(volts[1])) / (2 * power)
        inside = np.abs(cosine) < 1
        angle = np.arccos(np.clip(cosine, -1, 1))
        index = angle * speed_of_light / (2 * np.pi * frequencies * apart)
        weights = np.sqrt(power * np.sin(angle) ** 2 * inside)
        if not weights.any():
            raise ConfigError(f"port.planes: the voltages at {self.port.axis} = {self.port.planes} m are of no line")
        middle = frequencies.mean()
        fitted = np.polynomial.Polynomial.fit(frequencies / middle, index, 2, w=weights / weights.max())
        beta = np.asarray(fitted(frequencies / middle)) * 2 * np.pi * frequencies / speed_of_light
        sine = np.sin(beta * apart)
        missed = np.sqrt((power * (np.cos(beta * apart) - cosine) ** 2).sum() / power.sum())
        if not (sine > _STEEPEST).all() or missed > _MISSED:  # beyond half a wavelength the angle folds
            worst = int(np.argmin(sine))
            raise ConfigError(
                f"port.planes are {apart * 1e3:g} mm apart, which does not tell the waves apart at "
                f"{frequencies[worst] / 1e9:g} GHz; place them 0.05 to 0.4 of the line's wavelength apart at all "
                "frequencies"
            )
        return beta


def line_on_lattice(port: LinePort, grid: Grid, media: Media) -> LineOnLattice:
    """Return a line's port on a lattice.

    Raises:
        ConfigError: A place lies between lattice planes, beyond the lattice or in a layer. Or, anywhere from the source
            to the last plane: strip or ground is missing, the strip is wider, metal is in between, the substrate
            changes. Or the strip reaches the lattice's end or a layer at its sides or above, the ground is in one, or
            cells at the middle plane differ.
    """
    along = "xy".index(port.axis)
    across = 1 - along
    ground, strip = (plane_of(grid, 2, place, "z") for place in port.z)
    lines = _lines(grid.planes[across], port.strip)
    if not grid.layers[2 * across] < lines[0] <= lines[-1] < grid.counts[across] - grid.layers[2 * across + 1]:
        raise ConfigError(
            f"port.strip = ({port.strip[0]:g}, {port.strip[1]:g}) m reaches the end of the lattice or an absorbing "
            "layer; leave a cell on both sides"
        )
    if not grid.layers[4] <= ground < strip < grid.counts[2] - grid.layers[5]:
        raise ConfigError(
            f"port.z = ({port.z[0]:g}, {port.z[1]:g}) m reaches the top of the lattice or an absorbing layer; leave a "
            "cell above the strip"
        )
    places = [
        plane_of(grid, along, port.source, "source"),
        *(plane_of(grid, along, one, "planes") for one in port.planes),
    ]
    first, last = grid.layers[2 * along : 2 * along + 2]
    for at, place in zip(places, (port.source, *port.planes), strict=True):
        if not first <= at <= grid.counts[along] - last:
            raise ConfigError(f"port at {port.axis} = {place:g} m is in an absorbing layer; move it in front of it")
    low, high = (float(grid.planes[along][at]) for at in (first, grid.counts[along] - last))
    if not low <= port.reference <= high:
        raise ConfigError(
            f"port.reference = {port.reference:g} m is not between the lattice's ends or layers ({low:g} to {high:g} m "
            f"along {port.axis}); move it"
        )
    for at in range(min(places), max(places) + 1):  # what stands between two planes spoils the waves as well
        _check_line(port, media.metal, (ground, strip), lines, at)
    _check_substrate(port, media, (ground, strip), lines, (min(places), max(places)))
    before, behind = grid.spacing(along)[places[2] - 1 : places[2] + 1]
    if abs(before - behind) > _EVEN * before:
        raise ConfigError(
            f"cells at port.planes[1] = {port.planes[1]:g} m are {before:g} and {behind:g} m; make them even there"
        )
    node = _Node(along, across)
    static = _Static.of(grid, across, (ground, strip), lines)
    driven, gains = static.current(media, node, places[0])
    points, weights = [], []
    for row, at in enumerate(places[1:]):
        points += [node(component, k, at, one) for component, k, one in static.edges]
        weights += [(row, weight) for weight in static.weights]
    sign = (1 if port.axis == "y" else -1) / _IMPEDANCE
    high, dual = float(grid.dual(2)[strip]), grid.dual(across)
    for row, at in ((3, places[2] - 1), (4, places[2])):
        for one in lines:
            for k, way in ((strip, sign), (strip - 1, -sign)):
                points.append(node(3 + across, k, at, one))
                weights.append((row, way * dual[one]))
        for one, way in ((lines[-1], -sign), (lines[0] - 1, sign)):
            points.append(node(5, strip, at, one))
            weights.append((row, way * high))
    matrix = np.zeros((_SUMS, len(points)))
    for column, (row, weight) in enumerate(weights):
        matrix[row, column] = weight
    return LineOnLattice(
        port=port, driven=driven, gains=gains, points=np.array(points), weights=matrix, cell=float(before), dt=grid.dt
    )


@dataclass(frozen=True)
class _Static:
    """The static field in a plane across the line, filled with air, with the strip at 1 V over the ground.

    No flux leaves it at an absorbing layer: currents of its form that ended there would leave charges in space, whose
    field reaches the planes.

    Attributes:
        edges: Those with a field, as `_Node` takes them without the place along the line, (component, k, across).
        field: V/m, (edges,).
        weights: Of the edges' fields for the line's voltage, m, (edges,): each edge's voltage by the flux along it. Of
            every field without curl in the plane it is the voltage, whatever fills the line.
    """

    edges: list[tuple[int, int, int]]
    field: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, grid: Grid, across: int, levels: tuple[int, int], lines: np.ndarray) -> _Static:
        """Return it between the layers, for ground and strip at `levels` and the strip's `lines`."""
        low, high = grid.layers[2 * across], grid.counts[across] - grid.layers[2 * across + 1]
        ground, strip, top = *levels, grid.counts[2] - grid.layers[5]
        widths, heights = grid.spacing(across)[low:high], grid.spacing(2)[ground:top]
        faces = f"{'xy'[across]}-", f"{'xy'[across]}+", "z+"
        metal = [grid.layers[FACES.index(face)] == 0 and face not in grid.magnetic for face in faces]
        potential = _potential(widths, heights, (strip - ground, lines - low), metal)
        dual_x, dual_z = (np.convolve(one, [0.5, 0.5]) for one in (widths, heights))
        edges, field, power = [], [], []
        for component, axis, cells, area in ((across, 1, widths, dual_z[:, None]), (2, 0, heights[:, None], dual_x)):
            volts = -np.diff(potential, axis=axis)
            found = np.nonzero(volts)
            edges += [(component, ground + k, low + one) for k, one in np.transpose(found).tolist()]
            field.append((volts / cells)[found])
            power.append((volts * area)[found])  # flux by length
        fields, weights = np.concatenate(field), np.concatenate(power)
        return cls(edges=edges, field=fields, weights=weights / (fields @ weights))

    def current(self, media: Media, node: _Node, at: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the source's edges and gains in a plane.

        This field is the current n x H of the quasi-TEM wave, and by the modes' orthogonality it excites little else.
        """
        places = [node(component, k, at, one) for component, k, one in self.edges]
        free = ~media.metal[tuple(np.transpose(places))]
        driven = np.array(places)[free]
        return driven, self.field[free] / media.permittivity[tuple(driven.T)]


def _potential(
    widths: np.ndarray, heights: np.ndarray, strip: tuple[int, np.ndarray], metal: Sequence[bool]
) -> np.ndarray:
    """Return the potential at the nodes of a plane across the line, 1 on the strip, 0 on the ground, [k, across].

    Args:
        widths: Cells across the line, m.
        heights: Cells from the ground on, m.
        strip: Its place k, and its lines.
        metal: Whether the potential is 0 at both sides and the top, too; no flux passes the others.
    """
    shape = len(heights) + 1, len(widths) + 1
    number = np.arange(shape[0] * shape[1]).reshape(shape)
    dual_x, dual_z = (np.convolve(one, [0.5, 0.5]) for one in (widths, heights))
    links = [
        (number[:, :-1], number[:, 1:], dual_z[:, None] / widths),
        (number[:-1], number[1:], dual_x / heights[:, None]),
    ]
    matrix = scipy.sparse.coo_array((number.size, number.size))
    for first, second, size in links:
        i, j, value = first.ravel(), second.ravel(), size.ravel()
        rows, columns = np.concatenate([i, j, i, j]), np.concatenate([j, i, i, j])
        matrix = matrix + scipy.sparse.coo_array(
            (np.concatenate([-value, -value, value, value]), (rows, columns)), matrix.shape
        )
    known = np.zeros(shape, dtype=bool)
    known[0] = True
    for wall, end in zip(metal, (np.s_[:, 0], np.s_[:, -1], np.s_[-1]), strict=True):
        known[end] |= wall
    found = np.zeros(shape)
    known[strip] = True
    found[strip] = 1.0
    free, fixed = ~known.ravel(), known.ravel()
    matrix = scipy.sparse.csc_array(matrix)
    answer: Any = scipy.sparse.linalg.spsolve(matrix[free][:, free], -(matrix[free][:, fixed] @ found.ravel()[fixed]))
    found[~known] = answer
    return found


def drive(problem: Problem, lines: list[LineOnLattice], driven: int, waveform: np.ndarray) -> Problem:
    """Return a problem with the sums of all ports, five each, and the source of one.

    Args:
        problem: The same without.
        lines: The ports.
        driven: Which of them has the source.
        waveform: Of the current, at (n + 1/2) dt.
    """
    source = Source(points=lines[driven].driven, gains=lines[driven].gains, waveform=waveform)
    weights = np.zeros((_SUMS * len(lines), sum(len(one.points) for one in lines)))
    column = 0
    for at, one in enumerate(lines):
        weights[_SUMS * at : _SUMS * (at + 1), column : column + len(one.points)] = one.weights
        column += len(one.points)
    return replace(
        problem,
        source=source,
        probe=Probe(points=np.concatenate([one.points for one in lines]), weights=weights),
    )


def of_port(sums: np.ndarray, at: int) -> np.ndarray:
    """Return the sums of one port of `drive`, (steps, 5)."""
    return sums[:, _SUMS * at : _SUMS * (at + 1)]


@dataclass(frozen=True)
class _Node:
    """Places [component, k, j, i] of what has an index along and across the line."""

    along: int
    across: int

    def __call__(self, component: int, k: int, along: int, across: int) -> tuple[int, int, int, int]:
        place = {self.along: int(along), self.across: int(across)}
        return component, int(k), place[1], place[0]


def _lines(planes: np.ndarray, span: tuple[float, float]) -> np.ndarray:
    """Return the lattice lines of a strip."""
    margin = 1e-6 * float(np.diff(planes).min())
    found = np.nonzero((planes >= span[0] - margin) & (planes <= span[1] + margin))[0]
    if len(found) < 2:
        raise ConfigError(
            f"port.strip = ({span[0]:g}, {span[1]:g}) m has {len(found)} lattice lines (needs 2 or more); use smaller "
            "cells"
        )
    return found


def _check_line(port: LinePort, metal: np.ndarray, levels: tuple[int, int], lines: np.ndarray, at: int) -> None:
    """Check that strip and ground pass through a plane, the strip as wide as the port says, with no metal between."""
    along = "xy".index(port.axis)
    node, place = _Node(along, 1 - along), f"{port.axis} = {port.source:g} to {port.planes[-1]:g} m"
    sides = (at - 1, at)

    def is_metal(k: int, one: int) -> list[bool]:
        return [bool(metal[node(along, k, side, one)]) for side in sides]

    if not all(all(is_metal(levels[1], one)) for one in lines):
        raise ConfigError(f"port.strip is no metal at z = {port.z[1]:g} m from {place}; move the port onto the strip")
    if any(any(is_metal(levels[1], one)) for one in (lines[0] - 1, lines[-1] + 1)):
        raise ConfigError(
            f"the metal at z = {port.z[1]:g} m is wider than port.strip from {place}; give the strip's own edges"
        )
    if not all(all(is_metal(levels[0], one)) for one in lines):
        raise ConfigError(f"there is no ground at z = {port.z[0]:g} m below the strip from {place}; add a sheet")
    if any(metal[node(2, k, at, one)] for one in lines for k in range(*levels)):
        raise ConfigError(f"port runs through metal between ground and strip from {place}; move it away")


def _check_substrate(
    port: LinePort, media: Media, levels: tuple[int, int], lines: np.ndarray, ends: tuple[int, int]
) -> None:
    """Check that what is between ground and strip is the same from the source to the last plane."""
    node = _Node("xy".index(port.axis), 1 - "xy".index(port.axis))
    k, one, at = np.meshgrid(np.arange(*levels), lines, np.arange(ends[0], ends[1] + 1), indexing="ij")
    places = np.stack(
        [node(2, *where) for where in zip(k.ravel().tolist(), at.ravel().tolist(), one.ravel().tolist(), strict=True)],
        axis=1,
    )
    for name, values in (("permittivity", media.permittivity), ("conductivity", media.conductivity)):
        found = values[tuple(places)].reshape(k.shape)
        if (np.ptp(found, axis=2) > _EVEN * found.max(axis=2)).any():
            at = f"{port.axis} = {port.source:g} to {port.planes[-1]:g} m"
            raise ConfigError(f"the substrate's {name} below port.strip changes from {at}; move the port")
