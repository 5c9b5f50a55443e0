"""`[solver] report_modes`: what a file may ask for, the results, rows of a run, and what is refused in one line."""

import json

import numpy as np
import pytest
import xarray
from run_examples import COLUMNS, row, solved

import antennaopt as ao
from antennaopt.experiment import load_file
from antennaopt.families import kind
from antennaopt.families.guides import Guide, guide_at, guides_of
from antennaopt.run.stores import outcome_of_row
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.outcome import fault_of
from antennaopt.solve.plan import plan
from antennaopt.store.schema import RunColumns

HORN = """
[antenna]
family = "dual_mode_horn"
[antenna.feed]
inner_radius = "5.2 mm"
outer_radius = "5.8 mm"
length = "14 mm"
[antenna.horn]
step_radius = "6.5 mm"
phasing = "8 mm"
flare = "10 mm"
aperture_radius = "10 mm"
wall = "0.8 mm"
[solver]
frequencies = ["29 GHz", "30 GHz"]
cell = "0.6 mm"
report_modes = [{ plane = "5 mm", modes = ["TE11", "TM11"] }, { plane = "0 mm" }]
"""
DESIGN = {
    "feed.inner_radius": 5.2e-3, "feed.outer_radius": 5.8e-3, "feed.length": 14e-3, "horn.step_radius": 6.5e-3,
    "horn.phasing": 8e-3, "horn.flare": 10e-3, "horn.aperture_radius": 10e-3, "horn.wall": 0.8e-3,
}  # fmt: skip


def written(tmp_path, text=HORN):
    path = tmp_path / "horn.toml"
    path.write_text(text)
    return path


def test_results_hold_the_waves_of_each_plane(call, tmp_path):
    written(tmp_path)
    code, out, _ = call("simulate", "horn.toml", "--json", "horn.json")
    result = json.loads((tmp_path / "horn.json").read_text())
    level = 20 * np.log10(abs(complex(*result["results"][1]["modes"][1]["s"])))
    (line,) = (one for one in out.splitlines() if one.startswith("TM11 forward at 5 mm (dB)"))
    assert line.split()[-1] == f"{level:.2f}" and "TE11 reflected" not in out
    assert code == 0 and result["certificate"]["verdict"] == "trusted"
    for entry in result["results"]:
        waves = {(one["plane"], one["name"], one["direction"]): complex(*one["s"]) for one in entry["modes"]}
        assert list(waves) == [
            (0.005, "TE11", "forward"), (0.005, "TM11", "forward"),
            (0.005, "TE11", "backward"), (0.005, "TM11", "backward"), (0.0, "TE11", "reflected"),
        ]  # fmt: skip
        assert waves[0.0, "TE11", "reflected"] == complex(*entry["s11"])
        # The horn has no loss: what runs on in the phasing section is what the port accepts.
        on = {
            way: sum(abs(s) ** 2 for (_, _, one), s in waves.items() if one == way) for way in ("forward", "backward")
        }
        assert on["forward"] - on["backward"] == pytest.approx(1 - abs(complex(*entry["s11"])) ** 2, abs=2e-4)
        assert 0.1 < abs(waves[0.005, "TM11", "forward"]) ** 2 < 0.4


def test_xarray_and_netcdf_hold_the_waves(call, tmp_path):
    written(tmp_path)
    assert call("simulate", "horn.toml", "--quiet", "--netcdf", "far.nc", "--json", "horn.json")[0] == 0
    far = xarray.open_dataset(tmp_path / "far.nc")
    data = ao.to_xarray(ao.simulate(tmp_path / "horn.toml"))
    results = json.loads((tmp_path / "horn.json").read_text())["results"]
    for place, entry in enumerate(results):
        (s,) = (complex(*one["s"]) for one in entry["modes"] if (one["name"], one["direction"]) == ("TM11", "forward"))
        of_file = complex(far.TM11_forward_5mm_real[place], far.TM11_forward_5mm_imag[place])
        assert of_file == pytest.approx(s, abs=1e-6)
        assert complex(data.TM11_forward_5mm[place]) == pytest.approx(s, abs=1e-6)


