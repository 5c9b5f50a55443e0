"""Solve a scene on a layout: S11, far field and powers, a batch of antennas at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fdtd import backends
from fdtd.arrays import library, together_on_host
from fdtd.axisymmetric.conductors import open_parts
from fdtd.axisymmetric.layout import Layout, check_bodies, check_samples
from fdtd.axisymmetric.media import Media, compensate_dispersion, effective_permittivity
from fdtd.axisymmetric.modes import Guides, ModePlane, mode_map
from fdtd.axisymmetric.monitors import FieldMap, PortMonitor, Snapshots
from fdtd.axisymmetric.ports import GuideMode, lowest_te_mode
from fdtd.axisymmetric.problem import ModalSource, Problem, Watch
from fdtd.axisymmetric.rims import edge_conditions
from fdtd.axisymmetric.scene import Scene, prepared
from fdtd.axisymmetric.solution import Solution, Solutions
from fdtd.axisymmetric.solutions import solutions
from fdtd.backends import ARRAYS, BACKENDS

__all__ = ["Hooks", "Keep", "Solution", "Solutions", "fill", "pose", "solve"]

PREPARING = threading.Lock()
"""Threads that share a device prepare one batch at a time: two at once would both be late, and the device idle."""


def fill(layout: Layout, scene: Scene, xp: Any = np) -> Media:
    """Rasterise a scene on a layout's lattice.

    A conducting plate across the feed, in the plane where its absorber ends, keeps the absorber closed and its cells
    whole wherever the back wall falls between lattice planes; what stands behind the absorber does not matter.

    Args:
        layout: The lattice.
        scene: The batch.
        xp: Array library that the media are made with.
    """
    check_bodies(layout, scene)
    grid = layout.grid
    if layout.own_feeds and scene.same_metal:  # looked at where all batches are: an antenna has the same bits alone
        scene = replace(scene, same_metal=False)
    scene = prepared(scene, xp, backends.POLYGONS)
    open_parts_of, rims_of, bodies = None, None, None
    if xp is not np:
        open_parts_of, rims_of, bodies = backends.open_parts, backends.rims, backends.bodies(grid, scene)
    permittivity, conductivity, coupling = effective_permittivity(
        grid, scene, layout.design_frequency, coupled=layout.surfaces == "full", xp=xp, compiled=bodies
    )
    if scene.dielectrics:
        _compensate_dispersion(layout, permittivity)
    open_length, open_area = open_parts(grid, scene, xp, open_parts_of)
    edge_conditions(grid, scene, permittivity, open_length, open_area, rims_of, bodies)
    _close_feed(layout, open_length, open_area)
    return Media(
        permittivity=permittivity,
        conductivity=conductivity,
        open_length=np.broadcast_to(open_length, permittivity.shape),
        open_area=np.broadcast_to(open_area, permittivity.shape),
        coupling=None if coupling is None else np.where(_free(open_length), coupling, 0.0),
    )


def _compensate_dispersion(layout: Layout, permittivity: np.ndarray) -> None:
    """Lower the permittivity of dielectrics but for what fills the feed, in place.

    That is the same for all components, so that the lattice carries pure TE and TM modes.
    """
    feed = np.s_[:, :, : layout.origin + 1, : layout.feed_columns + 1]
    as_it_is = permittivity[feed].copy()
    compensate_dispersion(layout.grid, permittivity, layout.design_frequency)
    filled = np.abs(as_it_is - as_it_is[:, :1, layout.source_plane, 0][:, :, None, None]) < 1e-9
    permittivity[feed] = np.where(filled, as_it_is, permittivity[feed])


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
    layout: Layout,
    media: Media,
    field_map: FieldMap | None = None,
    snapshots: Snapshots | None = None,
    *,
    few: bool = False,
) -> tuple[Problem, tuple[GuideMode, ...]]:
    """Return the initial-value problem of a batch, and the mode that drives each antenna.

    Where the feed is the same for the whole batch, the first antenna's shows it. `few` is as in `Problem`.
    """
    grid, plane = layout.grid, layout.source_plane
    modes = _feed_modes(layout, media)
    *outer, absorber = layout.axial_layers
    port: PortMonitor | None = modes[0].monitor(layout.port_plane)
    profile_r, profile_phi = modes[0].e_r, modes[0].e_phi
    if layout.own_feeds:
        ports = [one.monitor(layout.port_plane) for one in modes]
        widest = layout.feed_columns + 1
        profile_r, profile_phi = (_padded([getattr(one, name) for one in modes], widest) for name in ("e_r", "e_phi"))
        weights = {name: _padded([getattr(one, name) for one in ports], widest) for name in _WEIGHTS}
        port = PortMonitor(plane=layout.port_plane, **weights)
    else:
        absorber = replace(absorber, columns=len(profile_r))  # as wide as the guide is on the lattice
    source = ModalSource(
        plane=plane, profile_r=profile_r, profile_phi=profile_phi, waveform=layout.pulse.samples(grid.time_step)
    )
    problem = Problem(
        grid=grid,
        media=media,
        sampling=layout.sampling,
        radial_layer=layout.radial_layer,
        axial_layers=(*outer, absorber),
        source=source,
        port=port,
        contour=layout.contour,
        field_map=field_map,
        snapshots=snapshots,
        few=few,
        metal=layout.metal,
    )
    return problem, modes


_WEIGHTS = ("v_r", "v_phi", "c_r", "c_phi")  # of a port


def _feed_modes(layout: Layout, media: Media) -> tuple[GuideMode, ...]:
    """Return the mode of each antenna's feed; one object for feeds that are the same on the lattice."""
    xp, plane = library(media.open_length), layout.source_plane
    seen = slice(None) if layout.own_feeds else slice(1)
    shown = xp.stack([part[seen, :, plane] for part in (media.open_length, media.open_area)], axis=1)
    rows, fillings = together_on_host(shown, media.permittivity[seen, 0, plane, 0])
    filled = fillings.tolist()
    known: dict[tuple[bytes, float], GuideMode] = {}
    for row, permittivity in zip(rows, filled, strict=True):
        if (row.tobytes(), permittivity) not in known:
            mode = lowest_te_mode(layout.grid, *row)
            known[row.tobytes(), permittivity] = replace(mode, permittivity=permittivity)
    found = tuple(known[row.tobytes(), permittivity] for row, permittivity in zip(rows, filled, strict=True))
    return found if layout.own_feeds else found * media.batch


