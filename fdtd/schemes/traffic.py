"""The seed's model of a tile: shared memory, traffic and work in floats, and the best tile under a memory limit.

A tile of height H, width W and depth T (time steps) is stepped by approach 1 (2-D tiles, T = 1), 4 (time skewing with
time tiling) or 5 (redundant computation). With V variables a computed cell, L a cell that is only read, C coefficients
a cell, h = H + 2 (T - 1), w = W + 2 (T - 1), and

    skin_4 = V ((H + W - 1) T + (H - 1)(W - 1)) + C (H W + (T - 1)(H + W - 1))

    mem_1  = 2 L (H + W) + (V + C) H W                                                    comm_1 = mem_1 + V H W
    mem_4  = L ((H + W + 2) T + (H + W - 2)(T - 1)) + skin_4
    comm_4 = L ((H + W + 2) T + (H + W - 2)) + skin_4 + V ((2 (H + W) - 4)(T - 1) + H W)
    mem_5  = 2 L (h + w) + (V + C) h w                                                    comm_5 = mem_5 + V H W
    work   = V H W T,

the best tile is the one of the largest work / comm among those with mem <= M. `tabulated` formulas are those that give
every figure printed in the seed's table; where they differ from the printed ones is in
`docs/decisions/0011-tile-model.md`.

References:
    Barigou, Acceleration of real-life stencil codes on GPUs (2011), section 4.3 and figures 15 and 37.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fdtd.errors import ConfigError

APPROACHES = (1, 4, 5)
FORMULAS = ("printed", "tabulated")
LARGEST_MEMORY = 2**24  # floats; the search is exact and stays below a second

Count = TypeVar("Count", int, np.ndarray)


@dataclass(frozen=True, kw_only=True)
class Region:
    """Number of floats of a cell in one region of the grid.

    Attributes:
        variables: Of a cell that is computed, V.
        halo_variables: Of a cell that is only read, L.
        coefficients: Constant in time, C.
    """

    variables: int
    halo_variables: int
    coefficients: int


@dataclass(frozen=True, kw_only=True)
class Tile:
    """A tile and its figures by the model.

    Attributes:
        approach: 1, 4 or 5.
        height: Cells, the smaller side.
        width: Cells.
        depth: Time steps.
        memory: Shared memory, floats.
        traffic: Floats read from and written to global memory.
        work: Floats computed that are of use.
        ratio: Work over traffic.
    """

    approach: int
    height: int
    width: int
    depth: int
    memory: int
    traffic: int
    work: int
    ratio: float


def regions(frequencies: int = 5, formulas: str = "printed") -> dict[str, Region]:
    """The regions of the seed's grid, figure 15.

    Args:
        frequencies: Of the running DFT, which keeps 24 floats a frequency and cell.
        formulas: "printed", or "tabulated": with the DFT's sums counted as coefficients, and no others.

    Raises:
        ConfigError: There is no such number of frequencies.
    """
    if not 1 <= frequencies <= 10_000:
        raise ConfigError(f"frequencies = {frequencies} is not possible (allowed: 1 to 10000)")
    sums = 24 * frequencies
    dft = Region(variables=6 + sums, halo_variables=2, coefficients=20)
    if _known(formulas) == "tabulated":
        dft = Region(variables=6, halo_variables=2, coefficients=sums)
    return {
        "pml": Region(variables=18, halo_variables=2, coefficients=44),
        "non_pml": Region(variables=6, halo_variables=2, coefficients=20),
        "dft": dft,
        "jacobi": Region(variables=1, halo_variables=1, coefficients=0),
    }


def memory(
    approach: int, region: Region, height: Count, width: Count, depth: Count, formulas: str = "printed"
) -> Count:
    """Shared memory that a tile needs, floats; sides and depth are whole numbers or arrays of them.

    `tabulated` charges approach 4 with what it reads and nothing else.
    """
    L = region.halo_variables
    if _known(formulas) == "tabulated" and approach == 4:
        return _reads(approach, region, height, width, depth)
    if approach == 4:
        halo = L * ((height + width + 2) * depth + (height + width - 2) * (depth - 1))
        return halo + _skin(region, height, width, depth)
    return _reads(approach, region, height, width, depth)


def traffic(approach: int, region: Region, height: Count, width: Count, depth: Count) -> Count:
    """Floats that a tile reads from and writes to global memory."""
    stored = height * width
    if approach == 4:
        stored = stored + (2 * (height + width) - 4) * (depth - 1)
    return _reads(approach, region, height, width, depth) + region.variables * stored


def work(region: Region, height: Count, width: Count, depth: Count) -> Count:
    """Floats computed that are of use: redundant ones are not counted."""
    return region.variables * height * width * depth


def _reads(approach: int, region: Region, height: Count, width: Count, depth: Count) -> Count:
    L = region.halo_variables
    if approach == 4:
        halo = L * ((height + width + 2) * depth + (height + width - 2))
        return halo + _skin(region, height, width, depth)
    if approach == 5:
        height, width = height + 2 * (depth - 1), width + 2 * (depth - 1)
    return 2 * L * (height + width) + (region.variables + region.coefficients) * height * width


def _skin(region: Region, height: Count, width: Count, depth: Count) -> Count:
    """Cells of a leaning tile that come from its predecessors, and all coefficients."""
    variables = (height + width - 1) * depth + (height - 1) * (width - 1)
    coefficients = height * width + (depth - 1) * (height + width - 1)
    return region.variables * variables + region.coefficients * coefficients


def best_tile(approach: int, region: Region, shared_floats: int, formulas: str = "printed") -> Tile:
    """The tile of the largest work over traffic that fits; of equals, the one that does most.

    Exact, though not every tile is looked at: for given height and depth all three functions are linear in the width,
    so the ratio is monotone in it, and the best width is the smallest (the height, since the sides can be swapped) or
    the largest that fits.

    Args:
        approach: 1, 4 or 5.
        region: Floats a cell.
        shared_floats: Memory limit M, floats.
        formulas: "printed" or "tabulated".

    Raises:
        ConfigError: No tile fits, or there is no such approach.
    """
    if approach not in APPROACHES:
        raise ConfigError(f"approach = {approach} has no formulas (allowed: {', '.join(map(str, APPROACHES))})")
    if shared_floats > LARGEST_MEMORY:
        raise ConfigError(f"shared_floats = {shared_floats} is too large (allowed: up to {LARGEST_MEMORY})")
    least = memory(approach, region, 1, 1, 1, formulas)
    if shared_floats < least:
        raise ConfigError(
            f"shared_floats = {shared_floats} holds no tile of approach {approach} "
            f"(needs >= {least} for a single cell); raise it"
        )
    best, side = _best_of_height(approach, region, 1, shared_floats, formulas), 2
    while memory(approach, region, side, side, 1, formulas) <= shared_floats:
        best = max(best, _best_of_height(approach, region, side, shared_floats, formulas))
        side += 1
    _, _, height, width, depth = best
    sent, done = traffic(approach, region, height, width, depth), work(region, height, width, depth)
    return Tile(
        approach=approach,
        height=height,
        width=width,
        depth=depth,
        memory=memory(approach, region, height, width, depth, formulas),
        traffic=sent,
        work=done,
        ratio=done / sent,
    )


def _best_of_height(
    approach: int, region: Region, height: int, shared_floats: int, formulas: str
) -> tuple[float, int, int, int, int]:
    """Ratio, work, height, width and depth of the best tile of one height."""
    side = np.array([height], dtype=np.int64)
    depth = np.arange(1, 1 + _deepest(approach, region, height, shared_floats, formulas), dtype=np.int64)
    least = memory(approach, region, side, side, depth, formulas)
    slope = memory(approach, region, side, side + 1, depth, formulas) - least
    widest = height + (shared_floats - least) // slope
    width, depth = np.concatenate([np.full_like(depth, height), widest]), np.tile(depth, 2)
    done = work(region, side, width, depth)
    ratio = done / traffic(approach, region, side, width, depth)
    equals = np.flatnonzero(ratio == ratio.max())
    at = equals[done[equals].argmax()]
    return float(ratio[at]), int(done[at]), height, int(width[at]), int(depth[at])


def _deepest(approach: int, region: Region, height: int, shared_floats: int, formulas: str) -> int:
    """Largest depth at which a square tile of this height fits, by bisection; memory grows with depth."""
    if approach == 1:
        return 1
    low, high = 1, 2
    while memory(approach, region, height, height, high, formulas) <= shared_floats:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        fits = memory(approach, region, height, height, middle, formulas) <= shared_floats
        low, high = (middle, high) if fits else (low, middle)
    return low


def _known(formulas: str) -> str:
    if formulas not in FORMULAS:
        raise ConfigError(f"formulas = {formulas!r} is unknown (allowed: {', '.join(FORMULAS)})")
    return formulas