def test_files_that_are_written_ask_for_the_same(call, tmp_path):
    """`export --outline` and a run's best antenna write the settings out."""
    written(tmp_path)
    assert call("simulate", "horn.toml", "--quiet", "--outline", "other.toml", "--json", "first.json")[0] == 0
    assert (
        load_file(tmp_path / "other.toml").solver.report_modes == load_file(tmp_path / "horn.toml").solver.report_modes
    )
    assert call("simulate", "other.toml", "--quiet", "--json", "second.json")[0] == 0
    first, second = (json.loads((tmp_path / name).read_text())["results"] for name in ("first.json", "second.json"))
    for one, other in zip(first, second, strict=True):
        for wave, same in zip(one["modes"], other["modes"], strict=True):
            assert {**wave, "s": None} == {**same, "s": None}
            assert complex(*same["s"]) == pytest.approx(complex(*wave["s"]), abs=1e-4)


def test_a_file_without_it_has_no_modes_and_its_digests_stay(call, tmp_path):
    text = "\n".join(line for line in HORN.splitlines() if "report_modes" not in line)
    experiment = load_file(written(tmp_path, text))
    assert "report_modes" not in experiment.resolved()["solver"]
    assert "modes" not in plan(experiment.kind, DESIGN, DESIGN, experiment.solver.settings).to_dict()
    asked = load_file(written(tmp_path))
    assert asked.resolved()["solver"]["report_modes"] == [
        {"plane": 0.005, "modes": ["TE11", "TM11"]}, {"plane": 0.0, "modes": []}
    ]  # fmt: skip
    assert asked.from_resolved(asked.resolved()) == asked
    assert asked.physics_hash != experiment.physics_hash


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('[{plane="12 mm"}]', "is not in a circular guide section (sections of this antenna, mm: -14 to 0, 0 to 8)"),
        ('[{plane="-13 mm"}]', "plane = -13 mm is inside the feed's source or absorber, or behind them (must be >= -"),
        ('[{plane="-20 mm"}]', "plane = -20 mm is inside the feed's source or absorber, or behind them"),
        ('[{plane="90 mm"}]', "plane = 90 mm is not in a circular guide section"),
        ('[{plane="5 mm", modes=["TE12"]}]', "TE12 is below cutoff at 29 GHz in the guide of inner radius 6.5 mm"),
        ('[{plane="0 mm", modes=["TM11"]}]', "TM11 is below cutoff at 29 GHz in the guide of inner radius 5.2 mm"),
        ('[{plane="0 mm", modes=["TE21"]}]', '0.modes.0 = "TE21" is not a mode of order 1; use some of TE11, TM11'),
        ('[{plane="0 mm", modes=["TE11", "TE11"]}]', 'report_modes.0.modes.1 = "TE11" stands twice'),
        ('[{plane="0 mm", modes="TE11"}]', 'report_modes.0.modes = "TE11" must be a list of names'),
        ('[{plane="1 mm"}, {plane="1 mm"}]', 'report_modes.1.plane = "1 mm" stands twice'),
        ('[{modes=["TE11"]}]', "report_modes.0.plane is missing"),
        ('[{plane=3}]', 'report_modes.0.plane = 3 has no unit; write it as text with one, for example "3 mm"'),
        ('[{plane="3 mm", mode="TE11"}]', "report_modes.0.mode is not a known key; did you mean 'modes'?"),
        ('["TE11"]', 'report_modes.0 = "TE11" is not a table'),
        ('"TE11"', 'report_modes = "TE11" must be a list'),
    ],
)  # fmt: skip
def test_bad_entries_are_refused_in_one_line(call, tmp_path, value, text):
    written(tmp_path)
    code, _, err = call("simulate", "horn.toml", "--quiet", "--set", f"solver.report_modes={value}")
    assert code == 2 and text in err
    assert sum(line.startswith("error:") for line in err.splitlines()) == 1


