"""A feed whose port carries a mode of the solved order that is not measured makes an antenna doubtful.

TM11's cutoff in a guide of radius a is c j_11/(2 pi a), j_11 = 3.8317: 50.78 GHz for 3.6 mm. At 60 GHz an open
waveguide reflects 1.4 % of the accepted power into it; a balance without it, which may be 2 % off, does not notice.
"""

import json

import cheap_evaluation
import numpy as np
import pytest
from config_files import LENS
from run_examples import COLUMNS, row, solved
from scipy.special import jn_zeros, jnp_zeros

from antennaopt.experiment import load_experiment
from antennaopt.families.parameters import first_unmeasured
from antennaopt.farm.farm import SerialFarm
from antennaopt.run.start import run
from antennaopt.solve.certificate import certify, doubts, passes, reason
from antennaopt.store.schema import RunColumns
from fdtd.axisymmetric.modes import MODES

RADIUS = 3.6e-3
CUTOFF = 3.8317059702075125 * 299792458.0 / (2 * np.pi * RADIUS)
GUIDE = """
[antenna]
family = "open_waveguide"
[antenna.feed]
inner_radius = "3.6 mm"
outer_radius = "4.0 mm"
length = "20 mm"
[solver]
frequencies = [{frequencies}]
cell = "0.3 mm"
"""


def sound(**changes):
    """An outcome that is trusted."""
    return solved(power_balance=[1.0, 1.0], contour_balance=[1.0, 1.0], **changes)


def simulated(call, tmp_path, frequencies, *options):
    (tmp_path / "guide.toml").write_text(GUIDE.format(frequencies=frequencies))
    code, out, err = call("simulate", "guide.toml", "--json", "-", *options)
    assert code == 0
    return json.loads(out), err


def test_modes_are_named_in_order_of_their_cutoffs():
    zeros = {f"TE1{n}": x for n, x in enumerate(jnp_zeros(1, 9), 1)} | {
        f"TM1{n}": x for n, x in enumerate(jn_zeros(1, 9), 1)
    }
    assert tuple(sorted(zeros, key=zeros.__getitem__)) == MODES
    measured = []
    for name in MODES[:-1]:
        assert first_unmeasured(RADIUS, measured) == (name, pytest.approx(CUTOFF * zeros[name] / zeros["TM11"]))
        measured.append(name)
    assert first_unmeasured(RADIUS) == ("TM11", pytest.approx(CUTOFF))


def test_a_port_that_carries_tm11_measures_it_and_is_trusted(call, tmp_path):
    """At 60 GHz 1.40 % of the incident power comes back in TM11; with it the balance closes as it does below."""
    result, err = simulated(call, tmp_path, '"45 GHz", "60 GHz"')
    assert result["certificate"]["verdict"] == "trusted"
    assert result["certificate"]["modes"]["figure"] == pytest.approx(
        max(45e9 / CUTOFF, 60e9 / (CUTOFF * 5.3314 / 3.8317)), rel=1e-4
    )
    below, above = result["results"]
    assert [one["name"] for one in below["modes"]] == ["TE11"]
    assert [(one["name"], one["plane"], one["direction"]) for one in above["modes"]] == [
        ("TE11", 0.0, "reflected"), ("TM11", 0.0, "reflected")
    ]  # fmt: skip
    assert below["modes"][0]["s"] == below["s11"] and above["modes"][0]["s"] == above["s11"]
    assert 0.012 < sum(part**2 for part in above["modes"][1]["s"]) < 0.016
    assert above["power_balance"] == pytest.approx(1.0, abs=0.002)
    returned = sum(part**2 for one in above["modes"] for part in one["s"])
    realised = above["gain_dbi"] + 10 * np.log10(1 - returned)
    assert above["realized_gain_dbi"] == pytest.approx(realised, abs=1e-3)
    assert "TM11 cutoff" in err and "warning: certificate" not in err


def test_a_port_told_to_measure_te11_alone_is_doubtful_and_says_which_mode(call, tmp_path):
    """1.45 % of the accepted power is missing: within the balance's 2 %, so this check alone notices."""
    result, err = simulated(call, tmp_path, '"60 GHz"', "--set", 'solver.report_modes=[{plane="0 mm",modes=["TE11"]}]')
    certificate = result["certificate"]
    assert 0.98 < result["power_balance"] < 0.99
    assert [name for name, check in certificate.items() if name != "verdict" and not check["passed"]] == ["modes"]
    assert certificate["verdict"] == "doubtful"
    assert certificate["modes"]["figure"] == pytest.approx(60e9 / CUTOFF)
    because = "at 60 GHz TM11 propagates in the feed of inner radius 3.6 mm, cutoff 50.78 GHz"
    assert certificate["modes"]["because"] == because
    assert f"warning: certificate: modes = 1.181 (must be <= 1; {because})" in err


def test_below_the_cutoff_all_power_is_accounted_for(call, tmp_path):
    result, err = simulated(call, tmp_path, '"45 GHz"')
    assert result["certificate"]["verdict"] == "trusted"
    assert result["certificate"]["modes"]["figure"] == pytest.approx(45e9 / CUTOFF)
    assert result["power_balance"] == pytest.approx(1.0, abs=0.002)
    assert "warning: certificate" not in err


