"""Modes of order 1 in planes of circular guides: forward and backward waves, from running sums of E.

Rows of the lattice that show the same guide carry each mode as a exp(-j beta d k) + b exp(+j beta d k), with the mode's
shape, k_c and beta of the lattice itself (`fdtd.axisymmetric.ports`). E alone, projected on the mode in every such row
near the plane, gives a and b by least squares: H, which stands half a cell and half a step apart, is not needed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.constants import speed_of_light
from scipy.special import jn_zeros, jnp_zeros

from fdtd.arrays import library, on_host
from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.axisymmetric.layout import Layout
from fdtd.axisymmetric.monitors import FieldMap
from fdtd.axisymmetric.ports import GuideMode, Port, te_mode, tm_mode
from fdtd.axisymmetric.problem import Problem, Records
from fdtd.axisymmetric.scene import Scene

PORT_PLANE = 0.0
"""Height z, m, of the plane to which the port's modes are referred: the feed's aperture."""
_NAME = re.compile(r"(TE|TM)1([1-9])")
_REACH = 16  # rows on both sides of a plane whose fields are kept
_FURTHEST = 6  # cells from a plane to the rows that show its guide: past the rims at the guide's end
_FEWEST = 3  # rows that show a guide
_FINER = 8  # samples a cell when a wall is looked for
_BELOW = 1e-9  # m
_NEAR = 1.5  # cells between a wall and the node that conducts for it
_SAME = 1e-6  # rows differ by less where they show the same guide


@lru_cache(maxsize=64)
def cutoff_zero(name: str) -> float:
    """Return k_c a of a mode of order 1 by its name, `TE11` to `TM19`.

    Raises:
        KeyError: There is no such mode.

    References:
        Pozar, Microwave Engineering, 4th ed., section 3.4.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise KeyError(name)
    number = int(found[2])
    return float((jnp_zeros if found[1] == "TE" else jn_zeros)(1, number)[-1])


MODES: tuple[str, ...] = tuple(f"{kind}1{number}" for number in range(1, 10) for kind in ("TE", "TM"))
"""Modes of order 1 in order of their cutoffs: TE11, TM11, TE12, TM12, ...; the zeros of J_1 and J_1' interlace."""


def mode_cutoff(name: str, radius: float, permittivity: float = 1.0) -> float:
    """Return the cutoff of a mode of order 1 in a guide, Hz; the radius in m."""
    return cutoff_zero(name) * speed_of_light / (2 * math.pi * radius) / math.sqrt(permittivity)


def carried(radius: float, frequency: float, permittivity: float = 1.0) -> tuple[str, ...]:
    """Return the modes of order 1 that propagate in a guide of a radius, m, in order of their cutoffs."""
    return tuple(name for name in MODES if mode_cutoff(name, radius, permittivity) < frequency)


@dataclass(frozen=True, kw_only=True)
class ModePlane:
    """A plane across a circular guide in which modes are measured.

    Attributes:
        z: Height, m; `PORT_PLANE` for the feed's port, whose waves are referred to the aperture.
        modes: Names; empty for all that propagate, at each frequency.
    """

    z: float
    modes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PlaneWaves:
    """Waves in a plane, in units of the feed's incident TE11 at z = 0: power waves, time convention exp(+jwt).

    The phase is that of the transverse E on the axis. A mode that does not propagate at a frequency is left out there.

    Attributes:
        z: Height of the plane, m.
        forward: By frequency (F of them) and name, waves that run to larger z.
        backward: The same of waves that run to smaller z.
    """

    z: float
    forward: tuple[Mapping[str, complex], ...]
    backward: tuple[Mapping[str, complex], ...]


def rows_of(layout: Layout, plane: ModePlane) -> tuple[int, int]:
    """Return [start, stop) of the rows whose fields are needed for a plane."""
    if plane.z == PORT_PLANE:
        stop = layout.port_plane + 2
        return max(layout.source_plane, stop - _REACH), stop
    nearest = layout.origin + round(plane.z / layout.cell)
    return max(layout.source_plane, nearest - _REACH), min(layout.contour_top + 1, nearest + _REACH + 1)


def mode_map(layout: Layout, planes: Sequence[ModePlane], other: FieldMap | None) -> FieldMap | None:
    """Return a map that holds what planes need, and another map's box too; that map alone without planes."""
    if not planes:
        return other
    boxes = [rows_of(layout, plane) for plane in planes]
    in_feed = all(plane.z == PORT_PLANE for plane in planes)
    wide = min(layout.feed_columns + 3, layout.nr) if in_feed else layout.contour_column + 1
    if other is not None:
        boxes.append(other.rows)
        wide = max(wide, other.columns[1])
    rows = min(first for first, _ in boxes), max(stop for _, stop in boxes)
    return FieldMap(rows=rows, columns=(0, wide), frequencies=np.array(layout.frequencies))