def test_a_section_too_short_for_the_cells_and_a_filled_one_are_refused(call, tmp_path):
    written(tmp_path)
    code, _, err = call("simulate", "horn.toml", "--quiet", "--set", "antenna.horn.phasing=4 mm",
                        "--set", 'solver.report_modes=[{plane="2 mm"}]')  # fmt: skip
    assert (
        code == 2
        and "a guide section 4 mm long, too short for cells of 0.6 mm (needs >= 8 cells); use cells <= 0.5 mm" in err
    )
    filled = HORN.replace("dual_mode_horn", "outline").replace('"5 mm"', '"-2 mm"')
    filled = filled[: filled.index("[antenna.horn]")] + filled[filled.index("[solver]") :]
    filled += (
        '[[antenna.body]]\npermittivity = 2.1\npoints = [["0 mm", "-4 mm"], ["5.2 mm", "-4 mm"], ["0 mm", "9 mm"]]\n'
    )
    written(tmp_path, filled)
    code, _, err = call("simulate", "horn.toml", "--quiet")
    assert code == 2 and "plane = -2 mm is where a dielectric fills a part of the guide" in err


def test_designs_of_a_run_whose_guide_ends_before_the_plane_are_infeasible(tmp_path):
    experiment = load_file(written(tmp_path))
    ends = [{**DESIGN, "horn.phasing": length} for length in (4.9e-3, 8e-3)]
    shared = plan("dual_mode_horn", ends[0], ends[1], experiment.solver.settings).to_dict()
    short, long = evaluate("dual_mode_horn", ends, shared)
    assert short.status == "infeasible" and "5 mm is not in a circular guide section" in str(short.error)
    assert long.ok and long.modes is not None
    (alone,) = evaluate("dual_mode_horn", ends[1:], shared)
    assert alone.modes == long.modes  # to the bit, alone and in any batch


def test_modes_are_found_where_the_plane_is_at_the_end_of_a_guide():
    """A plane between two guides belongs to the lower one; a micrometre further on, to the other."""
    family = kind("dual_mode_horn")
    guides = guides_of(family.outline(DESIGN))
    assert guides == [Guide(radius=5.2e-3, bottom=-14e-3, top=0.0), Guide(radius=6.5e-3, bottom=0.0, top=8e-3)]
    assert [guide_at(guides, z) for z in (0.0, 1e-6, 8e-3, 8.1e-3, -15e-3)] == [*guides, guides[1], None, None]


def test_rows_hold_modes_and_give_them_back():
    waves = [
        [{"plane": 0.0, "name": "TE11", "direction": "reflected", "s": [0.1, -0.2]}],
        [{"plane": 0.0, "name": "TE11", "direction": "reflected", "s": [0.3, 0.4]},
         {"plane": 0.0, "name": "TM11", "direction": "reflected", "s": [0.05, 0.0]}],
    ]  # fmt: skip
    columns = RunColumns.from_dict({**COLUMNS.to_dict(), "modes": True})
    assert columns.evals_schema().names[-1] == "modes" and "modes" not in COLUMNS.evals_schema().names
    stored = row(columns, outcome=solved(modes=waves))
    assert stored["modes"][2] == {
        "frequency_hz": 30e9, "plane_m": 0.0, "name": "TM11", "direction": "reflected", "s_re": 0.05, "s_im": 0.0
    }  # fmt: skip
    assert outcome_of_row(columns, stored).modes == waves
    assert outcome_of_row(columns, row(columns, outcome=solved())).modes is None


@pytest.mark.parametrize(
    "damage", [{"s": [0.1]}, {"s": "x"}, {"name": 3}, {"plane": None}, {"more": 1}, {"s": [np.nan, "a"]}]
)
def test_damaged_modes_are_found(damage):
    account = {"worker", "device", "attempt"}
    whole = {key: value for key, value in solved().items() if key not in account}
    wave = {"plane": 0.0, "name": "TE11", "direction": "reflected", "s": [0.1, -0.2]}
    assert fault_of({**whole, "modes": [[wave], [wave]]}, solved=True) is None
    wrong = "its modes have not one list of waves a frequency"
    assert fault_of({**whole, "modes": [[wave], [wave | damage]]}, solved=True) == wrong
    assert fault_of({**whole, "modes": [[wave]]}, solved=True) == wrong
