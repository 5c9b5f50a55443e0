"""How a study is put on a device: by which scheme, how many antennas at a time. Planned without a device."""

import json
from dataclasses import replace
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pytest

from antennaopt.bench.problems import reference_problem
from antennaopt.experiment import load_experiment
from antennaopt.run.planning import plan_for
from antennaopt.solve import device
from antennaopt.solve.capacity import capacity_of
from antennaopt.solve.device import evaluate_within_memory
from antennaopt.solve.plan import plan
from antennaopt.solve.yee_plan import YeePlan
from fdtd.backends import cuda
from fdtd.backends.cuda import antenna_bytes, batch_limit, choose, whole_waves
from fdtd.backends.cuda.yee_choice import expected, plan_tiles, unposed
from fdtd.errors import OutOfMemory, Unsuitable
from fdtd.schemes.antennas import SCHEMES
from fdtd.schemes.machine import HOPPER

ROOT = Path(__file__).parents[2]
GUIDE = {"feed.inner_radius": 3.6e-3, "feed.outer_radius": 4.0e-3, "feed.length": 12e-3}
SOLVER = {
    "frequencies": [30e9], "design_frequency": 30e9, "cell": 0.3e-3, "courant_fraction": 0.98, "pml_cells": 10,
    "decay_db": 60.0, "precision": "float32", "surfaces": "diagonal",
}  # fmt: skip


def test_whatever_else_steps_says_why_not_wavefront():
    """Rows of 590 columns before the layer are wider than a warp's registers, and tiles have no coupled nodes."""
    wide = reference_problem((600, 160), 8, 1)
    tilted = replace(wide, media=replace(wide.media, coupling=np.zeros((1, 160, 600))))
    scheme, reason = choose(tilted, "float32", HOPPER)
    assert scheme == "one_step"
    assert "wavefront: wavefront holds rows of at most" in reason
    assert reason.startswith("all numbers through memory in every step; wavefront: ")


@pytest.mark.parametrize("columns", [267, 280, 394, 400, 600, 800, 1200])
def test_wide_lattices_go_in_tiles_of_segments(columns):
    """All steps between two samples in a launch; few antennas too."""
    problem = reference_problem((columns, 300), 8, 1)
    scheme, _ = choose(problem, "float32", HOPPER)
    made = SCHEMES[scheme](problem, "float32", HOPPER).macros
    assert (scheme, made["DEPTH"]) == ("trapezoidal", problem.sampling.record_every)
    assert made["SEGMENTS"] > 1
    assert choose(replace(problem, few=True), "float32", HOPPER)[0] == "trapezoidal"


@pytest.mark.parametrize(
    ("shape", "lenses", "metal"),
    [
        ((129, 211), "wavefront", "wavefront"),
        ((187, 267), "wavefront", "resident"),
        ((247, 400), "wavefront", "trapezoidal"),
        ((278, 388), "trapezoidal", "trapezoidal"),
    ],
)
def test_antennas_with_metal_go_where_their_rows_fit(shape, lenses, metal):
    """As corrugated horns and reflectors were measured on an H200 (docs/decisions/0074)."""
    problem = reference_problem(shape, 8, 1)
    assert choose(problem, "float32", HOPPER)[0] == lenses
    assert choose(replace(problem, metal=True), "float32", HOPPER)[0] == metal


def test_only_paces_that_follow_from_a_plan_are_told():
    """The order's figure for one_step is that of the smallest lattice, 16 G, where 256 x 320 cells reach 39 G."""
    scheme, reason = choose(reference_problem((256, 320), 8, 1), "float32", HOPPER)
    assert scheme == "resident"
    assert "; one_step: all numbers through memory in every step; " in reason
    assert reason.count(" G cell-steps/s") == 3


def test_the_choice_does_not_depend_on_the_batch():
    few, many = (reference_problem((128, 160), 8, batch) for batch in (1, 3))
    assert choose(few, "float32", HOPPER) == choose(many, "float32", HOPPER)


def test_no_scheme_says_why_for_each(monkeypatch):
    def never(problem, precision, limits):
        raise Unsuitable("not today")

    monkeypatch.setattr("fdtd.backends.cuda.SCHEMES", {"one_step": never, "wavefront": never})
    with pytest.raises(Unsuitable, match="one_step: not today; wavefront: not today"):
        choose(reference_problem((128, 160), 8, 1), "float32", HOPPER)


