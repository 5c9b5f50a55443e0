"""Lengths that a lattice in space is too coarse for: refused with file, key, cell and remedy, ranges before a run."""

from __future__ import annotations

import re
import tomllib

import pytest
from antennas_in_space import planned
from config_files import replaced
from patch_files import EDGE, INSET, PROBE, STUDY
from test_dielectric_resonator import ROUND, SQUARE
from test_pixel_patch import PIXELS
from test_pyramidal_horn_family import HORN
from test_slot_feed_family import SLOT
from test_slot_feed_family import STUDY as SLOTS
from test_strip_dipole_family import DIPOLE, REFLECTOR

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import parse_table
from antennaopt.experiment.load import override
from antennaopt.families import SPATIAL
from antennaopt.families.narrow import STRIP, edge_cell, too_narrow
from antennaopt.quantities import LENGTH, parse_quantity
from antennaopt.run.dry_run import estimate
from antennaopt.run.planning import first_designs, plan_for
from antennaopt.solve.solvers import evaluator_of, planner_of
from fdtd.errors import ConfigError

HEAD, _, TAIL = PIXELS.partition("metal = [")
ALL_METAL = f"{HEAD}metal = 1{TAIL.partition(']')[2]}"
FILES = {
    "probe": PROBE,
    "inset": INSET,
    "edge": EDGE,
    "pixels": PIXELS,
    "line": replaced(ALL_METAL, 'offset = "6 mm"', 'kind = "edge"\nline_width = "2 mm"\nline_length = "6 mm"'),
    "dipole": replaced(DIPOLE, "[solver]", REFLECTOR),
    "cylinder": ROUND,
    "block": SQUARE,
    "slot": SLOT,
    "slot below a block": replaced(replaced(SLOT, "cylinder", "block"), 'radius = "8', 'width = "9 mm"\nlength = "9'),
    "horn": HORN,
}
"""Every variant of every family in space."""


def loaded(text, *overrides):
    data = tomllib.loads(text)
    for one in overrides:
        override(data, one)
    return parse_table(data)


def cell_of(experiment):
    design = experiment.design()
    return edge_cell(experiment.kind, design, design, experiment.solver.settings)


LIMITS = [
    pytest.param(case, limit, id=f"{case}-{limit.entry}")
    for case, text in FILES.items()
    for limit in loaded(text).kind.spatial.narrow
    if limit.entry in loaded(text).design()
]
LIKE_THE_LATTICE = [
    one
    for one in LIMITS
    if one.values[1].cells == STRIP
    # A line would be wider than the patch.
    and (one.values[0] == "probe" or one.values[1].entry not in ("patch.length", "patch.width"))
]


def test_every_variant_is_here():
    here = [{one.name for one in loaded(text).kind.parameters} for text in FILES.values()]
    every = [{one.name for one in variant.parameters} for one in SPATIAL.values() for variant in one.all_variants]
    assert all(one in here for one in every) and len(every) == len(FILES)


@pytest.mark.parametrize(("case", "limit"), LIMITS)
def test_the_remedies_of_the_message_are_accepted_as_written(case, limit):
    experiment = loaded(FILES[case])
    family, cell, design = experiment.kind, cell_of(experiment), experiment.design()

    def found(length, cell):
        short = design | {limit.entry: length}
        return [one for one in too_narrow(family, short, short, cell) if one.limit == limit]

    parts = round(design.get(limit.parts, 1))
    least = limit.cells * cell * parts
    (one,) = found(0.987654321 * least, cell)
    says = one.refusal()
    assert says.startswith(f"{limit.entry} = ") and "cells of " in says
    written = parse_quantity(says.partition("(must be >= ")[2].partition(")")[0], LENGTH)
    finer = parse_quantity(says.partition("cells of at most ")[2].partition(" (solver.cell)")[0], LENGTH)
    assert not found(written, cell) and not found(0.987654321 * least, finer)
    assert (written, finer) == pytest.approx((least, 0.987654321 * cell), rel=1e-5)