def test_extrapolated_figures_have_modes_too(call, tmp_path):
    result, _ = simulated(call, tmp_path, '"60 GHz"', "--extrapolate")
    assert result["certificate"]["modes"]["passed"] is True
    meshes = [one["results"][0]["modes"] for one in result["meshes"]]
    found = result["results"][0]["modes"]
    assert [one["name"] for one in found] == ["TE11", "TM11"]
    for limit, coarse, fine in zip(found, *meshes, strict=True):
        for at, value in enumerate(limit["s"]):  # from the finer mesh on, in the way from the coarser one
            assert (value - fine["s"][at]) * (fine["s"][at] - coarse["s"][at]) >= 0.0
    assert found[0]["s"] == result["results"][0]["s11"]


def test_the_highest_frequency_counts_and_the_cutoff_itself_passes():
    good = sound(frequency_hz=[CUTOFF * 0.9, CUTOFF, CUTOFF * 0.8])
    assert certify(good, feed_radius=RADIUS)["modes"]["figure"] == pytest.approx(1.0)
    assert certify({**good, "frequency_hz": [30e9]}, feed_radius=RADIUS)["verdict"] == "trusted"
    above = certify({**good, "frequency_hz": [30e9, CUTOFF * 1.0001, 31e9]}, feed_radius=RADIUS)
    assert above["verdict"] == "doubtful"
    assert len(doubts(above)) == 1 and "TM11" in str(reason(above))
    unknown = certify({**good, "frequency_hz": []}, feed_radius=RADIUS)
    assert (unknown["verdict"], reason(unknown)) == ("doubtful", "modes = unknown (must be <= 1)")


def test_a_mode_counts_as_measured_where_the_port_reports_it():
    def wave(name, direction="reflected"):
        return {"plane": 0.0, "name": name, "direction": direction, "s": [0.1, 0.0]}

    good = sound(frequency_hz=[CUTOFF * 0.9, CUTOFF * 1.2])
    port = [[wave("TE11")], [wave("TE11"), wave("TM11")]]
    assert certify({**good, "modes": port}, feed_radius=RADIUS)["verdict"] == "trusted"
    assert passes({**good, "modes": port}, RADIUS)
    for other in ([port[0], port[0]], [port[0], [wave("TE11"), wave("TM11", "forward")]]):
        assert certify({**good, "modes": other}, feed_radius=RADIUS)["verdict"] == "doubtful"
        assert not passes({**good, "modes": other}, RADIUS)
    higher = certify({**good, "frequency_hz": [CUTOFF * 0.9, CUTOFF * 1.5], "modes": port}, feed_radius=RADIUS)
    assert "TE12 propagates" in str(reason(higher))


def test_rows_of_a_run_say_it():
    narrow = RunColumns.from_dict({**COLUMNS.to_dict(), "feed_radius": RADIUS})
    wide = RunColumns.from_dict({**COLUMNS.to_dict(), "feed_radius": 2 * RADIUS})
    older = RunColumns.from_dict({key: value for key, value in COLUMNS.to_dict().items() if key != "feed_radius"})
    found = [row(columns, outcome=sound()) for columns in (narrow, wide, older)]
    assert [one["certificate"] for one in found] == ["trusted", "doubtful", "trusted"]
    assert "at 30 GHz TM11 propagates in the feed of inner radius 7.2 mm" in found[1]["certificate_reason"]
    with pytest.raises(ValueError, match="feed_radius"):
        RunColumns.from_dict({**COLUMNS.to_dict(), "feed_radius": 0.0})


def test_a_run_keeps_the_feed_and_its_best_are_doubtful(tmp_path, monkeypatch):
    """31.5 GHz in a guide of 5.9 mm, cutoff 30.99 GHz: rows, certificates and the last line."""
    monkeypatch.setattr("antennaopt.solve.plan.plan", cheap_evaluation.plan)
    text = LENS.replace("3.6 mm", "5.9 mm").replace("4.0 mm", "6.4 mm")
    changes = ("evolution.population=8", "evolution.generations=2", 'certificate.mode="strict"')
    (tmp_path / "lens.toml").write_text(text)
    experiment = load_experiment(tmp_path / "lens.toml", changes)

    def solve(family, designs, plan, *, backend="cpu", fields=False):
        return [cheap_evaluation.outcome(design, plan) for design in designs]

    def farm(experiment, *, plan, backend, scheduler=None, evaluate=None):
        return SerialFarm(solve, family=experiment.family, plan=plan, backend=backend)

    summary = run(experiment, root=tmp_path / "results", source=text, overrides=changes, farm=farm, evaluate=solve,
                  report=False)  # fmt: skip
    assert json.loads((summary.folder / "manifest.json").read_text())["columns"]["feed_radius"] == 5.9e-3
    assert {one["modes"]["passed"] for one in summary.certificates.values()} == {False}
    assert "at 31.5 GHz TM11 propagates in the feed of inner radius 5.9 mm" in summary.certificate
