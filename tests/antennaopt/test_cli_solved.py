"""The commands with the solver behind them, on antennas small enough to be solved in a second."""

import json

import pytest
from config_files import LENS, WAVEGUIDE

from antennaopt.experiment import load_experiment
from antennaopt.run.planning import plan_for


@pytest.fixture
def call(call, tmp_path, monkeypatch):
    (tmp_path / "guide.toml").write_text(WAVEGUIDE)
    return call


def test_an_open_waveguide_comes_out_as_published(call, tmp_path):
    """Values of an independent finite-element solution; 0.6 mm cells, 0.06 wavelengths, are worth 0.3 dB."""
    code, out, err = call("simulate", "guide.toml", "--cell", "0.6 mm", "--json", "-", "--plot", "guide.png", "-q")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert data["cells"] == data["grid"][0] * data["grid"][1]
    assert data["cell"] == 0.0006
    for entry, directivity in zip(data["results"], (8.031, 8.284, 8.417), strict=True):
        assert abs(entry["directivity_dbi"] - directivity) < 0.3
    assert (tmp_path / "guide.png").read_bytes().startswith(b"\x89PNG")


def test_both_backends_agree_through_the_command(call):
    results = []
    for backend in ("cpu", "reference"):
        code, out, _ = call("simulate", "guide.toml", "--cell", "0.72 mm", "--backend", backend, "--json", "-", "-q")
        assert code == 0
        results.append(json.loads(out))
    assert [one["backend"] for one in results] == ["cpu", "reference"]
    for one, other in zip(*(data["results"] for data in results), strict=True):
        assert abs(one["directivity_dbi"] - other["directivity_dbi"]) < 1e-3
        assert abs(one["s11_db"] - other["s11_db"]) < 1e-2


def test_bench_kernels_prints_the_promised_rows(call):
    code, out, _ = call("bench", "kernels", "--grid", "60x100", "--steps", "32", "--repeat", "2", "--json", "-")
    assert code == 0
    for row in json.loads(out):
        assert row["shape"] == [60, 100]
        assert row["cell_steps_per_s"] > 0
        keys = {"stencil", "scheme", "backend", "device", "dtype", "batch", "steps", "spread", "ratio_to_one_step"}
        assert keys <= set(row)


def test_bench_kernels_skews_over_as_many_levels_as_it_is_told(call, monkeypatch):
    """All 200 steps in one trip, past the looks at the energy 160 steps apart."""
    trips = []
    monkeypatch.setattr(
        "fdtd.backends.cpu.run",
        lambda problem, **told: trips.append(min(told["steps_per_sweep"], problem.sampling.check_every)),
    )
    timed = ("--backend", "cpu", "--grid", "60x100", "--steps", "200", "--repeat", "1", "--json", "-")
    code, out, _ = call("bench", "kernels", *timed, "--levels", "200")
    assert code == 0
    assert [row["levels"] for row in json.loads(out)] == [1, 200]
    assert trips[-1] == 200
    code, _, err = call("bench", "kernels", "--backend", "reference", "--levels", "4")
    assert (code, "--levels is of skewed on the CPU" in err) == (2, True)


def test_bench_evaluate_tells_the_stages_apart(call):
    code, out, _ = call(
        "bench", "evaluate", "guide.toml", "--batch", "1", "--repeat", "1", "--set", "solver.cell=0.72 mm"
    )
    assert code == 0
    assert "stage_seconds.step" in out
    assert "antennas_per_s" in out


def test_a_grid_that_no_memory_holds_is_refused(call):
    code, out, err = call("simulate", "guide.toml", "--cell", "0.05 um", "-q")
    assert (code, out) == (2, "")
    assert "TiB (this machine has" in err
    assert err.count("\n") == 1


def test_validate_shows_the_grid_that_simulate_uses(call):
    _, out, _ = call("simulate", "guide.toml", "--cell", "0.72 mm", "--json", "-", "-q")
    nr, nz = json.loads(out)["grid"]
    assert f"{nr} x {nz} cells" in call("validate", "guide.toml", "--set", "solver.cell=0.72 mm")[1]


RUN = ("run", "lens.toml", "--backend", "cpu")  # `auto` would say first why it takes which
LINES = (*RUN, "--dry-run"), RUN, ("validate", "lens.toml")


@pytest.mark.parametrize("arguments", LINES)
def test_memory_of_the_certificate_counts_too(call, tmp_path, monkeypatch, arguments):
    """Half the cell takes near four times the memory: what holds the search may not hold its certificates."""
    (tmp_path / "lens.toml").write_text(LENS)
    overrides = ("--set", "cluster.workers=2")
    plan = plan_for(load_experiment(tmp_path / "lens.toml"))
    monkeypatch.setattr("antennaopt.solve.capacity.memory_bytes", lambda: 2 * plan["memory_bytes"] - 1)
    code, _, err = call(*arguments, *overrides)
    assert code == 2
    assert err.startswith("error: the grid of") and "for 2 antennas at a time" in err
    monkeypatch.setattr("antennaopt.solve.capacity.memory_bytes", lambda: 3 * plan["memory_bytes"])
    code, _, err = call(*arguments, *overrides)
    assert code == 2
    assert err.startswith("error: the certificate's grid of")
    assert 'or certificate.mode = "off"' in err
    assert err.count("\n") == 1


def test_validate_knows_what_no_memory_holds(call, tmp_path):
    code, _, err = call("validate", "guide.toml", "--set", "solver.cell=0.05 um")
    assert code == 2
    assert "TiB (this machine has" in err
