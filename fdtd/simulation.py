"""The façade: a layout and a scene in, S11, far field and powers out, a batch of antennas at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.constants import epsilon_0, mu_0

from fdtd.arrays import library, on_host
from fdtd.backends import ARRAYS, BACKENDS
from fdtd.conductors import open_parts
from fdtd.farfield.axisymmetric import FarFieldTransform, contour_power
from fdtd.farfield.metrics import polar_weights
from fdtd.grid import AxisymmetricGrid
from fdtd.layout import Layout, check_bodies
from fdtd.media import Media, compensate_dispersion, effective_permittivity
from fdtd.monitors import FieldMap, HuygensContour, Snapshots
from fdtd.ports import GuideMode, lowest_te_mode, modal_amplitudes, modal_power
from fdtd.problem import Problem, Records, Watch
from fdtd.rims import edge_conditions
from fdtd.scene import Scene, on_library
from fdtd.sources import ModalSource

_TOGETHER = 32  # antennas of a device's records that are transformed at a time: always so many, for the same bits
PATTERN_DEG = np.arange(181.0)  # 0 ... 180 degrees
_IMPEDANCE = np.sqrt(mu_0 / epsilon_0)


@dataclass(frozen=True, kw_only=True)
class Solution:
    """One antenna's answer at the layout's frequencies (F of them).

    Powers are in units of pi d^2 / (2 eta0) times (V/m s)^2: only their ratios mean anything.

    Attributes:
        steps, energy, finite: Steps taken, energy left over the largest, whether the fields stayed finite.
        s11: Referred to z = 0, (F,), time convention exp(+jwt).
        incident: The feed's forward wave in the plane z = 0, complex (F,): |incident|^2 is its power, and its phase
            that of E_r on the axis.
        e_plane, h_plane: Far-field amplitudes A and B at `PATTERN_DEG`, (F, 181).
        accepted, radiated, through_contour, dissipated: Power that entered at the port, in the far field, through the
            contour, in lossy bodies, (F,).
        field: E_r, E_phi, E_z at all cells, complex (F, 3, nz, nr), if asked for.
        permittivity: Of e_phi nodes, (nz, nr), if asked for.
        metal: Whether each node conducts, (nz, nr), if asked for.
        snapshots: E_r, E_phi, E_z over time, (frames, 3, rows kept, columns kept), NaN in conductors, if asked for.
    """

    steps: int
    energy: float
    finite: bool
    s11: np.ndarray
    incident: np.ndarray
    e_plane: np.ndarray
    h_plane: np.ndarray
    accepted: np.ndarray
    radiated: np.ndarray
    through_contour: np.ndarray
    dissipated: np.ndarray
    sweep_frequency: np.ndarray
    sweep_s11: np.ndarray
    field: np.ndarray | None = None
    permittivity: np.ndarray | None = None
    metal: np.ndarray | None = None
    snapshots: np.ndarray | None = None


def fill(layout: Layout, scene: Scene, xp: Any = np) -> Media:
    """Rasterise a scene on a layout's lattice.

    A conducting plate across the feed, in the plane where its absorber ends, keeps the absorber closed and its cells
    whole wherever the back wall falls between lattice planes; what stands behind the absorber does not matter.

    Args:
        layout: The lattice.
        scene: The batch.
        xp: Array library in whose memory the media are wanted; conductors are looked at on the host.
    """
    check_bodies(layout, scene)
    grid = layout.grid
    if xp is not np:
        scene = replace(scene, dielectrics=on_library(scene.dielectrics, xp))
    permittivity, conductivity, coupling = effective_permittivity(
        grid, scene, layout.design_frequency, coupled=layout.surfaces == "full", xp=xp
    )
    compensate_dispersion(grid, permittivity, layout.design_frequency)
    open_length, open_area = open_parts(grid, scene)
    edge_conditions(grid, scene, permittivity, open_length, open_area)
    _close_feed(layout, open_length, open_area)
    open_length, open_area = xp.asarray(open_length), xp.asarray(open_area)
    return Media(
        permittivity=permittivity,
        conductivity=conductivity,
        open_length=np.broadcast_to(open_length, permittivity.shape),
        open_area=np.broadcast_to(open_area, permittivity.shape),
        coupling=None if coupling is None else np.where(_free(open_length), coupling, 0.0),
    )


def _close_feed(layout: Layout, open_length: np.ndarray, open_area: np.ndarray) -> None:
    """Put the plate behind the feed's absorber, and the guide's own cells right in front of it."""
    back, inside = layout.feed_back, slice(layout.feed_columns)
    open_length[:, :2, back, inside] = 0.0
    open_length[:, 2, back, inside] = open_length[:, 2, back + 1, inside]
    open_area[:, :, back, inside] = open_area[:, :, back + 1, inside]


def _free(open_length: np.ndarray) -> np.ndarray:
    """Nodes whose four edges in the r-z plane are whole, (batch, nz, nr)."""
    e_r, e_z = open_length[:, 0] == 1, open_length[:, 2] == 1
    free = e_r & e_z
    free[:, :, 1:] &= e_r[:, :, :-1]
    free[:, 1:] &= e_z[:, :-1]
    free[:, :, 0] = free[:, 0] = False
    return free


def pose(
    layout: Layout, media: Media, field_map: FieldMap | None = None, snapshots: Snapshots | None = None
) -> tuple[Problem, GuideMode]:
    """The initial-value problem of a batch, and the mode that drives it.

    The feed is the same for the whole batch, so the first antenna's shows it.
    """
    grid = layout.grid
    plane = layout.source_plane
    mode = lowest_te_mode(grid, on_host(media.open_length[0, :, plane]), on_host(media.open_area[0, :, plane]))
    *outer, absorber = layout.axial_layers
    source = ModalSource(
        plane=plane, profile_r=mode.e_r, profile_phi=mode.e_phi, waveform=layout.pulse.samples(grid.time_step)
    )
    problem = Problem(
        grid=grid,
        media=media,
        sampling=layout.sampling,
        radial_layer=layout.radial_layer,
        axial_layers=(*outer, replace(absorber, columns=len(mode.e_r))),  # as wide as the guide is on the lattice
        source=source,
        port=mode.monitor(layout.port_plane),
        contour=layout.contour,
        field_map=field_map,
        snapshots=snapshots,
    )
    return problem, mode


def solve(
    layout: Layout,
    scene: Scene,
    *,
    backend: str = "cpu",
    precision: str = "float32",
    threads: int = 1,
    fields: bool = False,
    sweep: int = 0,
    snapshots: Snapshots | None = None,
    stages: dict[str, float] | None = None,
    watch: Watch | None = None,
    choose: Callable[[Media], Sequence[int]] | None = None,
) -> list[Solution]:
    """Solve every antenna of a scene.

    Args:
        layout: Lattice, source, monitors, frequencies.
        scene: The batch.
        backend: One of `fdtd.backends.BACKENDS`.
        precision: "float32" or "float64"; the reference is always float64.
        threads: Antennas stepped at the same time by the CPU backend.
        fields: Keep the electric field of the whole lattice at the frequencies.
        sweep: S11 at so many frequencies across the band as well.
        snapshots: Keep the electric field of one antenna over time.
        stages: Where to add the seconds of each stage: `rasterise`, `step`, `transform`; on a device also `wait`, for
            the batch to be packed and for its turn.
        watch: Told of every look at the first antenna's energy.
        choose: Shown the media once they are rasterised; returns, in order, which antennas are to be solved at all.

    Returns:
        One solution an antenna, of those that were chosen.
    """
    marks = [time.perf_counter()]
    media = fill(layout, scene, ARRAYS[backend]())
    if choose is not None:
        media = media.of(choose(media))
        if media.batch == 0:
            return []
    problem, mode = pose(layout, media, _map(layout, media, fields), snapshots)
    marks.append(time.perf_counter())
    records = BACKENDS[backend](problem, precision, threads, watch)
    marks.append(time.perf_counter())
    many = 1 if isinstance(records.contour, list) else _TOGETHER
    groups = [slice(first, min(first + many, media.batch)) for first in range(0, media.batch, many)]
    solutions = [
        solution for group in groups for solution in _solutions(layout, problem, mode, records, group, fields, sweep)
    ]
    marks.append(time.perf_counter())
    if stages is not None:
        spent = dict(zip(("rasterise", "step", "transform"), np.diff(marks).tolist(), strict=True))
        if records.seconds is not None:
            spent |= {"wait": spent["step"] - records.seconds, "step": records.seconds}
        for name, seconds in spent.items():
            stages[name] = stages.get(name, 0.0) + seconds
    return solutions


def _map(layout: Layout, media: Media, fields: bool) -> FieldMap | None:
    """The box of cells whose field is needed: everything for a picture, the lossy bodies for the power lost.

    Those stand within the contour, on the feed as a rule. The box is the layout's, not the batch's: sums over other
    boxes round differently, and an antenna must have the same bits in any batch.
    """
    frequencies = np.array(layout.frequencies)
    if fields:
        return FieldMap(rows=(0, layout.nz), columns=(0, layout.nr), frequencies=frequencies)
    lossy = on_host((media.conductivity > 0).any(axis=(0, 1, 3)))
    if not lossy.any():
        return None
    bottom = layout.contour_bottom if lossy[: layout.origin].any() else layout.origin
    return FieldMap(
        rows=(bottom, layout.contour_top + 1), columns=(0, layout.contour_column + 1), frequencies=frequencies
    )


@lru_cache(maxsize=4)
def _transform(grid: AxisymmetricGrid, contour: HuygensContour, frequencies: tuple[float, ...]) -> FarFieldTransform:
    """Built once for all batches on a lattice."""
    return FarFieldTransform(grid, contour, np.array(frequencies), np.deg2rad(PATTERN_DEG))


def _spectrum(samples: np.ndarray, times: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """sum_n x_n exp(-jwt_n) of (batch, samples, numbers) records, (batch, F, numbers), in the records' library."""
    xp = library(samples)
    phase = 2 * np.pi * frequencies[:, None] * times
    waves = xp.asarray(np.concatenate([np.cos(phase), -np.sin(phase)]))
    if xp is np:  # one antenna at a time: products of other shapes and layouts may round differently
        sums = np.stack([waves @ np.ascontiguousarray(one, dtype=float) for one in samples])
    else:
        sums = waves @ samples.astype(float, order="C")
    return sums[:, : len(frequencies)] + 1j * sums[:, len(frequencies) :]