def test_batches_are_whole_waves_where_there_is_room():
    """Of 10 GB 80 % are used: 800 antennas of 10 MB are 6 waves of 132; in two batches 3 waves each."""
    assert batch_limit(10 * 10**9, 10**7, 132) == 792
    assert batch_limit(10 * 10**9, 10**7, 132, 2) == 396
    assert batch_limit(10**9, 10**7, 132) == 80
    assert batch_limit(13 * 10**6, 10**7, 132, 2) == 1, "one that fits is solved, if need be alone"


def test_a_third_batch_waits_for_a_place():
    """Two batches are stepped at the same time; who is prepared meanwhile takes the place that becomes free."""
    places, taken = cuda._Places(), []

    def third():
        with places.take() as place:
            taken.append(place)

    with places.take() as first, places.take() as second:
        assert (first, second) == (0, 1)
        waiting = Thread(target=third)
        waiting.start()
        assert not places._free.acquire(blocking=False) and not taken, "none is free"
    waiting.join()
    assert taken in ([0], [1])
    with places.take() as place:
        assert place == 0, "all are free again"


def test_no_room_for_one_antenna_says_what_would_help():
    with pytest.raises(OutOfMemory, match=r"one antenna needs about 2 GB of device memory, and 1 GB are free; use a"):
        batch_limit(10**9, 2 * 10**9, 132)


def test_waves_of_clusters():
    """Seven clusters of sixteen run side by side: 18 waves of 7 antennas are the most within 132."""
    problem = reference_problem((256, 320), 8, 1)
    waves = {name: whole_waves(SCHEMES[name](problem, "float32", HOPPER), HOPPER) for name in SCHEMES}
    assert waves == {"one_step": 132, "wavefront": 132, "trapezoidal": 132, "resident": 126}


def test_the_choice_is_the_fastest_that_was_measured():
    """On an H200, batches of 264, ten lattices: the scheme chosen is the one with the best rate of the tables.

    The table of narrow lattices, with the shape that `resident` has there, is the newer one.
    """
    rows, narrow = (
        json.loads((ROOT / f"results/benchmarks/h200/{name}.json").read_text("utf-8"))["rows"]
        for name in ("schemes", "narrow")
    )
    best: dict[tuple[int, ...], dict[str, float]] = {}
    for row in rows:
        if row["batch"] == 264:
            rates = best.setdefault(tuple(row["shape"]), {})
            rates[row["scheme"]] = max(rates.get(row["scheme"], 0.0), row["cell_steps_per_s"])
    for row in narrow:
        if row["lattice"] == "reference lens" and not row["plan"]:
            best.setdefault(tuple(row["shape"]), {})[row["scheme"]] = row["cell_steps_per_s"]
    assert len(best) == 10
    for (nr, nz), rates in best.items():
        assert choose(reference_problem((nr, nz), 8, 1), "float32", HOPPER)[0] == max(rates, key=lambda one: rates[one])


def test_all_batches_of_a_study_go_one_way():
    """Whether nodes are coupled hangs on the antennas, whether they may be on the study, which decides."""
    problem = reference_problem((256, 320), 8, 1)
    zero = np.zeros((1, 320, 256))
    tilted = replace(problem, media=replace(problem.media, coupling=zero))
    for scheme in ("trapezoidal", "resident"):
        with pytest.raises(Unsuitable, match="coupled nodes"):
            SCHEMES[scheme](tilted, "float32", HOPPER)
    assert choose(tilted, "float32", HOPPER)[0] == "wavefront"


def test_few_antennas_take_a_scheme_that_spreads_each_over_the_device():
    """Certificates: `wavefront` steps an antenna on one multiprocessor, and ten of them leave the others idle."""
    lens = reference_problem((124, 210), 8, 1)
    tilted = replace(lens, media=replace(lens.media, coupling=np.zeros((1, 210, 124))))
    assert choose(lens, "float32", HOPPER)[0] == "wavefront"
    assert choose(replace(lens, few=True), "float32", HOPPER)[0] == "resident"
    assert choose(replace(tilted, few=True), "float32", HOPPER)[0] == "one_step"
    wide = reference_problem((400, 300), 8, 1)
    assert choose(replace(wide, few=True), "float32", HOPPER)[0] == "trapezoidal"