def _padded(rows: Sequence[np.ndarray], columns: int) -> np.ndarray:
    """Stack rows of different lengths, zero beyond their ends, (rows, columns)."""
    found = np.zeros((len(rows), columns))
    for place, row in enumerate(rows):
        found[place, : len(row)] = row
    return found


@dataclass(frozen=True, kw_only=True)
class Keep:
    """Contents of a solution beyond the figures at the layout's frequencies.

    Attributes:
        fields: Electric field of the whole lattice at the frequencies, permittivity and metal.
        sweep: Number of frequencies across the band at which S11 is kept as well.
        snapshots: Electric field of one antenna over time.
        losses: Power lost in lossy bodies. It takes the field in all of them, which costs a third of all stepping.
        modes: Planes in which modes of order 1 are measured, one at most of which is the port's.
    """

    fields: bool = False
    losses: bool = True
    sweep: int = 0
    snapshots: Snapshots | None = None
    modes: tuple[ModePlane, ...] = ()

    @property
    def power_lost(self) -> bool:
        """Whether lost power is computed: a picture's field has it too. A search, whose antennas are many, does not."""
        return self.losses or self.fields


@dataclass(frozen=True, kw_only=True)
class Hooks:
    """Functions that `solve` calls, and a table that it fills.

    Attributes:
        stages: Where to add the seconds of each stage: `rasterise`, `step`, `transform`; on a device also `wait`, for
            the batch to be packed and for its turns.
        watch: Called at every look at the first antenna's energy.
        choose: Called with the media once they are rasterised; returns, in order, which antennas to solve.
    """

    stages: dict[str, float] | None = None
    watch: Watch | None = None
    choose: Callable[[Media], Sequence[int]] | None = None


_FIGURES, _NO_HOOKS = Keep(), Hooks()


def solve(
    layout: Layout,
    scene: Scene,
    *,
    backend: str = "cpu",
    precision: str = "float32",
    threads: int = 1,
    keep: Keep = _FIGURES,
    hooks: Hooks = _NO_HOOKS,
) -> Solutions:
    """Solve every antenna of a scene.

    Args:
        layout: Lattice, source, monitors, frequencies.
        scene: The batch.
        backend: One of `fdtd.backends.BACKENDS`.
        precision: "float32" or "float64"; the reference is always float64.
        threads: Antennas stepped at the same time by the CPU backend.
        keep: What solutions hold beyond figures.
        hooks: What is called and filled on the way.

    Returns:
        One solution an antenna, of those that were chosen.

    Raises:
        ConfigError: The last step comes before the first sample of the fields.
    """
    check_samples(layout)
    with backends.ahead(backend):
        called = time.perf_counter()
        with PREPARING:
            marks = [time.perf_counter()]
            media = fill(layout, scene, ARRAYS[backend]())
            guides = Guides.of(layout, scene, keep.modes) if keep.modes else None
            if hooks.choose is not None:
                places = hooks.choose(media)
                media, guides = media.of(places), guides and guides.chosen(places)
                if media.batch == 0:
                    return Solutions(columns={"steps": np.zeros(0, dtype=int)}, sweep_frequency=np.zeros(0))
            problem, feeds = pose(layout, media, field_map_of(layout, media, keep), keep.snapshots, few=keep.power_lost)
        marks.append(time.perf_counter())
        records = BACKENDS[backend](problem, precision, threads, hooks.watch)
        marks.append(time.perf_counter())
        solved = solutions(
            layout, problem, feeds, records, fields=keep.fields, sweep=keep.sweep, losses=keep.power_lost, guides=guides
        )
        marks.append(time.perf_counter())
        if hooks.stages is not None:
            spent: dict[str, float] = dict(
                zip(("rasterise", "step", "transform"), np.diff(marks).tolist(), strict=True)
            )
            if records.seconds is not None:
                spent |= {"wait": marks[0] - called + spent["step"] - records.seconds, "step": records.seconds}
            for name, seconds in spent.items():
                hooks.stages[name] = hooks.stages.get(name, 0.0) + seconds
        return solved


def field_map_of(layout: Layout, media: Media, keep: Keep) -> FieldMap | None:
    """Return the box of cells whose field is needed: everything for a picture, the lossy bodies for the power lost.

    Those stand within the contour, on the feed as a rule; and the guides in which modes are measured. The box is the
    layout's, not the batch's: sums over other boxes round differently, and an antenna must have the same bits in any
    batch.
    """
    frequencies = np.array(layout.frequencies)
    if keep.fields:
        return FieldMap(rows=(0, layout.nz), columns=(0, layout.nr), frequencies=frequencies)
    lossy = media.spans.lossy_rows
    if not (keep.losses and lossy.any()):
        return mode_map(layout, keep.modes, None)
    bottom = layout.contour_bottom if lossy[: layout.origin].any() else layout.origin
    box = FieldMap(
        rows=(bottom, layout.contour_top + 1), columns=(0, layout.contour_column + 1), frequencies=frequencies
    )
    return mode_map(layout, keep.modes, box)