def _reflection(
    layout: Layout, mode: GuideMode, port: np.ndarray, frequencies: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Forward amplitude and S11 at z = 0 from port records (batch, samples, 2), each (batch, F)."""
    grid = layout.grid
    at_e, at_h = layout.sampling.sample_times(grid, port.shape[1])
    voltage = _spectrum(port[..., :1], at_e, frequencies)[..., 0]
    current = _spectrum(port[..., 1:], at_h, frequencies)[..., 0]
    forward, backward = modal_amplitudes(grid, mode, frequencies, voltage, current)
    travel = mode.phase_per_cell(grid, frequencies) * (layout.origin - layout.port_plane)
    return forward * np.exp(-1j * travel), backward / forward * np.exp(2j * travel)


def _guided(
    layout: Layout, mode: GuideMode, port: np.ndarray, frequencies: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One antenna's S11 at z = 0, incident wave and accepted power from its record (1, samples, 2), each (F,)."""
    forward, s11 = (one[0] for one in _reflection(layout, mode, port, frequencies))
    power = modal_power(layout.grid, mode, frequencies, forward)
    incident = np.sqrt(power) * np.exp(1j * np.angle(forward))
    return s11, incident, power * (1 - np.abs(s11) ** 2)


def _solutions(
    layout: Layout, problem: Problem, mode: GuideMode, records: Records, group: slice, fields: bool, sweep: int
) -> list[Solution]:
    """Turn the records of a part of the batch into spectra, powers and patterns.

    Records of a device are one array, zero after an antenna's own stop; all others are transformed one antenna at a
    time.
    """
    grid, frequencies = layout.grid, np.array(layout.frequencies)
    members = range(*group.indices(problem.media.batch))
    port, contour = (_stacked(part, group) for part in (records.port, records.contour))
    ports = [one[None] for one in on_host(port)[: len(members)]]
    at_e, at_h = layout.sampling.sample_times(grid, contour.shape[1])
    spectrum = _spectrum(contour, at_e, frequencies)
    later = library(contour).asarray(np.exp(-2j * np.pi * frequencies[:, None] * (at_h - at_e)[:1]))
    for (_, component), where in layout.contour.sections().items():
        if component.startswith("h"):
            spectrum[..., where] *= later
    a, b = (on_host(part) for part in _transform(grid, layout.contour, layout.frequencies)(spectrum))
    through = on_host(contour_power(layout.contour, spectrum))
    band = np.linspace(*_band(layout), sweep) if sweep else np.zeros(0)
    # One antenna at a time: complex arithmetic on arrays of other shapes may round differently.
    guided = [_guided(layout, mode, one, frequencies) for one in ports]
    swept = [_reflection(layout, mode, one, band)[1][0] if sweep else np.zeros(0, dtype=complex) for one in ports]
    radiated = [(np.abs(e) ** 2 + np.abs(h) ** 2) @ polar_weights(len(PATTERN_DEG)) for e, h in zip(a, b, strict=True)]
    lost, extras = _near_field(problem, records, members, fields)
    return [
        Solution(
            steps=int(records.steps[index]),
            energy=float(records.energy[index]),
            finite=bool(records.finite[index]),
            s11=guided[at][0],
            incident=guided[at][1],
            e_plane=a[at],
            h_plane=b[at],
            accepted=guided[at][2],
            radiated=radiated[at],
            through_contour=through[at],
            dissipated=lost[at],
            sweep_frequency=band,
            sweep_s11=swept[at],
            **extras[at],
        )
        for at, index in enumerate(members)
    ]


def _stacked(part: Any, group: slice) -> Any:
    """Records of a part of the batch as one array (batch, samples, numbers); a device's filled up with zeros.

    Products of matrices round differently for other shapes: an antenna must have the same bits in any batch.
    """
    if isinstance(part, list):
        return np.stack(part[group])
    found = library(part).zeros((_TOGETHER, *part.shape[1:]), part.dtype)
    found[: group.stop - group.start] = part[group]
    return found


def _near_field(
    problem: Problem, records: Records, members: range, fields: bool
) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Power lost in bodies, (batch, F), and what else was asked for, an antenna each."""
    kept, where = problem.snapshots, problem.field_map
    extras: list[dict[str, Any]] = [{} for _ in members]
    lost = np.zeros((len(members), 1))
    if records.field_map is not None and where is not None:
        lost = _dissipated(problem, where, records.field_map, slice(members.start, members.stop))
    for at, index in enumerate(members):
        if fields and records.field_map is not None:
            extras[at] = {
                "field": on_host(_unscaled(problem, records.field_map[index], index)),
                "permittivity": on_host(problem.media.permittivity[index, 1]),
                "metal": on_host(problem.media.open_length[index, 1] == 0),
            }
        if records.snapshots is not None and kept is not None and kept.antenna == index:
            extras[at]["snapshots"] = _frames(problem, kept, records.snapshots)
    return lost, extras


def _band(layout: Layout) -> tuple[float, float]:
    """Where the source has enough power for S11: the frequencies asked for, and a little around a single one."""
    low, high = min(layout.frequencies), max(layout.frequencies)
    spread = max(high - low, 0.05 * layout.pulse_centre) / 2
    middle = (low + high) / 2
    return middle - spread, middle + spread


def _unscaled(problem: Problem, sums: np.ndarray, index: int) -> np.ndarray:
    """E_r, E_phi, E_z from the sums of the stepped unknowns, complex (F, 3, rows, columns).

    On the axis the field of order 1 is E_phi = -E_r there, which is even in r: (9 E_r(d/2) - E_r(3d/2)) / 8.
    """
    where = problem.field_map
    if where is None:
        raise ValueError("the problem has no field map")
    rows, columns = slice(*where.rows), slice(*where.columns)
    field = sums[:, 0].astype(complex) + 1j * sums[:, 1]
    length = problem.media.open_length[index][:, rows, columns]
    field /= np.where(length > 0, length, 1.0)
    node = library(field).arange(*where.columns, dtype=float)
    field[:, 1] = np.where(node > 0, field[:, 1] / np.maximum(node, 1.0), 0.0)
    if where.columns[0] == 0 and problem.grid.azimuthal_order == 1:
        field[:, 1, :, 0] = -(9 * field[:, 0, :, 0] - field[:, 0, :, 1]) / 8
    return field


def _frames(problem: Problem, kept: Snapshots, frames: np.ndarray) -> np.ndarray:
    """E_r, E_phi, E_z from snapshots of the stepped unknowns, NaN where an edge lies in a conductor.

    On the axis E_phi of order 1 is minus the E_r half a cell beside it.
    """
    length = problem.media.open_length[kept.antenna][(slice(None), *kept.box)].astype(frames.dtype)
    node = np.arange(problem.grid.nr, dtype=frames.dtype)[kept.box[1]]
    scale = np.where(length > 0, length, np.nan)
    scale[1] *= np.where(node > 0, node, 1.0)
    field = frames / scale
    if kept.columns[0] == 0 and problem.grid.azimuthal_order == 1:
        field[:, 1, :, 0] = -field[:, 0, :, 0]
    return field


def _dissipated(problem: Problem, where: FieldMap, sums: np.ndarray, group: slice) -> np.ndarray:
    """Power lost in conductivity, (batch, F): sigma |E|^2 over each component's cells, with the lattice's time average.

    The sums are of open length times E, of E_phi also times its radius in cells.
    """
    xp, grid = library(sums), problem.grid
    rows, columns = slice(*where.rows), slice(*where.columns)
    length = problem.media.open_length[group, :, rows, columns]
    node = xp.arange(*where.columns, dtype=float)
    radial = np.stack([node + 0.5, np.where(node > 0, 1 / np.maximum(node, 1.0), 0.0), node])
    weight = problem.media.conductivity[group, :, rows, columns] / np.where(length > 0, length, 1.0) * radial[:, None]
    power = (sums[group].astype(float) ** 2).sum(axis=2)
    batch, frequencies = power.shape[:2]
    pairs = zip(power.reshape(batch, frequencies, -1), weight.reshape(batch, -1), strict=True)
    losses = np.stack([one @ its for one, its in pairs])
    return on_host(losses) * _IMPEDANCE * grid.cell * np.cos(np.pi * where.frequencies * grid.time_step)