@pytest.mark.parametrize(("case", "limit"), LIKE_THE_LATTICE)
def test_the_lattice_itself_has_that_limit(case, limit, monkeypatch):
    """Lines and edges: `fdtd.yee.layout` refuses what is a little shorter, without a name, and lays out the rest."""
    experiment = loaded(FILES[case])
    family, design, cell = experiment.kind, experiment.design(), cell_of(experiment)
    if "feed.offset" in design:
        design["feed.offset"] = min(design["feed.offset"], 0.1 * cell / 2)
    planner, settings = planner_of(family), experiment.solver.settings
    enough = design | {limit.entry: limit.cells * cell}
    planner(family, enough, enough, settings)
    monkeypatch.setattr("antennaopt.solve.yee_plan.too_narrow", lambda *_: iter(()))
    short = design | {limit.entry: 0.99 * limit.cells * cell}
    with pytest.raises(ConfigError, match="too close for cell"):
        planner(family, short, short, settings)


@pytest.mark.parametrize("case", FILES)
def test_no_length_is_refused_without_its_name(case):
    """A hundredth of a cell is refused as too small by name, or has a lattice."""
    experiment = loaded(FILES[case])
    for parameter in experiment.kind.parameters:
        if parameter.unit == "m" and parameter.name in experiment.design():
            length = f"{10 * cell_of(experiment)!r} mm"  # a hundredth, in mm
            try:
                short = loaded(FILES[case], f"antenna.{parameter.name}={length}")
            except ConfigurationError as error:
                assert str(error).startswith("antenna."), error
                continue
            planner_of(short.kind)(short.kind, short.design(), short.design(), short.solver.settings)


@pytest.mark.parametrize("case", ["cylinder", "block", "slot"])
def test_a_resonator_without_cells_is_refused(case):
    """Both planes were one, so that an antenna without its resonator was solved."""
    with pytest.raises(ConfigurationError, match=r"^antenna.resonator.height = 1 um is too small for cells of "):
        loaded(FILES[case], "antenna.resonator.height=0.001 mm")


@pytest.mark.parametrize("command", [("validate",), ("simulate",), ("run", "--dry-run"), ("run",)])
def test_a_substrate_without_cells_is_refused_by_all_commands_alike(call, tmp_path, command):
    """`validate` took it, and the others refused a port or a sheet between lattice planes, in m."""
    text = STUDY if command[0] == "run" else PROBE
    (tmp_path / "p.toml").write_text(replaced(text, 'thickness = "1.6 mm"', 'thickness = "0.001 mm"'))
    code, out, err = call(command[0], "p.toml", *command[1:])
    assert (code, out) == (2, "")
    assert err == (
        "error: p.toml: antenna.substrate.thickness = 1 um is too small for cells of 2 mm (must be >= 0.2 mm); enlarge "
        "it or use cells of at most 0.01 mm (solver.cell)\n"
    )


def test_a_range_of_thicknesses_without_cells_is_warned_of():
    text = replaced(STUDY, 'thickness = "1.6 mm"', 'thickness = { min = "0.001 mm", max = "1.6 mm" }')
    assert any(one.startswith("antenna.substrate.thickness reaches down to 1 um") for one in loaded(text).warnings)


@pytest.mark.parametrize("command", [("validate",), ("simulate",), ("run", "--dry-run"), ("run",)])
def test_a_length_that_is_always_too_small_is_refused_with_its_file(call, tmp_path, command):
    text, given = SLOT, '"0.7 mm"'
    if command[0] == "run":
        text, given = SLOTS, '{ min = "0.5 mm", max = "0.7 mm" }'
    (tmp_path / "s.toml").write_text(replaced(text, 'slot_width = "1.7 mm"', f"slot_width = {given}"))
    code, out, err = call(command[0], "s.toml", *command[1:])
    assert (code, out) == (2, "") and len(err.splitlines()) == 1 and not (tmp_path / "results").exists()
    span = " (0.5 mm to 0.7 mm)" if command[0] == "run" else " = 0.7 mm"
    assert err == (
        f"error: s.toml: antenna.feed.slot_width{span} is too small for cells of 0.8 mm (must be >= 0.8 mm); "
        "enlarge it or use cells of at most 0.7 mm (solver.cell)\n"
    )


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ('solver.pml_distance="1 um"', r"solver\.pml_distance = 1 um is less than a cell \(must be >= 2 mm\)"),
        ('solver.design_frequency="50 GHz"', r"solver\.design_frequency = 50 GHz is far .*>= 2\.8 GHz and <= 12 GHz\)"),
        ('solver.design_frequency="1 MHz"', r"solver\.design_frequency = 1 MHz is far"),
    ],
)
def test_a_solver_in_space_refuses_what_would_not_do(setting, says):
    with pytest.raises(ConfigurationError, match=says):
        loaded(PROBE, setting)