def test_memory_grows_with_cells_and_record():
    small, large = (reference_problem(grid, 8, 1) for grid in ((128, 160), (128, 320)))
    assert antenna_bytes(large, "float32") > 1.9 * antenna_bytes(small, "float32")
    longer = replace(small, sampling=replace(small.sampling, steps=80_000))
    assert antenna_bytes(longer, "float32") > 2 * antenna_bytes(small, "float32")


def test_memory_of_two_buffers():
    """Of 6 fields and the layers' memories a second time: 24 bytes a cell and more."""
    problem = reference_problem((128, 160), 8, 1)
    more = antenna_bytes(problem, "float32", doubled=True) - antenna_bytes(problem, "float32")
    assert 24 * problem.grid.cells < more < 48 * problem.grid.cells


def test_room_of_a_study():
    table = {**plan("open_waveguide", GUIDE, GUIDE, SOLVER).to_dict(), "losses": False}
    found = capacity_of(table, HOPPER, 100 * 10**9)
    assert found["scheme"] == "resident"
    assert (found["at_once"], found["wave"]) == (30, 120)
    assert found["antennas"] % 120 == 0
    assert found["antennas"] >= 120


def test_room_is_counted_for_the_scheme_that_steps():
    """Reflectors go to `resident` on this lattice, seven at a time, as `pose` asks for."""
    table = plan_for(load_experiment(ROOT / "experiments" / "cassegrain.toml"))
    assert table["layout"]["metal"]
    found = capacity_of(table, HOPPER, 100 * 10**9)
    assert (found["scheme"], found["wave"] % found["at_once"]) == ("resident", 0)


class Solver:
    """Device for a number of antennas; records its requests."""

    def __init__(self, holds):
        self.holds, self.sizes, self.released = holds, [], 0

    def __call__(self, family, designs, plan, *, backend):
        self.sizes.append(len(designs))
        if len(designs) > self.holds:
            raise OutOfMemory("the device has 1 GB free")
        return [{"x": one["x"], "backend": backend} for one in designs]

    def release(self):
        self.released += 1


def test_a_batch_is_halved_until_it_fits_and_the_next_begins_there():
    solver, designs = Solver(holds=30), [{"x": float(place)} for place in range(100)]

    def solve(nr):
        return evaluate_within_memory(
            solver, "any", designs, {"nr": nr, "nz": 9973}, release=solver.release, backend="cuda"
        )

    assert solve(7) == [{"x": float(place), "backend": "cuda"} for place in range(100)]
    assert solver.sizes == [100, 50, 25, 25, 25, 25]
    assert solver.released == 2
    solver.sizes.clear()
    solve(7)
    assert solver.sizes == [25, 25, 25, 25]
    solver.sizes.clear()
    solve(8)
    assert solver.sizes[0] == 100, "another lattice, another size"


def test_one_antenna_that_does_not_fit_ends_it():
    solver = Solver(holds=0)
    with pytest.raises(
        OutOfMemory, match=r"too little memory for one antenna \(the device has 1 GB free\); use a larger"
    ):
        evaluate_within_memory(
            solver, "any", [{"x": 0.0}] * 4, {"nr": 3, "nz": 9973}, release=solver.release, backend="cuda"
        )
    assert solver.sizes == [4, 2, 1, 1]
    assert solver.released == 4


def test_one_antenna_is_tried_again_once_memory_was_given_back():
    """Each of two antennas finds the memory full for a moment, and fits the second time."""
    solver, full = Solver(holds=2), iter([True, True, False, True, False])

    def solve(family, designs, plan, *, backend):
        if next(full):
            raise OutOfMemory("full for a moment")
        return solver(family, designs, plan, backend=backend)

    plan = {"nr": 5, "nz": 9973}
    designs = [{"x": 0.0}, {"x": 1.0}]
    found = evaluate_within_memory(solve, "any", designs, plan, release=solver.release, backend="cuda")
    assert [one["x"] for one in found] == [0.0, 1.0]
    assert solver.released == 3


