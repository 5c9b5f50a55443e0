"""Fields and outlines of one solved antenna, for figures, films and files: plain arrays, SI, outside the absorbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.constants import epsilon_0, mu_0

from fdtd.axisymmetric.layout import Layout
from fdtd.axisymmetric.monitors import Snapshots
from fdtd.axisymmetric.scene import Scene, prepared
from fdtd.axisymmetric.simulation import Solution
from fdtd.backends import POLYGONS

_IMPEDANCE = math.sqrt(mu_0 / epsilon_0)
_OUTLINE_POINTS = 1200  # samples along the longer side of the picture, about
_FINEST = 8  # samples a cell
_BAND = 3.0  # steps around a surface in which its distance is kept
_FRAMES_PER_PERIOD = 8
_MOST_FRAMES = 300
_FILM_BYTES = 2**29
_FAINT = 0.02  # of the largest field: what is fainter before and after is left out


def field_of(layout: Layout, scene: Scene, index: int, solution: Solution) -> dict[str, Any]:
    """Electric field at the layout's frequencies on the nodes, with the geometry.

    E_r and E_z stand half a cell beside the nodes and are averaged from both sides, or taken from the one that is not
    inside a conductor. Scaled so that the wave coming in from the feed carries 1 W and has phase 0 (E along +x on the
    axis) in the plane z = 0.

    Args:
        layout: Of the solution.
        scene: The batch that it was solved in.
        index: Its place there.
        solution: Made with fields.

    Returns:
        `frequency_hz` (F,), `shown` (place of the frequency nearest the design's), `r_m` (nr,), `z_m` (nz,), `e`
        (complex amplitudes of E_r, E_phi, E_z in V/m, peak values, time convention exp(+jwt); (F, 3, nz, nr),
        complex64), `permittivity` and `metal` (nz, nr), `outlines`.

    Raises:
        ValueError: The solution was made without fields.
    """
    if solution.field is None or solution.permittivity is None or solution.metal is None:
        raise ValueError("the solution was made without fields")
    grid, frequencies = layout.grid, np.array(layout.frequencies)
    rows, columns = _inside(layout)
    watts = np.pi * grid.cell**2 / (2 * _IMPEDANCE)
    scale = 1 / (solution.incident * math.sqrt(watts))
    return {
        "frequency_hz": frequencies,
        "shown": int(np.argmin(np.abs(frequencies - layout.design_frequency))),
        "r_m": grid.r_nodes[columns],
        "z_m": grid.z_nodes[rows],
        "e": (on_nodes(solution.field)[:, :, rows, columns] * scale[:, None, None, None]).astype(np.complex64),
        "permittivity": solution.permittivity[rows, columns],
        "metal": solution.metal[rows, columns],
        "outlines": outlines_of(layout, scene, index),
    }


def on_nodes(field: np.ndarray) -> np.ndarray:
    """E_r, E_phi, E_z of order 1 on the nodes (i d, k d), from the lattice's (F, 3, nz, nr).

    Zero means inside a conductor and takes no part in an average. On the axis E_r is even: (9 E_r(d/2) - E_r(3d/2))/8.
    """
    out = field.copy()
    e_r, e_z = field[:, 0], field[:, 2]
    out[:, 0, :, 1:] = _mean(e_r[..., 1:], e_r[..., :-1])
    out[:, 0, :, 0] = np.where(e_r[..., 0] != 0, (9 * e_r[..., 0] - e_r[..., 1]) / 8, 0.0)
    out[:, 2, 1:] = _mean(e_z[:, 1:], e_z[:, :-1])
    return out


def _mean(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    there = (one != 0).astype(float) + (other != 0)
    return (one + other) / np.maximum(there, 1.0)


def outlines_of(layout: Layout, scene: Scene, index: int) -> dict[str, np.ndarray]:
    """Level sets of one antenna's bodies, sampled more finely than the cells, so that contours show true shapes.

    Returns:
        `r_m` (R,), `z_m` (Z,), and distances from the surface in m, positive inside, cut off a few samples away:
        `metal` (Z, R), all conductors together, and `dielectrics` (bodies, Z, R).
    """
    rows, columns = _inside(layout)
    nz, nr = rows.stop - rows.start, columns.stop - columns.start
    fine = min(max(math.ceil(_OUTLINE_POINTS / max(nr, nz)), 1), _FINEST)
    step = layout.cell / fine
    r_m = np.arange((nr - 1) * fine + 1) * step
    z_m = (rows.start - layout.origin) * layout.cell + np.arange((nz - 1) * fine + 1) * step
    r, z, antenna = r_m[None, :], z_m[:, None], np.array(index)
    nowhere = np.full((len(z_m), len(r_m)), -np.inf)

    def near(distance: np.ndarray) -> np.ndarray:
        return np.clip(distance, -_BAND * step, _BAND * step).astype(np.float32)

    metal, scene = nowhere, prepared(scene, np, POLYGONS)
    for conductor in scene.conductors:
        metal = np.maximum(metal, conductor(antenna, r, z))
    bodies = [near(np.broadcast_to(body.distance(antenna, r, z), nowhere.shape)) for body in scene.dielectrics]
    dielectrics = np.stack(bodies) if bodies else np.zeros((0, *nowhere.shape), np.float32)
    return {"r_m": r_m, "z_m": z_m, "metal": near(metal), "dielectrics": dielectrics}


def frames_wanted(layout: Layout) -> Snapshots:
    """Eight frames a period of the pulse's centre frequency, as many rows and columns as half a GiB holds.

    Of three columns, or five, the middle one is kept, so that those on both sides of the axis are as far apart as all.
    """
    rows, columns = _inside(layout)
    every = max(round(1 / (layout.pulse_centre * _FRAMES_PER_PERIOD * layout.grid.time_step)), 1)
    frames = min(max(layout.steps // every, 1), _MOST_FRAMES)
    cells = (rows.stop - rows.start) * (columns.stop - columns.start)
    stride = math.ceil(math.sqrt(frames * 3 * 4 * cells / _FILM_BYTES)) // 2 * 2 + 1
    first = stride // 2
    return Snapshots(
        every=every, frames=frames, rows=(rows.start, rows.stop), columns=(first, columns.stop), stride=stride
    )


def film_of(layout: Layout, scene: Scene, solution: Solution, kept: Snapshots) -> dict[str, Any]:
    """The pulse on its way: E_x in the E plane over time, without the faint beginning and end.

    In the plane phi = 0 the component along the feed's polarisation is E_r, on both sides of the axis.

    Returns:
        `time_s` (frames,), `r_m` (nr,) half a cell beside the nodes, `z_m` (nz,), `e_x` (frames, nz, nr) of arbitrary
        unit, float32, NaN in conductors, `outlines`.

    Raises:
        ValueError: The solution was made without snapshots.
    """
    if solution.snapshots is None:
        raise ValueError("the solution was made without snapshots")
    grid, (rows, columns) = layout.grid, kept.box
    e_x = solution.snapshots[:, 0].astype(np.float32)
    times = (np.arange(len(e_x)) + 1) * kept.every * grid.time_step
    largest = np.nanmax(np.abs(e_x), axis=(1, 2), initial=0.0)
    bright = np.flatnonzero(largest > _FAINT * largest.max(initial=0.0))
    shown = slice(bright[0], bright[-1] + 1) if len(bright) else slice(0, len(e_x))
    return {
        "time_s": times[shown],
        "r_m": grid.r_halves[columns],
        "z_m": grid.z_nodes[rows],
        "e_x": e_x[shown],
        "outlines": outlines_of(layout, scene, kept.antenna),
    }


def _inside(layout: Layout) -> tuple[slice, slice]:
    """Rows and columns outside the absorbing layers."""
    n = layout.layer_cells
    return slice(n, layout.nz - n), slice(0, layout.nr - n)
