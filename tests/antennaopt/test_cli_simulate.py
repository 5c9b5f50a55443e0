"""`simulate`: its outputs, its JSON object, and antennas of a run; the solver is replaced by arithmetic."""

import json
import sys
from types import SimpleNamespace

import cheap_evaluation
import pytest
from config_files import LENS, WAVEGUIDE, replaced

from antennaopt.run import start  # noqa: F401 - knows the true plan before the tests replace it
from antennaopt.solve.certificate import ONE_MESH, certify

FIXED = replaced(LENS, '{ count = 6, min = "8 mm", max = "20 mm" }', '["17 mm", "16 mm", "9 mm"]')
KEYS = (
    *("frequency_hz", "s11", "s11_db", "directivity_dbi", "max_directivity_dbi", "gain_dbi", "radiation_efficiency"),
    *("hpbw_e_deg", "hpbw_h_deg", "sidelobe_db", "front_to_back_db", "crosspol_db"),
    *("theta_deg", "e_plane_dbi", "h_plane_dbi", "e_plane", "h_plane"),
)


@pytest.fixture
def call(call, tmp_path, monkeypatch):
    monkeypatch.setattr("antennaopt.solve.plan.plan", cheap_evaluation.plan)
    fake = SimpleNamespace(evaluate=cheap_evaluation.evaluate)
    monkeypatch.setitem(sys.modules, "antennaopt.solve.evaluate", fake)
    cheap_evaluation.CALLS.clear()
    (tmp_path / "lens.toml").write_text(FIXED)
    (tmp_path / "guide.toml").write_text(WAVEGUIDE)
    return call


def test_prints_a_table_on_stdout_and_progress_on_stderr(call):
    code, out, err = call("simulate", "lens.toml")
    assert code == 0
    assert "28.5 GHz" in out
    assert "directivity on axis (dBi)" in out
    assert "none" in out
    assert out.splitlines()[-2].endswith("; ok, trusted, one mesh") and out.splitlines()[-1] == ONE_MESH
    assert err.startswith("solving 64 x 96 cells of 0.3 mm with cpu")


def test_quiet_says_nothing(call):
    assert call("simulate", "lens.toml", "--quiet", "--json", "lens.json") == (0, "", "")


def test_json_has_the_promised_keys(call, tmp_path):
    code, out, _ = call("simulate", "lens.toml", "--json", "-")
    assert code == 0
    data = json.loads(out)
    assert [entry["frequency_hz"] for entry in data["results"]] == [28.5e9, 30e9, 31.5e9]
    for entry in data["results"]:
        assert set(KEYS) <= set(entry)
        assert len(entry["theta_deg"]) == len(entry["e_plane_dbi"]) == 181
    assert (data["cells"], data["steps"], data["backend"], data["status"]) == (64 * 96, 1234, "cpu", "ok")
    assert data["seconds"] == 0.01
    assert data["power_balance"] == 1.001
    assert data["certificate"]["verdict"] == "trusted"
    assert data["certificate"]["balance"]["passed"] is True
    call("simulate", "lens.toml", "--json", "lens.json")
    assert json.loads((tmp_path / "lens.json").read_text()) == data


def test_the_cell_reaches_the_plan(call):
    call("simulate", "lens.toml", "--cell", "0.2 mm", "--backend", "reference")
    (_, family, lower, upper, solver), (_, _, _, _, backend, _) = cheap_evaluation.CALLS
    assert family.name == "shaped_lens"
    assert lower == upper
    assert (solver["cell"], solver["cells_per_wavelength"]) == (0.0002, None)
    assert backend == "reference"
    cheap_evaluation.CALLS.clear()
    call("simulate", "guide.toml", "--cells-per-wavelength", "33")
    solver = cheap_evaluation.CALLS[0][-1]
    assert (solver["cell"], solver["cells_per_wavelength"]) == (None, 33.0)


def test_files_beside(call, tmp_path):
    code, _, err = call("simulate", "lens.toml", "--csv", "lens.csv", "--touchstone", "lens.s1p")
    assert code == 0
    assert (tmp_path / "lens.csv").read_text().startswith("frequency_hz")
    assert "Hz" in (tmp_path / "lens.s1p").read_text()
    assert "wrote lens.csv" in err


def test_an_antenna_that_cannot_be_built(call, tmp_path):
    (tmp_path / "thin.toml").write_text(replaced(FIXED, '"17 mm", "16 mm"', '"1 mm", "2 mm"'))
    code, out, err = call("simulate", "thin.toml", "--json", "thin.json", "-q")
    assert code == 2
    assert out == ""
    assert err == "error: the antenna cannot be built: the lens is too thin\n"
    data = json.loads((tmp_path / "thin.json").read_text())
    assert (data["status"], data["results"]) == ("infeasible", [])


def test_an_antenna_that_diverged(call, monkeypatch):
    bad = {"status": "diverged", "error": "fields are not finite", "decay_db": float("nan"), "steps": 9}
    monkeypatch.setattr(sys.modules["antennaopt.solve.evaluate"], "evaluate", lambda *_, **__: [bad])
    code, out, err = call("simulate", "lens.toml", "--json", "-", "-q")
    assert code == 7
    assert json.loads(out)["certificate"]["verdict"] == "doubtful"
    assert err == "error: the antenna was not solved: diverged, fields are not finite\n"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("decay", {"decay_db": -40.0}),
        ("decay", {"decay_db": None}),
        ("passive", {"s11": [[1.0, 0.1]]}),
        ("passive", {"s11": []}),
        ("contour", {"contour_balance": [1.0, 1.02]}),
        ("balance", {"power_balance": [0.97, 1.0]}),
        ("balance", {"power_balance": [float("nan"), 1.0]}),
    ],
)
def test_a_doubtful_certificate_names_its_check(name, change):
    good = cheap_evaluation.outcome({}, {"frequencies": [3e10], "nr": 1, "nz": 1})
    assert certify(good)["verdict"] == "trusted"
    certificate = certify({**good, **change})
    assert certificate["verdict"] == "doubtful"
    assert [key for key, check in certificate.items() if isinstance(check, dict) and not check["passed"]] == [name]


def test_validate_says_what_a_file_holds(call, tmp_path):
    (tmp_path / "search.toml").write_text(LENS)
    code, out, _ = call("validate", "search.toml")
    assert code == 0
    assert "lens.radii.5: 8 mm to 20 mm" in out
    assert "directivity_dbi at least 18" in out
    assert "64 x 96 cells" in out
    assert "antennaopt run" in out
    assert "antennaopt simulate" in call("validate", "lens.toml")[1]


def test_validate_names_the_frequencies_of_a_goal(call, tmp_path):
    (tmp_path / "search.toml").write_text(LENS + 'frequencies = ["28.5 GHz", "30 GHz"]\n')
    _, out, _ = call("validate", "search.toml")
    assert "objective    directivity_dbi at least 18, weight 1\n" in out
    assert "objective    s11_db at most -15 at 28.5 GHz, 30 GHz, weight 1\n" in out


def test_a_guide_that_carries_tm01_is_warned_of(call, tmp_path):
    (tmp_path / "wide.toml").write_text(replaced(WAVEGUIDE, '"3.6 mm"', '"3.8 mm"'))
    code, _, err = call("simulate", "wide.toml")
    assert code == 0
    assert "warning: solver.frequencies: 31.5 GHz lies above the TM01 cutoff" in err