@pytest.mark.parametrize("end", ["least", "most"])
def test_a_design_frequency_at_the_limit_that_is_named_is_accepted(end):
    """Messages have six digits, and frequencies more."""
    band = 'solver.frequencies=["5.7251234567 GHz"]'
    with pytest.raises(ConfigurationError) as refusal:
        loaded(PROBE, band, 'solver.design_frequency="50 GHz"')
    found = re.search(r"must be >= (?P<least>.*) and <= (?P<most>.*)\):", str(refusal.value))
    assert loaded(PROBE, band, f'solver.design_frequency="{found[end]}"').solver.design_frequency


@pytest.mark.parametrize("case", ["probe", "dipole", "cylinder", "horn"])
@pytest.mark.parametrize("cells", [1.0, 1.3, 1.9])
def test_the_margin_that_is_named_is_accepted(case, cells):
    """At least a cell at edges; where the box of the far field needs more, the message says how much is enough."""
    cell = cell_of(loaded(FILES[case]))

    def laid_out(margin):
        experiment = loaded(FILES[case], f"solver.pml_distance={margin}")
        design, family = experiment.design(), experiment.kind
        planner_of(family)(family, design, design, experiment.solver.settings)

    try:
        laid_out(f"{1e3 * cells * cell!r} mm")
    except ConfigError as error:
        says = str(error)
        assert says.startswith("solver.pml_distance = "), says
        laid_out(says.rpartition("; ")[2].removesuffix(" are enough"))


GENE = '{ min = "0.6 mm", max = "1.8 mm" }'
SAYS = (
    "antenna.feed.slot_width reaches down to 0.6 mm, too small for cells of 0.8 mm (must be >= 0.8 mm): such antennas "
    "are not solved and count as infeasible; raise its smallest value or use cells of at most 0.6 mm (solver.cell)"
)


@pytest.mark.parametrize("command", [("validate",), ("run", "--dry-run"), ("run",)])
def test_a_range_with_lengths_that_are_too_small_is_warned_of_before_anything_is_solved(
    call, tmp_path, stopped_before_solving, command
):
    (tmp_path / "s.toml").write_text(replaced(SLOTS, 'slot_width = "1.7 mm"', f"slot_width = {GENE}"))
    code, _, err = call(command[0], "s.toml", *command[1:])
    assert err.endswith(f"warning: {SAYS}\n" + ("error: stopped here\n" if command[0] == "run" else ""))
    assert code == (2 if command[0] == "run" else 0)


@pytest.mark.parametrize(
    ("width", "more"),
    [
        (GENE, ""),
        ('{ choices = ["0.6 mm", "1.7 mm"] }', ""),
        ('"0.9 mm"', '[tolerance.of]\n"feed.slot_width" = { sigma = "0.1 mm" }\n'),
    ],
    ids=["range", "choices", "tolerance"],
)
def test_all_that_makes_designs_differ_counts(width, more):
    def warned(width):
        text = replaced(SLOTS, 'slot_width = "1.7 mm"', f"slot_width = {width}") + more
        return [one for one in loaded(text).warnings if "too small" in one]

    assert warned(width) == [SAYS]
    assert warned(width.replace("0.6", "0.8").replace("0.9", "1.1")) == []


def test_a_thin_substrate_makes_the_cells_that_count_smaller():
    """Without a cell it is half of the thinnest substrate: 0.89 mm would be 20 a wavelength."""
    text = replaced(replaced(SLOTS, 'cell = "0.8 mm"', "cells_per_wavelength = 20"), "1.7 mm", "0.7 mm")
    assert not any("too small" in one for one in loaded(text).warnings)


def test_such_a_design_of_a_run_is_a_row_that_says_why():
    experiment = loaded(replaced(SLOTS, 'slot_width = "1.7 mm"', f"slot_width = {GENE}"))
    lower, _ = experiment.bounds()
    (outcome,) = evaluator_of(experiment.kind)(experiment.family, [lower], plan_for(experiment))
    assert (outcome.status, outcome.steps) == ("infeasible", 0)
    assert str(outcome.error).startswith("feed.slot_width = 0.6 mm is too small for cells of 0.8 mm")


