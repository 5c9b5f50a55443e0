"""Rates of one large 3-D lattice on one and on several devices of this host, and whether the bits are equal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from antennaopt.bench.runner import Log, rates, typical
from fdtd.farfield.box import HuygensBox
from fdtd.yee.grid import Grid
from fdtd.yee.media import Media
from fdtd.yee.mesh import huygens_box
from fdtd.yee.problem import Probe, Problem, Sampling, Source

LAYERS = 10
"""Cells of the absorbing layers, on all faces."""
SAMPLED, LOOKED = 50, 200
"""Steps between samples of the Huygens box, and between looks at the energy."""
_CELL_STEPS = 20e9  # of one timing, about
_CELL = 1e-3  # m
_BLOCK = 8  # the dielectric block is an eighth of a side


def cube(size: int, steps: int) -> Problem:
    """Return `open_box` with `size` cells along each side, layers of `LAYERS` cells included."""
    return open_box((size, size, size), LAYERS, steps)


def open_box(counts: tuple[int, int, int], layers: int, steps: int, driven: int | None = None) -> Problem:
    """Pose a column of driven edges with its voltage, next to a block of a lossy dielectric, in open space.

    The block and the column stand across the planes at a quarter, a half and three quarters of the height.

    Args:
        counts: Cells along x, y, z, layers included.
        layers: Cells of the absorbing layers, on all faces.
        steps: Step limit.
        driven: Edges of the column, in its middle; three fifths of the height if None.
    """
    x, y, z = (_CELL * np.arange(count + 1) for count in counts)
    grid = Grid(x=x, y=y, z=z, layers=(layers, layers, layers, layers, layers, layers))
    shape = (3, *grid.shape)
    permittivity, conductivity = np.ones(shape, np.float32), np.zeros(shape, np.float32)
    nx, ny, nz = counts
    thick = [max(count // _BLOCK, 2) for count in counts]
    along_y, along_x = slice(ny // 2 + 2, ny // 2 + 2 + thick[1]), slice(nx // 2, nx // 2 + thick[0])
    block = np.s_[:, nz // 5 : 4 * nz // 5, along_y, along_x]
    permittivity[block], conductivity[block] = 2.53, 1e-3
    metal = ~np.stack([grid.inside(name) for name in ("e_x", "e_y", "e_z")])
    column = np.arange(nz // 5, 4 * nz // 5)
    if driven is not None:
        column = nz // 2 - driven // 2 + np.arange(driven)
    places = (np.full_like(column, 2), column, np.full_like(column, ny // 2), np.full_like(column, nx // 2))
    points = np.stack(places, axis=-1)
    return Problem(
        grid=grid,
        media=Media(permittivity=permittivity, conductivity=conductivity, metal=metal),
        sampling=Sampling(steps=steps, record_every=SAMPLED, check_every=LOOKED),
        source=Source(
            points=points,
            gains=np.full(len(column), 1 / _CELL),
            waveform=np.sin(0.2 * np.arange(steps)) * np.exp(-(((np.arange(steps) - 60) / 25) ** 2)),
        ),
        probe=Probe(points=points, weights=np.full((1, len(column)), _CELL)),
        box=HuygensBox(grid, huygens_box(grid)).indices,
    )


def bench_devices(
    counts: Sequence[int],
    sizes: Sequence[int],
    *,
    precision: str = "float32",
    repeat: int = 5,
    steps: int | None = None,
    told: Log | None = None,
) -> list[dict[str, Any]]:
    """Time a cube on several numbers of devices: layers, source, sums, samples and looks are on.

    Args:
        counts: Numbers of devices.
        sizes: Cells along a side.
        precision: "float32" or "float64".
        repeat: Timings of each, of which the median.
        steps: Of one timing; a multiple of `LOOKED`, by the size if None.
        told: Gets a line for each row.

    Returns:
        Rows as `bench_kernels` makes them, with `devices` (0 is `one_step` on one device, as batches are stepped),
        `planes` of each, `ratio_to_one_device`, over the faster form on one device, and `same_bits`: whether fields,
        sums, energy and samples equal those of `one_step` on one device.

    Raises:
        ConfigError: A cube has too few planes.
        DeviceError: There are fewer devices, or too little memory.
    """
    rows = []
    for size in sizes:
        for row in _rows(size, counts, precision, repeat, steps):
            rows.append(row)
            if told is not None:
                name = f"devices {row['devices']}" if row["devices"] else "one device, launch by launch"
                told(
                    f"{size}^3, {name}: {row['cell_steps_per_s'] / 1e9:.1f} G cell-steps/s (+-{row['spread']:.1%}), "
                    f"{row['ratio_to_one_device']:.2f} x, bits {'equal' if row['same_bits'] else 'DIFFER'}"
                )
    return rows


def _rows(size: int, counts: Sequence[int], precision: str, repeat: int, steps: int | None) -> Iterator[dict[str, Any]]:
    from fdtd.backends import cuda
    from fdtd.backends.cuda import yee
    from fdtd.backends.cuda.yee_packing import pack
    from fdtd.backends.cuda.yee_slabs import cuts
    from fdtd.backends.cuda.yee_split import Split

    steps = steps or max(LOOKED, int(_CELL_STEPS / size**3) // LOOKED * LOOKED)
    packed = pack(cube(size, steps * (repeat + 1)), precision)
    for count in counts:
        cuts(packed, count)  # before anything is timed
    base, expected = 0.0, None
    for count in sorted({0, 1, *counts}):
        devices = cuda.device_set(max(count, 1))
        batch = Split(devices, packed, precision) if count else yee.Batch(devices.devices[0], [packed], precision)
        batch.running()

        def timed(batch: Any = batch, wait: Callable[[], None] = devices.synchronize) -> float:
            if batch.room() < steps:
                batch.take_samples([lambda first, block: None])
            start = time.perf_counter()
            batch.advance(batch.steps + steps)
            wait()
            return size**3 * steps / (time.perf_counter() - start)

        timed()  # compile, capture, and touch the memory
        measured = [timed() for _ in range(repeat)]
        found = _left(batch)
        expected = expected or found
        base = max(base, typical(measured)[0]) if count < 2 else base
        yield {
            "stencil": "yee3d",
            "scheme": "one_step",
            "backend": "cuda",
            "device": devices.name,
            "dtype": precision,
            "shape": [size] * 3,
            "layers": LAYERS,
            "batch": 1,
            "steps": steps,
            "devices": count,
            "planes": [slab.count for slab in batch.slabs] if isinstance(batch, Split) else [size + 1],
            "peer_copies": devices.peers,
            **rates(measured, None),
            "ratio_to_one_device": typical(measured)[0] / base,
            "same_bits": all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True)),
        }
        del batch, timed
        devices.release()


def _left(batch: Any) -> list[np.ndarray]:
    """Return the fields, sums, energies and samples that a batch of one antenna left."""
    blocks: list[np.ndarray] = []
    (records,) = batch.records(final=True)
    batch.take_samples([lambda first, block: blocks.append(block)])
    return [records.final, records.sums, records.energy, *blocks]
