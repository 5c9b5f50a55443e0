"""Random problems that use everything the contract allows, on small odd grids."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from unittest.mock import patch

import numpy as np

from fdtd.axisymmetric.grid import AxisymmetricGrid, courant_limit
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.monitors import FieldMap, HuygensContour, PortMonitor, Sampling
from fdtd.axisymmetric.problem import ModalSource, Problem, Records
from fdtd.backends import reference
from fdtd.backends.reference import Stepper
from fdtd.cpml import AxialLayer, RadialLayer

CELL = 0.3e-3
CENTRE = 2 * np.pi * 30e9
PORT_WIDTHS = (16, 17, 20, 32, 33, 36)
"""Columns of ports about half a warp and a warp: at 3.6 mm, 18 columns are cells of 0.2 mm and 36 of 0.1 mm."""


def random_problem(
    seed: int,
    order: int,
    batch: int = 1,
    *,
    shape: tuple[int, int] = (27, 41),
    feed: int = 7,
    steps: int = 360,
    decay: float = 0.0,
    start: bool = True,
    lossy: bool = False,
    own_feeds: bool = False,
    axis_permeability: float = 1.0,
) -> Problem:
    """Random media, metal with cut edges, layers on all sides and in the feed, source, port, contour and field map.

    Args:
        seed: Fixes everything.
        order: Azimuthal order m.
        batch: Antennas; their media differ.
        shape: (nr, nz).
        feed: Columns of the feed, so of source and port; at most 7 or nr - 20.
        steps: Step limit, a multiple of 40.
        decay: Energy stop; 0 runs all steps.
        start: Begin with random fields instead of zero.
        lossy: Loss everywhere, growing with the place in the batch, so that every antenna decays at a rate of its own.
        own_feeds: Each antenna has its own source profile and port weights.
        axis_permeability: Of H_z in the column at the axis; the time step grows with the limit.
    """
    rng = np.random.default_rng(seed)
    nr, nz = shape
    assert feed <= max(7, nr - 20), "the contour lies within the feed's wall"
    limit = courant_limit(order, axis_permeability=axis_permeability)
    orders = {"azimuthal_order": order, "axis_permeability": axis_permeability}
    grid = AxisymmetricGrid(nr=nr, nz=nz, cell=CELL, origin=13, courant_number=0.9 * limit, **orders)
    media = random_media(rng, batch, nr, nz, feed)
    if lossy:
        loss = np.arange(1, batch + 1)[:, np.newaxis, np.newaxis, np.newaxis] * rng.uniform(0.02, 0.04)
        media = dataclasses.replace(media, conductivity=media.conductivity + loss)
    times = (np.arange(steps // 2) + 0.5) * grid.time_step
    pulse = np.sin(CENTRE * times) * np.exp(-(((times - 6e-11) / 2e-11) ** 2))
    columns = (rng.standard_normal((batch, feed) if own_feeds else feed) for _ in range(6))
    profile_r, profile_phi, v_r, v_phi, c_r, c_phi = columns
    profile_phi[..., 0] = 0.0
    return Problem(
        grid=grid,
        media=media,
        sampling=Sampling(record_every=5, check_every=40, steps=steps, decay=decay, settled=320),
        radial_layer=RadialLayer(cells=6, strength=0.8, kappa=1.7, alpha=0.1 * CENTRE),
        axial_layers=(
            AxialLayer(inner=5, outer=0, columns=nr, strength=0.9, kappa=1.3, alpha=0.1 * CENTRE),
            AxialLayer(inner=nz - 6, outer=nz, columns=nr, alpha=0.2 * CENTRE),
            AxialLayer(inner=11, outer=7, columns=feed, strength=0.7, alpha=0.05 * CENTRE),
        ),
        source=ModalSource(plane=14, profile_r=profile_r, profile_phi=profile_phi, waveform=pulse),
        port=PortMonitor(plane=16, v_r=v_r, v_phi=v_phi, c_r=c_r, c_phi=c_phi),
        contour=HuygensContour(column=nr - 9, bottom=8, top=nz - 9),
        field_map=FieldMap(rows=(3, nz - 4), columns=(0, nr - 3), frequencies=np.array([25e9, 31e9])),
        initial=random_fields(rng, grid, media) if start else None,
    )


def random_media(rng: np.random.Generator, batch: int, nr: int, nz: int, feed: int) -> Media:
    """Permittivity 1 to 4 in patches, some of it lossy; metal blobs with cut edges and faces; the feed's tube.

    The tube stands around the feed's absorber and behind it: a layer that ends sideways in the open is not stable.
    """
    patches = rng.uniform(1.0, 4.0, (batch, 3, 1 + nz // 5, 1 + nr // 5))
    permittivity = np.repeat(np.repeat(patches, 5, axis=2), 5, axis=3)[:, :, :nz, :nr]
    lossy = rng.uniform(size=permittivity.shape) < 0.3
    conductivity = np.where(lossy, rng.uniform(0.0, 2.0, permittivity.shape), 0.0)
    open_length = np.ones_like(permittivity)
    for b in range(batch):
        for _ in range(4):
            k, i = int(rng.integers(0, nz - 4)), int(rng.integers(8, nr - 3))
            box = (slice(k, k + int(rng.integers(1, 6))), slice(i, i + int(rng.integers(1, 4))))
            inside = rng.uniform() < 0.5  # no whole edge inside: the faces are cut as well
            shape = open_length[(b, 0, *box)].shape
            open_length[(b, 0, *box)] = rng.choice([0.0, 0.5, 0.8] if inside else [0.0, 0.5, 0.8, 1.0], shape)
            open_length[(b, 1, *box)] = 0.0 if inside else rng.choice([0.0, 1.0], shape)
            open_length[(b, 2, *box)] = rng.choice([0.0, 0.6, 0.9] if inside else [0.0, 0.6, 0.9, 1.0], shape)
    open_length[..., nr - 7 :] = 1.0  # conductors stay out of the radial layer
    tube, back = np.s_[:, :, 6:19, feed : feed + 2], np.s_[:, :2, 6:8, : feed + 2]
    open_length[tube] = 0.0
    open_length[back] = 0.0
    open_length[:, 2, 6:7, : feed + 2] = 0.0
    return Media(
        permittivity=permittivity,
        conductivity=conductivity,
        open_length=open_length,
        open_area=_open_area(open_length),
        coupling=_coupling(rng, open_length),
    )


def _coupling(rng: np.random.Generator, open_length: np.ndarray) -> np.ndarray:
    """Entries at a tenth of the nodes that no conductor touches, inside the contour and outside the layers."""
    nz, nr = open_length.shape[2:]
    free = (open_length[:, 0] == 1) & (open_length[:, 2] == 1)
    free[:, :, 1:] &= open_length[:, 0, :, :-1] == 1
    free[:, 1:] &= open_length[:, 2, :-1] == 1
    free[:, :, [0, *range(nr - 11, nr)]] = False
    free[:, [*range(13), *range(nz - 11, nz)]] = False
    chosen = free & (rng.uniform(size=free.shape) < 0.1)
    return np.where(chosen, rng.uniform(-0.08, 0.08, free.shape), 0.0)


def _open_area(open_length: np.ndarray) -> np.ndarray:
    """The longest open edge of each face, which keeps the time step of the whole cells; 1 where none is open."""
    e_r, e_phi, e_z = np.moveaxis(np.pad(open_length, ((0, 0), (0, 0), (0, 1), (0, 1))), 1, 0)
    here, above, outside = np.s_[:, :-1, :-1], np.s_[:, 1:, :-1], np.s_[:, :-1, 1:]
    h_r = np.maximum.reduce([e_phi[here], e_phi[above], e_z[here]])
    h_phi = np.maximum.reduce([e_r[here], e_r[above], e_z[here], e_z[outside]])
    h_z = np.maximum.reduce([e_r[here], e_phi[here], e_phi[outside]])
    area = np.stack([h_r, h_phi, h_z], axis=1)
    return np.where(area > 0, area, 1.0)


def random_fields(rng: np.random.Generator, grid: AxisymmetricGrid, media: Media) -> np.ndarray:
    """Fields of unit size that obey walls, conductors and the axis rules, stored unknowns, shape (batch, 6, nz, nr)."""
    fields = rng.standard_normal((media.batch, 6, grid.nz, grid.nr))
    fields[:, 1] *= np.arange(grid.nr)
    fields[:, 4] *= np.arange(grid.nr) + 0.5
    fields[:, :3] *= media.open_length > 0
    fields[:, :2, 0] = 0.0
    fields[:, 5, 0] = 0.0
    on_axis = (1, 3) if grid.azimuthal_order == 0 else (1, 2, 3)
    fields[:, on_axis, :, 0] = 0.0
    return fields


def part(problem: Problem, antennas: list[int]) -> Problem:
    """The same problem with only these antennas of the batch, in this order."""
    media = Media(**{f.name: getattr(problem.media, f.name)[antennas] for f in dataclasses.fields(Media)})
    initial = None if problem.initial is None else problem.initial[antennas]
    return dataclasses.replace(problem, media=media, initial=initial)


def oracle(problem: Problem) -> tuple[Records, np.ndarray]:
    """The oracle's results, and the largest magnitude of each component and antenna on the way, shape (batch, 6)."""
    peak = np.zeros((problem.media.batch, 6))

    class Watched(Stepper):
        def step(self) -> None:
            super().step()
            np.maximum(peak, np.abs(self.stored()).max(axis=(2, 3)), out=peak)

    with patch.object(reference, "Stepper", Watched):
        return reference.run(problem), peak


def error(measured: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference over the largest magnitude expected."""
    return float(np.abs(np.asarray(measured, dtype=float) - expected).max() / np.abs(expected).max())


def worst(errors: Iterable[float]) -> float:
    """The largest; NaN if any is, which `max` may overlook."""
    return float(np.max(list(errors)))


def record_errors(measured: Records, expected: Records) -> dict[str, float]:
    """Largest relative error of each kind of record over the batch, NaN if any is; the field map by component."""
    assert measured.field_map is not None and expected.field_map is not None
    batch = range(len(expected.steps))
    maps = [(measured.field_map[b, :, :, c], expected.field_map[b, :, :, c]) for b in batch for c in range(3)]
    return {
        "port": worst(error(measured.port[b], expected.port[b]) for b in batch),
        "contour": worst(error(measured.contour[b], expected.contour[b]) for b in batch),
        "field_map": worst(error(*pair) for pair in maps if np.abs(pair[1]).max() > 0),
        "energy": float(np.abs(measured.energy / expected.energy - 1).max()),
    }
