"""Rates of the schemes of antennas in space on a device: populations of patches, and one large box.

    python benchmarks/gpu_space.py [--cases patch] [--other FOLDER] [--json FILE]

Patches have absorbing layers of 8 cells on all faces, a lossy substrate, a port, samples of the box every 20 steps and
looks every 160. Schemes are timed by turns; a row has the median and half the range. `--other` is the folder of another
checkout, whose `one_step` is timed as well.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parents[1]
CASES: dict[str, dict[str, Any]] = {
    "patch": {"counts": (64, 64, 32), "batch": 256, "steps": {"one_step": 40, "resident": 480}},
    "small patch": {"counts": (52, 48, 38), "batch": 112, "steps": {"one_step": 40, "resident": 480}},
    "large patch": {"counts": (96, 112, 40), "batch": 64, "steps": {"one_step": 40, "resident": 480}},
    "box": {
        "counts": (256, 256, 256), "batch": 1, "steps": {"one_step": 60, "trapezoidal": 60}, "layers": 10,
        "every": 1000, "check": 10000,
    },
}  # fmt: skip


class Checkout(NamedTuple):
    """A package `fdtd`, and the place of its programs: packages do not share constant memory."""

    yee: Any
    packing: Any
    choice: Any
    device: Any
    place: int


def checkout(folder: Path, place: int) -> Checkout:
    """Import `fdtd` from a folder next to those imported before."""
    for name in [name for name in sys.modules if name.split(".")[0] == "fdtd"]:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        cuda, yee, packing, choice, text = (
            importlib.import_module(f"fdtd.backends.{name}")
            for name in ("cuda", "cuda.yee", "cuda.yee_packing", "cuda.yee_choice", "cuda.text")
        )
        kernels = str(folder / "fdtd")
        text.kernel_text = lambda name: Path(kernels, name).read_text("utf-8")  # type: ignore[attr-defined]
        return Checkout(yee, packing, choice, cuda.device(), place)
    finally:
        sys.path.remove(str(folder))


def patch(
    counts: tuple[int, int, int], layers: int = 8, every: int = 20, check: int = 160, steps: int = 10**5, shift: int = 0
) -> Any:
    """Pose a patch on a lossy substrate, or what of it a lattice holds, as the solver does; graded planes."""
    from fdtd.yee.grid import Grid
    from fdtd.yee.media import fill
    from fdtd.yee.ports import port_columns
    from fdtd.yee.problem import Problem, Sampling
    from fdtd.yee.scene import Block, Dielectric, LumpedPort, Scene, Sheet
    from fdtd.yee.simulation import HuygensBox, huygens_box

    bottom = layers + 4
    x, y = (
        np.concatenate([[0.0], np.cumsum(1.5e-3 * (1 + 0.1 * np.random.default_rng(count).random(count)))])
        for count in counts[:2]
    )
    heights = np.full(counts[2], 2.0e-3)
    heights[bottom : bottom + 4] = 0.4e-3
    z = np.concatenate([[0.0], np.cumsum(heights)])
    grid = Grid(x=x, y=y, z=z, layers=(layers,) * 6)
    low, high, edge, i, j = z[bottom], z[bottom + 4], layers + 6, counts[0] // 2, counts[1] // 2
    board = {"x": (x[edge], x[-1 - edge]), "y": (y[edge], y[-1 - edge])}
    scene = Scene(
        blocks=(
            Block(**board, z=(low, high), material=Dielectric(permittivity=3.38, conductivity=2e-3)),
            Block(**board, z=(low, low)),
        ),
        sheets=(Sheet(z=high, x=(x[i - 9 - shift], x[i + 9]), y=(y[j - 9], y[j + 9 + shift])),),
        port=LumpedPort(x=x[i - 4], y=y[j], z=(low, high)),
    )
    media = fill(scene, grid)
    assert scene.port is not None
    port = port_columns(scene.port, grid, media)
    lossy = np.nonzero(((media.conductivity > 0) & ~media.metal).ravel())[0]
    problem = Problem(
        grid=grid,
        media=port.loaded(media),
        box=np.concatenate([HuygensBox(grid, huygens_box(grid)).indices, lossy]),
        sampling=Sampling(steps=steps, record_every=every, check_every=check, decay=0.0),
    )
    return port.drive(problem, port.pulse(np.linspace(4e9, 7e9, 7)).samples(grid.dt))


def timed(batch: Any, cell_steps: float, steps: int) -> float:
    """Cell-steps a second of so many steps."""
    import cupy  # pyright: ignore[reportMissingImports]

    if batch.room() < steps:
        batch.take_samples([lambda first, block: None] * len(batch.antennas))
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    batch.advance(batch.steps + steps)
    end.record()
    end.synchronize()
    return 1e3 * cell_steps * steps / cupy.cuda.get_elapsed_time(start, end)


def compare(case: str, kernels: Sequence[tuple[str, Checkout, dict[str, Any]]], turns: int = 3) -> list[dict[str, Any]]:
    """Time kernels by turns.

    Args:
        case: One of `CASES`.
        kernels: Name, package, keywords of `Batch`.
        turns: Timings of each.
    """
    work = dict(CASES[case])
    count, steps = work.pop("batch"), work.pop("steps")
    cell_steps = float(count * np.prod(work["counts"]))
    problem, batches = patch(**work), {}
    for name, package, keywords in kernels:
        scheme = keywords.get("scheme", "one_step")
        if scheme in steps:
            given = () if scheme != "resident" else (package.choice.turn_of(problem, "float32", package.device.limits),)
            packed = package.packing.pack(problem, "float32", *given)
            batches[name] = package.yee.Batch(package.device, [packed] * count, "float32", package.place, **keywords)
            timed(batches[name], cell_steps, steps[scheme])
    taken: dict[str, list[float]] = {name: [] for name in batches}
    schemes = {name: keywords.get("scheme", "one_step") for name, _, keywords in kernels}
    for _ in range(turns):
        for name, batch in batches.items():
            taken[name].append(timed(batch, cell_steps, steps[schemes[name]]))
    made = []
    for name, rates in taken.items():
        median = statistics.median(rates)
        made.append({
            "case": case, "shape": list(work["counts"]), "layers": work.get("layers", 8), "batch": count,
            "scheme": schemes[name], "kernel": name, "steps": steps[schemes[name]], "cell_steps_per_s": median,
            "spread": (max(rates) - min(rates)) / 2 / median, "device": kernels[0][1].device.name,
        })  # fmt: skip
        print(f"{case:12s} {name:24s} {median / 1e9:7.1f} G  +- {made[-1]['spread']:.1%}", flush=True)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--other", type=Path, metavar="FOLDER")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    kernels: list[tuple[str, Checkout, dict[str, Any]]] = []
    if options.other:
        kernels.append(("one_step, other checkout", checkout(options.other, 1), {}))
    own = checkout(HERE, 0)
    kernels += [
        ("one_step", own, {}),
        ("resident", own, {"scheme": "resident"}),
        ("trapezoidal", own, {"scheme": "trapezoidal"}),
    ]
    made: list[dict[str, Any]] = []
    for case in options.cases:
        made += compare(case, kernels)
        if options.json:
            options.json.write_text(json.dumps({"rows": made}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