@dataclass(frozen=True, kw_only=True, eq=False)
class Guides:
    """Planes in which modes of a batch are measured.

    Attributes:
        planes: Where.
        radii: Inner radius of each antenna's guide in each plane, m, (batch, planes); NaN where there is no metal.
    """

    planes: tuple[ModePlane, ...] = ()
    radii: np.ndarray

    @classmethod
    def of(cls, layout: Layout, scene: Scene, planes: tuple[ModePlane, ...]) -> Guides:
        """Look for each antenna's innermost wall; a plane between two guides belongs to the lower one."""
        found = np.full((scene.batch, len(planes)), np.nan)
        index = np.arange(scene.batch)[:, None]
        r = np.arange(layout.contour_column * _FINER)[None] / _FINER * layout.cell
        for place, plane in enumerate(planes):
            z = np.array(plane.z - _BELOW)
            metal = np.zeros((scene.batch, r.shape[1]), dtype=bool)
            for conductor in scene.conductors:
                metal |= np.broadcast_to(conductor(index, r, z), metal.shape) >= 0
            some = metal.any(axis=1)
            found[some, place] = r[0, np.argmax(metal[some], axis=1)]
        return cls(planes=planes, radii=found)

    def chosen(self, places: Sequence[int]) -> Guides:
        """Return the same of some antennas of the batch."""
        return Guides(planes=self.planes, radii=self.radii[list(places)])


def plane_waves(
    layout: Layout, problem: Problem, records: Records, guides: Guides, incident: Sequence[np.ndarray]
) -> list[tuple[PlaneWaves | None, ...]]:
    """Measure modes in planes.

    Args:
        layout: Frequencies, and where z = 0 is.
        problem: With a map of `mode_map`.
        records: Of the batch.
        guides: Where.
        incident: `fdtd.axisymmetric.solutions.Solution.incident` of each antenna.

    Returns:
        For each antenna one entry a plane; None where the lattice shows no guide there.
    """
    where = problem.field_map
    if where is None or records.field_map is None:
        raise ValueError("the problem has no field map")
    found: list[list[PlaneWaves | None]] = [[] for _ in incident]
    for number, plane in enumerate(guides.planes):
        start, stop = rows_of(layout, plane)
        inside = np.s_[start - where.rows[0] : stop - where.rows[0]]
        sums = on_host(records.field_map[:, :, :, :2, inside])
        shown = _shown(problem, slice(start, stop), slice(*where.columns))
        for index, wave in enumerate(incident):
            kept = sums[index].astype(float)
            field = kept[:, 0] + 1j * kept[:, 1]
            row = _row(layout, plane, start, shown[index], guides.radii[index, number])
            found[index].append(None if row is None else _waves(layout, plane, start, row, field, shown[index], wave))
    return [tuple(one) for one in found]


def _shown(problem: Problem, rows: slice, columns: slice) -> np.ndarray:
    """Return what rows show of each antenna, on the host: open length and area, permittivity, conductivity.

    Shape (batch, 12, rows, columns).
    """
    media = problem.media
    box = np.s_[:, :, rows, columns]
    parts = [part[box] for part in (media.open_length, media.open_area, media.permittivity, media.conductivity)]
    return on_host(library(parts[0]).concatenate(parts, axis=1))


def _row(layout: Layout, plane: ModePlane, start: int, shown: np.ndarray, radius: float) -> tuple[slice, int] | None:
    """Return the rows that show the guide of a plane, and the node of its wall; None without any.

    Args:
        layout: See `plane_waves`.
        plane: Where.
        start: First row of what is shown.
        shown: See `_shown`.
        radius: Of the guide, m.
    """
    wall = _conducting(shown[1])
    if plane.z == PORT_PLANE:
        return slice(None), int(wall[0])
    at = layout.origin + plane.z / layout.cell - start
    near = np.abs(wall - radius / layout.cell) <= _NEAR
    best = min((run for run in _runs(shown, wall) if near[run[0]]), key=lambda run: _away(run, at), default=None)
    if best is None or _away(best, at) > _FURTHEST:
        return None
    return slice(*best), int(wall[best[0]])


