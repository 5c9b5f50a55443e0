"""The Python interface gives the command line's numbers, with attributes in place of keys, and clear errors."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from config_files import LENS, replaced
from matplotlib.axes import Axes

import antennaopt as ao
from antennaopt.cli import main

HORN = """
title = "Small horn"
[antenna]
family = "conical_horn"
[antenna.feed]
inner_radius = "3.6 mm"
outer_radius = "4 mm"
length = "20 mm"
[antenna.horn]
length = "15 mm"
aperture_radius = "9 mm"
wall = "0.5 mm"
[solver]
frequencies = ["29 GHz", "30 GHz"]
cell = "0.45 mm"
"""

TINY = 'certificate = "off"\n' + replaced(
    replaced(LENS, "cells_per_wavelength = 12", "cells_per_wavelength = 8"),
    "population = 16",
    "population = 4\ngenerations = 2",
)


@pytest.fixture(scope="module")
def horn(tmp_path_factory):
    path = tmp_path_factory.mktemp("horn") / "horn.toml"
    path.write_text(HORN)
    return path


@pytest.fixture(scope="module")
def outcome(horn):
    return ao.simulate(ao.load(horn))


def test_numbers_are_those_of_the_command_line(horn, outcome, capsys):
    assert main(["simulate", str(horn), "--json", "-", "--quiet"]) == 0
    said = json.loads(capsys.readouterr().out)
    ours = json.loads(json.dumps(outcome.to_dict()))
    assert {key: value for key, value in ours.items() if key != "seconds"} == {
        key: value for key, value in said.items() if key != "seconds"
    }


def test_keys_are_attributes(outcome):
    assert outcome.status == "ok" and outcome.certificate["verdict"] == "trusted"
    assert [one.frequency_hz for one in outcome.results] == [29e9, 30e9]
    entry = outcome.to_dict()["results"][1]
    assert {key: getattr(outcome.results[1], key) for key in entry} == entry
    with pytest.raises(AttributeError, match=r"no attribute 'gain'; it has .*certificate"):
        outcome.gain  # noqa: B018
    assert {"certificate", "grid", "results"} <= set(dir(outcome))


def test_a_notebook_shows_a_table(outcome):
    page = outcome._repr_html_()
    assert "Small horn" in page and "30 GHz" in page and f"{outcome.results[1].directivity_dbi:.2f}" in page
    assert repr(outcome).startswith("<Simulation of 'Small horn': ok, trusted")


def test_both_names_of_a_simulation_work(outcome):
    assert isinstance(outcome, ao.Simulation) and ao.Outcome is ao.Simulation
    assert {"Outcome", "Simulation"} <= set(ao.__all__)


def test_a_table_of_python_is_read_like_a_file(outcome):
    again = ao.simulate(tomllib.loads(HORN), cell=0.45e-3)
    assert again.to_dict()["results"] == outcome.to_dict()["results"]


def test_plot_draws_the_antenna(outcome):
    figure = ao.plot(outcome)
    titles = {axes.get_title(loc="left") for axes in figure.findobj(Axes)}
    assert "S11" in titles
    assert len(figure.subfigs) == 2


@pytest.mark.parametrize("frequency", ["30 GHz", 30.0, 30.1e9, 0.0])
def test_plot_of_a_frequency_that_is_not_solved_is_refused(outcome, frequency):
    """30.0 drew the field at the frequency nearest to 30 Hz, "30 GHz" was a TypeError."""
    with pytest.raises(ao.ConfigurationError, match=r"is not solved; give a number in Hz \(solved: .* for 30 GHz"):
        ao.plot(outcome, frequency=frequency)


@pytest.mark.parametrize("called", [ao.plot, ao.to_xarray])
def test_what_is_no_simulation_is_refused(called):
    """It was an AttributeError about a private name."""
    with pytest.raises(ao.ConfigurationError, match="takes what `simulate` returns, not <Antenna 'h', conical_horn"):
        called(ao.load(tomllib.loads(HORN) | {"title": "h"}))


def test_a_dataset_has_units_and_dimensions(outcome):
    data = ao.to_xarray(outcome)
    assert dict(data.sizes) == {"frequency": 2, "theta": 181}
    assert data.e_plane_dbi.sel(frequency=30e9, theta=0).item() == pytest.approx(
        outcome.results[1].directivity_dbi, abs=1e-12
    )
    assert abs(data.e_plane.sel(frequency=30e9, theta=0).item()) ** 2 == pytest.approx(
        10 ** (outcome.results[1].directivity_dbi / 10)
    )
    assert data.directivity_dbi.attrs["units"] == "dBi" and data.s11.dtype == complex
    assert abs(data.s11[1].item()) ** 2 == pytest.approx(10 ** (outcome.results[1].s11_db / 10))


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        (HORN, {"cell": "3"}, 'cell "3" '),
        (HORN, {"cell": "0.3 mm", "cells_per_wavelength": 20}, "exclude each other"),
        (HORN, {"backend": "gpu"}, "gpu is not known"),
        (LENS, {}, r"antenna\.lens\.radii\.0 is a range .* antennaopt\.optimise"),
        (HORN.replace("9 mm", "1 mm"), {}, "aperture_radius"),
    ],
)
def test_bad_input_is_refused_in_one_line(given, options, said):
    with pytest.raises(ao.ConfigurationError, match=said) as caught:
        ao.simulate(tomllib.loads(given), **options)
    assert "\n" not in str(caught.value)
    with pytest.raises(ao.ConfigurationError, match="takes an antenna"):
        ao.simulate(3)


def test_tables_of_families_and_metrics():
    assert ao.families["conical_horn"].name == "conical_horn" and "shaped_lens" in list(ao.families)
    assert ao.metrics["gain_dbi"].unit == "dBi" and "s11_db" in ao.metrics
    with pytest.raises(KeyError, match=r"'horn' is not in antennaopt\.families; it has open_waveguide"):
        ao.families["horn"]


def test_simulate_loads_neither_search_nor_farm_nor_store(horn):
    code = (
        "import sys, antennaopt as ao; ao.simulate(sys.argv[1]);"
        "print([one for one in ('deap', 'dask', 'distributed', 'pyarrow') if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(horn)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_run_from_a_guarded_script(tmp_path):
    """Its folder can be opened, and its best antenna solved again to the same bits."""
    (tmp_path / "lens.toml").write_text(TINY)
    script = tmp_path / "script.py"
    script.write_text(
        "import antennaopt as ao\n"
        "if __name__ == '__main__':\n"
        "    run = ao.optimise('lens.toml', backend='cpu', on_generation=lambda one: print(one.generation, one.best))\n"
        "    print(run.folder)\n"
    )
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True)
    *generations, folder = done.stdout.splitlines()
    assert [line.split()[0] for line in generations] == ["0", "1"]
    run = ao.open_run(tmp_path / folder)
    assert run.folder == Path(tmp_path / folder) and len(run.rows) == 6, "two elites are not solved again"
    best = run.best
    row = run.rows.set_index("individual").loc[best.individual]
    assert row["fitness"] == best.fitness
    again = ao.simulate(best)
    assert [one.directivity_dbi for one in again.results] == list(best.outcome["directivity_dbi"])


def test_a_script_without_a_guard_starts_no_process(tmp_path):
    (tmp_path / "lens.toml").write_text(TINY)
    script = tmp_path / "script.py"
    script.write_text("import antennaopt as ao\ndef go():\n    ao.optimise('lens.toml')\n\ngo()\n")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    assert 'line 5 of script.py; put it inside `if __name__ == "__main__":`' in done.stderr
    assert not (tmp_path / "results").exists()


def test_other_folders_and_antennas_without_ranges_are_refused(horn, tmp_path):
    with pytest.raises(ao.ConfigurationError, match="is not a run folder"):
        ao.open_run(tmp_path)
    with pytest.raises(ao.ConfigurationError, match="nothing to optimise"):
        ao.optimise(horn)


def test_an_experiment_whose_ranges_became_numbers_is_an_antenna(tmp_path):
    """It ended in an IndexError."""
    (tmp_path / "lens.toml").write_text(TINY)
    fixed = ao.load(tmp_path / "lens.toml").changed(antenna={"lens": {"radii": [12e-3] * 6}})
    assert ao.simulate(fixed, backend="cpu").results[0].directivity_dbi > 10.0


def test_arrays_and_numbers_of_numpy_are_those_of_python(horn):
    """They were read as text: "[2.6e+10 2.7e+10] must be a list"."""
    antenna, band = ao.load(horn), np.linspace(26e9, 28e9, 3)
    assert antenna.changed(solver={"frequencies": band}).frequencies == (26e9, 27e9, 28e9)
    cell = antenna.changed(solver={"cell": np.float32(3e-4), "pml_cells": np.int32(8)}).experiment.solver
    assert cell.cell == float(np.float32(3e-4)) and cell.pml_cells == 8
    table = tomllib.loads(Path(horn).read_text(encoding="utf-8"))
    table["solver"]["frequencies"] = np.array(["26 GHz", "27 GHz"])
    table["antenna"]["horn"]["length"] = np.str_("21 mm")
    read = ao.load(table)
    assert read.frequencies == (26e9, 27e9) and read.design["horn.length"] == 21e-3


def test_what_the_solver_refuses_is_a_configuration_error_too(horn):
    """It was `fdtd.errors.ConfigError`, which the documented `except ConfigurationError` let pass."""
    thin = ao.load(horn).changed(antenna={"horn": {"wall": 1e-5}})
    with pytest.raises(ao.ConfigurationError, match=r"horn\.wall = 0\.01 mm.* too thin for cells of 0\.45 mm"):
        ao.simulate(thin)


@pytest.mark.parametrize("given", [None, 3, b"lens.toml", ["lens.toml"]])
def test_what_is_neither_file_nor_table_is_refused(given):
    with pytest.raises(ao.ConfigurationError, match="load takes the path of a file or a table, not"):
        ao.load(given)
    with pytest.raises(ao.ConfigurationError, match="open_run takes the path of a run folder, not"):
        ao.open_run(given)


@pytest.mark.parametrize("given", ["run\0", "a" * 300])
def test_a_folder_that_cannot_be_one_is_refused(given):
    with pytest.raises(ao.ConfigurationError, match="cannot name a folder"):
        ao.open_run(given)


def test_a_change_that_is_no_table_is_refused(horn):
    with pytest.raises(ao.ConfigurationError, match="evolution = 3 is not a table"):
        ao.load(horn).changed(evolution=3)


def test_changed_entries_count_as_in_the_file(horn):
    """Another band kept the old design frequency, and names that are no entry changed nothing."""
    antenna = ao.load(horn)
    moved = antenna.changed(solver={"frequencies": [26e9, 27e9]}).experiment.solver
    assert moved.design_frequency == ao.load(horn).changed(solver={"frequencies": [27e9]}).frequencies[0] == 27e9
    given = antenna.changed(solver={"design_frequency": 29e9}).changed(solver={"frequencies": [26e9, 27e9]})
    assert given.experiment.solver.design_frequency == 29e9
    finer = antenna.changed(solver={"cells_per_wavelength": 25}).experiment.solver
    assert (finer.cell, finer.cells_per_wavelength) == (None, 25)
    assert antenna.changed(solver={"cell": 0.3e-3}).experiment.solver.cell == 0.3e-3
    stop = antenna.changed(evolution={"stop": {"stagnation": 9}}).changed(evolution={"stop": {"fitness": 0.1}})
    assert (stop.experiment.evolution.stop.stagnation, stop.experiment.evolution.stop.fitness) == (9, 0.1)
    crossover = antenna.changed(evolution={"crossover": {"kind": "blend"}}).changed(
        evolution={"crossover": {"alpha": 0.3}}
    )
    assert crossover.experiment.evolution.crossover.kind == "blend"
    filled = antenna.changed(antenna={"feed": {"permittivity": 1.5}})
    longer = filled.changed(antenna={"feed": {"length": 2.0 * antenna.design["feed.length"]}})
    assert longer.design == antenna.design | {
        "feed.permittivity": 1.5,
        "feed.length": 2.0 * antenna.design["feed.length"],
    }
    (goal,) = antenna.changed(objective=[{"metric": "gain_dbi", "at_least": 12}]).experiment.objectives
    assert goal.at_least == 12
    with pytest.raises(ao.ConfigurationError, match="frequencies is not a known key"):
        antenna.changed(frequencies=[26e9])