@pytest.mark.parametrize(
    ("shape", "capability", "scheme", "reason"),
    [
        ((64, 64, 32), 90, "resident", "fields in the registers of a cluster; one_step: all numbers through memory"),
        ((52, 48, 38), 90, "resident", "fields in the registers of blocks at a time"),
        ((96, 112, 40), 90, "resident", "fields in the registers of blocks at a time"),
        (
            (256, 256, 256),
            90,
            "one_step",
            "resident: 256 x 256 x 256 cells of 4 bytes do not fit in the registers of",
        ),
        ((512, 512, 512), 90, "trapezoidal", "all numbers through memory in every second step; resident: "),
        ((512, 512, 512), 80, "one_step", "resident: resident needs thread-block clusters"),
        ((64, 64, 32), 80, "one_step", "resident: resident needs thread-block clusters"),
    ],
)
def test_antennas_in_space_that_fit_in_registers_are_held_there(shape, capability, scheme, reason):
    """A lattice is stepped in tiles where its work is worth compiling a text."""
    found, why = expected(shape, 8, "float32", replace(HOPPER, capability=capability), 10_000)
    assert found == scheme
    assert reason in why


def cube(frequencies):
    """Return the plan of an antenna of 512^3 cells."""
    return YeePlan(
        frequencies=frequencies, design_frequency=5e9, cell=1e-3, cells_per_wavelength=15.0, layers=10, margin=None,
        decay_db=60.0, max_steps=10_000, shape=(512, 512, 512), time_step=1e-12, precision="float32",
    ).to_dict()  # fmt: skip


def test_the_scheme_that_is_reported_is_the_one_that_steps():
    """Of 9.5 GB four fifths are used, and nine tenths would hold the 8.0 GB of two places of the fields."""
    counts = unposed((512, 512, 512), 10, 10_000)
    for free, scheme in ((9.5e9, "one_step"), (10.5e9, "trapezoidal")):
        assert capacity_of(cube(frequencies=(5e9,)), HOPPER, int(free))["scheme"] == scheme
        assert (plan_tiles(counts, "float32", HOPPER, int(free)) is not None) == (scheme == "trapezoidal")


def test_an_antenna_whose_spectra_leave_no_room_for_tiles_is_counted_with_one_place():
    """21 frequencies: 8.0 GB of fields and 2.2 GB of spectra and more, of which 8.8 GB fit; with one place 6.6 GB."""
    free = 11 * 10**9
    assert plan_tiles(unposed((512, 512, 512), 10, 10_000), "float32", HOPPER, free) is not None
    found = capacity_of(cube(frequencies=tuple(np.linspace(4e9, 6e9, 21))), HOPPER, free)
    assert (found["scheme"], found["antennas"]) == ("one_step", 1)


def test_a_lattice_without_memory_for_tiles_is_stepped_by_one_step():
    """512^3 cells: with two places of the fields 8.1 GB, with one 4.5."""
    table = cube(frequencies=(5e9,))
    wide, small = (capacity_of(table, HOPPER, free * 10**9) for free in (16, 8))
    assert (wide["scheme"], small["scheme"]) == ("trapezoidal", "one_step")
    assert wide["antennas"] == small["antennas"] == 1
    with pytest.raises(OutOfMemory, match="one antenna needs about"):
        capacity_of(table, HOPPER, 4 * 10**9)


def test_a_process_that_shares_its_device_takes_its_part(monkeypatch):
    """Of memory and of a wave; what others have taken by then is not divided again."""
    table = {**plan("open_waveguide", GUIDE, GUIDE, SOLVER).to_dict(), "losses": False}
    free = HOPPER.memory_bytes
    monkeypatch.setattr(cuda, "device", lambda: SimpleNamespace(limits=HOPPER, free_bytes=lambda: free, identity="toy"))
    whole = device.capacity(table)
    monkeypatch.setenv(device.SHARED_BY, "3")
    part = device.capacity(table)
    assert (whole["shared_by"], part["shared_by"], part["wave"]) == (1, 3, 40)
    assert part["antennas"] == pytest.approx(whole["antennas"] / 3, rel=0.3)
    free //= 2
    assert device.capacity(table) == part