def _waves(
    layout: Layout, plane: ModePlane, start: int, found: tuple[slice, int], field: np.ndarray, shown: np.ndarray,
    incident: np.ndarray,
) -> PlaneWaves:  # fmt: skip
    """Return the waves of one antenna in a plane.

    Args:
        layout: See `plane_waves`.
        plane: Where.
        start: First row of the arrays.
        found: See `_row`.
        field: e_r and r E_phi, complex (F, 2, rows, columns).
        shown: See `_shown`.
        incident: Power wave of the feed, complex (F,).
    """
    run, columns = found
    row = shown[:, run, : columns + 1][:, 0]
    place = start + np.arange(field.shape[2])[run] - layout.origin - plane.z / layout.cell
    forward: list[dict[str, complex]] = []
    backward: list[dict[str, complex]] = []
    for number, hz in enumerate(layout.frequencies):
        ahead, back = {}, {}
        for name in plane.modes or MODES:
            mode = _mode(layout.grid, name, row[:6].tobytes(), columns + 1, float(row[6, 0]))
            if mode is None or not _carries(layout.grid, mode, hz):
                if plane.modes:
                    continue
                break
            a, b = _split(layout.grid, mode, hz, field[number, :, run], place)
            unit = math.sqrt(float(Port.of(layout.grid, mode, np.array(hz)).power(np.array(1.0)))) / incident[number]
            ahead[name], back[name] = complex(a * unit), complex(b * unit)
        forward.append(ahead)
        backward.append(back)
    return PlaneWaves(z=plane.z, forward=tuple(forward), backward=tuple(backward))


def _conducting(e_phi: np.ndarray) -> np.ndarray:
    """Return the first conducting node of each row, (rows,); 0 where there is none."""
    conducts = e_phi[:, 1:] == 0
    return np.where(conducts.any(axis=1), np.argmax(conducts, axis=1) + 1, 0)


def _runs(shown: np.ndarray, wall: np.ndarray) -> list[tuple[int, int]]:
    """Return [first, stop) of rows in succession that show one guide, evenly filled; see `_shown`."""
    count = len(wall)

    def same(one: int, other: int) -> bool:
        inside = slice(None, int(wall[one]) + 1)
        return bool(
            wall[one] == wall[other] > 2 and np.allclose(shown[:, one, inside], shown[:, other, inside], 0, _SAME)
        )

    def even(one: int) -> bool:
        inside = slice(None, int(wall[one]))
        filled = np.abs(shown[6:9, one, inside] - shown[6, one, 0]) <= _SAME
        return bool(filled.all() and (shown[9:, one, inside] == 0).all())

    runs: list[tuple[int, int]] = []
    first = 0
    for row in range(1, count + 1):
        if row == count or not same(row - 1, row):
            if row - first >= _FEWEST and even(first):
                runs.append((first, row))
            first = row
    return runs


def _away(run: tuple[int, int], at: float) -> float:
    """Return the distance of a plane from rows, in cells."""
    return max(run[0] - at, at - (run[1] - 1), 0.0)


@lru_cache(maxsize=512)
def _mode(grid: AxisymmetricGrid, name: str, row: bytes, columns: int, permittivity: float) -> GuideMode | None:
    """Return a mode of the guide that a row shows; None where the row has too few columns for it."""
    parts = np.frombuffer(row).reshape(6, columns)
    number = int(name[3])
    if number > columns - 3:
        return None
    te = name[:2] == "TE"
    mode = te_mode(grid, parts[:3], parts[3:], number) if te else tm_mode(grid, parts[:3], number)
    return replace(mode, permittivity=permittivity)


def _carries(grid: AxisymmetricGrid, mode: GuideMode, frequency: float) -> bool:
    """Say whether a mode propagates on the lattice."""
    drive = 2 * math.sin(math.pi * frequency * grid.time_step) / grid.courant_number * math.sqrt(mode.permittivity)
    return drive > mode.cutoff_per_cell * (1 + 1e-9)


def _split(
    grid: AxisymmetricGrid, mode: GuideMode, frequency: float, field: np.ndarray, place: np.ndarray
) -> tuple[complex, complex]:
    """Return the amplitudes of a mode's forward and backward waves at place 0.

    Args:
        grid: The lattice.
        mode: Mode of the guide.
        frequency: Hz.
        field: e_r and r E_phi in rows of the guide, complex (2, rows, columns).
        place: Of the rows, in cells, (rows,).
    """
    columns = len(mode.e_r)
    voltage = (field[0, :, :columns] @ mode.h_phi - field[1, :, :columns] @ mode.h_r) / mode.norm
    turn = np.exp(1j * float(mode.phase_per_cell(grid, np.array(frequency))) * place)
    found = np.linalg.lstsq(np.stack([1 / turn, turn], axis=1), voltage, rcond=None)[0]
    return complex(found[0]), complex(found[1])
