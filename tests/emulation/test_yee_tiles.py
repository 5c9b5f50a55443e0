"""One lattice in space in tiles that take two steps a pass, run on the CPU by the emulation: the bits of `one_step`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_device import HostDevice

from fdtd.backends.cuda import yee
from fdtd.backends.cuda.dry_device import DryDevice
from fdtd.backends.cuda.formula_text import stencil_text
from fdtd.backends.cuda.yee_choice import groups, plan_tiles, unposed
from fdtd.backends.cuda.yee_packing import pack
from fdtd.errors import Unsuitable
from fdtd.schemes.machine import HOPPER, Limits
from fdtd.schemes.trapezoidal.yee import plan_yee, steady
from fdtd.stencils import SPATIAL
from fdtd.yee.problem import Problem, Records

sys.path += [str(Path(__file__).parents[1] / name) for name in ("agreement", "compilation")]
from nvrtc import compile_for
from test_yee import CASES, random_problem
from yee_oracle import assert_as_the_oracle

LAYERS, WALLS, THICK = "layers all round, lossy", "magnetic walls", "layers as thick as may be"
SEVERAL = {"counts": (66, 20, 15), "layers": (5, 6, 4, 5, 3, 4), "magnetic": ()}  # tiles side by side along x
LARGE = {"PITCH": 264, "LONGEST": 258}
LARGE |= {f"{name}{axis}": n for axis in "XYZ" for name, n in (("N", 256), ("END_", 256), ("LOW_", 10), ("HIGH_", 10))}


def stepped(problem: Problem, scheme: str, limits: Limits = HOPPER, **tuning: Any) -> tuple[Records, np.ndarray]:
    """Records and box samples."""
    blocks: list[np.ndarray] = []
    keep = [lambda first, block: blocks.append(block.copy())]
    (found,) = yee.run_batch([problem], keep, final=True, scheme=scheme, on=HostDevice(limits), **tuning)
    return found, np.concatenate(blocks)


@pytest.mark.parametrize(
    ("case", "tuning"),
    [
        (CASES[LAYERS], {"rows": 8, "blocks": 7}),
        pytest.param(SEVERAL, {"rows": 8, "blocks": 5}, marks=pytest.mark.slow),
        pytest.param(CASES["half of an antenna"], {"rows": 7, "blocks": 4}, marks=pytest.mark.slow),
        pytest.param(CASES[WALLS], {"rows": 13, "blocks": 3, "stages": 4, "stride": 20}, marks=pytest.mark.slow),
        pytest.param(CASES[THICK], {"rows": 9, "blocks": 4, "stride": 12}, marks=pytest.mark.slow),
        pytest.param(CASES["closed"], {"rows": 6, "blocks": 9}, marks=pytest.mark.slow),
    ],
)
def test_bits_are_those_of_one_step(case: dict, tuning: dict[str, int]) -> None:
    """Everything at once, with samples every 3 steps and looks every 9, which end passes after one step."""
    problem = random_problem(**case, steps=22)
    found, taken = stepped(problem, "trapezoidal", **tuning)
    expected, samples = stepped(problem, "one_step")
    for name in ("final", "sums", "energy"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_array_equal(taken, samples)
    assert_as_the_oracle(problem, found, taken, "float32")


@pytest.mark.slow
def test_memories_along_y_need_not_be_on_chip() -> None:
    """A block of a device with less shared memory keeps them in device memory, next to those along z."""
    problem = random_problem(**SEVERAL, steps=8)
    plan = plan_yee(pack(problem, "float32").counts, 4, HOPPER, rows=8, blocks=5)
    small = replace(HOPPER, shared_bytes=plan.shared_bytes - 1)
    assert plan.y_on_chip and not plan_yee(plan.lattice, 4, small, rows=8, blocks=5).y_on_chip
    found, _ = stepped(problem, "trapezoidal", small, rows=8, blocks=5)
    np.testing.assert_array_equal(found.final, stepped(problem, "one_step")[0].final)


@pytest.mark.slow
def test_a_lattice_that_settles_keeps_the_fields_of_its_last_look() -> None:
    problem = replace(random_problem(**CASES["closed"], steps=45), source=None)
    problem = replace(problem, sampling=replace(problem.sampling, decay=0.95))
    (found, taken), (expected, samples) = (stepped(problem, scheme) for scheme in ("trapezoidal", "one_step"))
    assert found.steps == expected.steps < 45
    np.testing.assert_array_equal(found.final, expected.final)
    np.testing.assert_array_equal(taken, samples)


def test_they_are_chosen_where_they_save_more_than_compiling_them_costs() -> None:
    """Cells times steps, lattices that tiles fill, samples seldom or at even steps, few edges, single precision."""
    counts = LARGE | {"STEPS": 80_000, "RECORD_EVERY": 4, "SOURCES": 30, "PROBES": 30}
    plan = plan_tiles(counts, "float32", HOPPER)
    assert plan is not None and plan.stored == pytest.approx(461, rel=0.01)
    assert plan_tiles(counts | {"STEPS": 48_000}, "float32", HOPPER) is not None
    assert plan_tiles(counts, "float64", HOPPER) is None
    assert plan_tiles(counts, "float32", replace(HOPPER, capability=80)) is None
    for change in ({"STEPS": 47_000}, {"RECORD_EVERY": 1}, {"RECORD_EVERY": 3}, {"SOURCES": 300}):
        assert plan_tiles(counts | change, "float32", HOPPER) is None, change
    assert plan_tiles(counts | {"RECORD_EVERY": 11}, "float32", HOPPER) is not None
    narrow = unposed((66, 500, 500), 10, 10**6) | {"RECORD_EVERY": 4}
    assert plan_tiles(narrow, "float32", HOPPER) is None, "two tiles across, of which all touch layers"


def test_a_large_lattice_among_others_is_stepped_alone() -> None:
    problems = [random_problem(**CASES[LAYERS], steps=1), random_problem(**CASES["closed"], steps=1)]
    packed = [pack(one, "float32") for one in problems]
    packed.insert(1, replace(packed[0], counts=packed[0].counts | LARGE | {"STEPS": 80_000, "RECORD_EVERY": 2}))
    found = groups(packed, "float32", HOPPER)
    assert ("trapezoidal", [1]) in found and sum(len(members) for _, members in found) == 3


def test_a_tiling_that_is_none_is_refused() -> None:
    for tuning in ({"rows": 3}, {"stages": 2}, {"stride": 64}, {"stride": 22}, {"stride": 0}):
        with pytest.raises(Unsuitable, match="tiles"):
            plan_yee(LARGE, 4, HOPPER, **tuning)


def test_pieces_have_every_plane_of_every_tile_once() -> None:
    """Blocks have the same work to 2 %, by weights of tiles and planes in layers."""
    plan = plan_yee(LARGE, 4, HOPPER)
    seen = np.zeros((plan.tiles[0] * plan.tiles[1], 256), int)
    work, (weights, layered) = [], plan._weights()
    for pieces in plan.pieces():
        for tile, first, end in pieces:
            assert first < end
            seen[tile, first:end] += 1
        work.append(sum(weights[tile] * (4 + end - k) + 0.53 * (layered[end] - layered[k]) for tile, k, end in pieces))
    assert (seen == 1).all()
    assert len(work) == HOPPER.multiprocessors
    assert plan.tiles[0] * plan.stride + 2 >= 256
    assert plan.tiles[1] * (plan.rows - 3) + 2 >= 256
    starts, rest = plan.table()[: len(work) + 1], plan.table()[len(work) + 1 :]
    assert len(rest) == 3 * starts[-1]
    assert 256**3 / (plan.stored * len(work)) == pytest.approx(max(work)) == pytest.approx(np.mean(work), rel=0.02)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(Unsuitable, match="single precision"):
        plan_yee(LARGE, 8, HOPPER)
    with pytest.raises(Unsuitable, match="bytes of a tile"):
        plan_yee(LARGE, 4, replace(HOPPER, shared_bytes=100_000))
    with pytest.raises(Unsuitable, match="numbers"):
        plan_yee(LARGE | {"NZ": 4095}, 4, HOPPER)


def test_every_sum_of_products_says_which_is_rounded() -> None:
    """A compiler may fuse either; `one_step` rounds the second."""
    formula = SPATIAL["yee3d"].formula
    assert formula is not None
    text = steady(stencil_text(formula))
    assert text.count("rounded(") == 3 + 2 * 3
    sums = [line for line in text.splitlines() if "out.at" in line and "*" in line]
    assert len(sums) == 6
    assert all(line.count("*") - line.count("rounded") <= 1 for line in sums)


@pytest.mark.slow
def test_compiles() -> None:
    problem = random_problem(**CASES[LAYERS], steps=1)
    device = DryDevice()
    yee.Batch(device, [pack(problem, "float32")], "float32", scheme="trapezoidal")
    for text in device.texts:
        assert compile_for(text, "sm_90").startswith(b"\x7fELF")