def test_what_the_lattice_alone_refuses_has_the_file(call, tmp_path):
    """The stub's end next to the slot's edge, which is no length of the file."""
    (tmp_path / "s.toml").write_text(replaced(SLOT, 'stub_length = "8 mm"', 'stub_length = "0.9 mm"'))
    code, _, err = call("validate", "s.toml")
    assert code == 2 and err == (
        "error: s.toml: edges of metal at x = 1.85 mm, ends of antenna.feed.slot_width and antenna.feed.stub_length, "
        "are 0.05 mm apart, too close for cells of 0.8 mm (must be >= 0.12 mm); move them or use cells of at most "
        "0.333333 mm (solver.cell)\n"
    )


@pytest.mark.parametrize(
    ("case", "old", "new", "says"),
    [
        ("inset", 'inset_gap = "2 mm"', 'inset_gap = "6.5 mm"', "antenna.feed.inset_gap and antenna.patch.width"),
        ("edge", 'line_width = "1 mm"', 'line_width = "17.9 mm"', "antenna.feed.line_width and antenna.patch.width"),
        (
            "probe",
            'margin = "4 mm"',
            'length = "16.5 mm"\nwidth = "30 mm"',
            "antenna.patch.length and antenna.substrate.length",
        ),
    ],
)
def test_edges_that_no_length_is_between_are_named(case, old, new, says):
    """They were places in m, without a key."""
    with pytest.raises(ConfigError, match=f"^edges of metal at .* ends of {says}, are .* apart"):
        planned(loaded(replaced(FILES[case], old, new)))


def test_such_a_design_of_a_run_is_named_in_its_row():
    text = replaced(SLOTS, 'slot_width = "1.7 mm"', 'slot_width = { min = "1 mm", max = "1.5 mm" }')
    experiment = loaded(replaced(text, 'stub_length = "8 mm"', 'stub_length = "0.8 mm"'))
    _, upper = experiment.bounds()
    (outcome,) = evaluator_of(experiment.kind)(experiment.family, [upper], plan_for(experiment))
    assert (outcome.status, outcome.steps) == ("infeasible", 0)
    assert "ends of antenna.feed.slot_width and antenna.feed.stub_length" in str(outcome.error)


def test_a_dry_run_takes_a_design_that_can_be_solved_where_the_middle_cannot():
    """The middle of 0.3 and 1 mm is below a cell; a third of the drawn ones are not."""
    gene = '{ min = "0.3 mm", max = "1 mm" }'
    experiment = loaded(replaced(SLOTS, 'slot_width = "1.7 mm"', f"slot_width = {gene}"))
    designs, refusals = first_designs(experiment)
    assert designs and all(one["feed.slot_width"] >= 0.8e-3 for one in designs)
    assert len(refusals) > len(designs)
    assert all(one.startswith("antenna.feed.slot_width = ") for one in refusals)
    timed = []

    def solve(family, batch, plan, *, backend, options):
        timed.extend(batch)
        return [{"steps": options.max_steps, "seconds": 1e-3 * options.max_steps}]

    found = estimate(experiment, evaluate=solve)
    assert found.evaluations > 0
    (line,) = [one for one in found.lines() if one.startswith("designs ")]
    count = f"{len(designs)} of the first {len(designs) + len(refusals)} can be built"
    assert line.startswith(f"designs      {count}; not where antenna.feed.slot_width = ")
    assert timed and all(one in designs for one in timed)


def test_antennas_of_a_run_share_the_cell_that_their_refusal_rests_on():
    """Without a cell it is half of the thinnest substrate, 0.2 mm, also for a design with a thicker one."""
    text = replaced(replaced(SLOTS, 'cell = "0.8 mm"', "cells_per_wavelength = 20"), "1.7 mm", "0.6 mm")
    text = replaced(text, 'thickness = "0.8 mm"', 'thickness = { min = "0.4 mm", max = "2.4 mm" }')
    designs, refusals = first_designs(loaded(text))
    assert designs and not refusals
