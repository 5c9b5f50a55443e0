"""The yield of a run's antenna: exact where the answer is known, repeated to the bit, unsolved ones named.

The bowl of `cheap_lens` has 30 dBi at radii of 12, 13, 14, 15 mm, and 1/20 dB less a square millimetre of deviation.
With independent normal deviations the loss over its scale is chi-squared with four degrees of freedom.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from test_study_reuse import EXPERIMENT as COARSE
from test_study_reuse import TINY, serial

sys.path.insert(0, str(Path(__file__).parent.parent / "faults"))
import cheap_lens

import antennaopt as ao
from antennaopt.errors import ConfigurationError, Interrupted
from antennaopt.experiment import Experiment
from antennaopt.experiment.tolerance import spreads_written
from antennaopt.report.page import write_report
from antennaopt.report.tolerance import draw_spreads, yields_of
from antennaopt.run.progress import Progress
from antennaopt.run.start import run
from antennaopt.run.tolerance import Request, tolerance
from antennaopt.search.objectives import build
from antennaopt.search.yields import Share, account

SHARE = 0.7
SIGMA_MM = 0.2
LEVEL = 30.0 - SIGMA_MM**2 * chi2.ppf(SHARE, 4) / 20.0
TABLE = {"of": {"lens.radii": {"sigma": "0.2 mm"}}}
CENTRE = {"lens.radii": ["12 mm", "13 mm", "14 mm", "15 mm"]}


def carried_out(root, *, table=TABLE, level=LEVEL, **plan):
    experiment = Experiment.parse({
        **cheap_lens.EXPERIMENT,
        "evolution": {"population": 4, "generations": 1, "elites": 1, "start": [CENTRE]},
        "objective": [{"metric": "directivity_dbi", "at_least": level}],
        **({"tolerance": table} if table else {}),
    })  # fmt: skip
    plan = {**cheap_lens.PLAN, "sleep_s": 0.0, **plan}
    return run(experiment, root=root, plan=plan, evaluate=cheap_lens.bowl, farm=cheap_lens.serial, report=False).folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return carried_out(tmp_path_factory.mktemp("bowl"))


def computed(folder, evaluate=cheap_lens.bowl, progress=None, **asked):
    request = Request(**{"samples": 400, **asked})
    return tolerance(folder, request, evaluate=evaluate, farm=cheap_lens.serial, progress=progress)


def test_the_yield_is_that_of_the_distribution(finished):
    """Of 4,000 antennas 70 % meet the goal, by chi-squared; the truncation at 3 sigma adds 0.6 %.

    Five standard errors of a share of 0.7 are 0.036.
    """
    study = computed(finished, samples=4000)
    assert study.value == pytest.approx(SHARE, abs=0.036)
    assert study.interval[0] < study.value < study.interval[1]
    assert study.interval[1] - study.interval[0] == pytest.approx(2 * 1.96 * (0.7 * 0.3 / 4000) ** 0.5, rel=0.02)
    (goal,) = study.account.goals
    loss = SIGMA_MM**2 / 20.0
    assert goal.design.value == pytest.approx(30.0)
    assert goal.q50 == pytest.approx(30.0 - loss * chi2.ppf(0.5, 4), abs=0.1 * loss)
    assert goal.q05 == pytest.approx(30.0 - loss * chi2.ppf(0.95, 4), abs=0.6 * loss)
    assert goal.q95 == pytest.approx(30.0 - loss * chi2.ppf(0.05, 4), abs=0.1 * loss)
    assert goal.mean == pytest.approx(30.0 - 4.0 * loss, abs=0.3 * loss)
    assert goal.worst < goal.q05


def test_rows_data_and_drawing(finished):
    study = computed(finished, samples=50)
    frame = pd.read_parquet(study.file)
    assert list(frame["sample"]) == list(range(51))
    assert set(frame["individual"]) == {study.individual}
    assert frame["met"][1:].sum() == study.account.share.met
    radii = frame[[f"lens_radii_{place}_mm" for place in range(4)]].to_numpy()
    assert radii[0] == pytest.approx([12.0, 13.0, 14.0, 15.0])
    loss = ((radii - radii[0]) ** 2).sum(axis=1) / 20.0
    assert frame["directivity_dbi_30000mhz"].to_numpy() == pytest.approx(30.0 - loss)
    assert frame["margin_0_directivity_dbi"].to_numpy() == pytest.approx(30.0 - loss - LEVEL)
    assert (frame["met"] == (frame["margin_0_directivity_dbi"] >= 0.0)).all()
    written = json.loads(study.file.with_suffix(".json").read_text())
    assert written == json.loads(json.dumps(study.to_dict()))
    assert written["yield"]["met"] == study.account.share.met
    assert study.plot.read_text().startswith("<?xml")
    assert study.rows.equals(frame)


def test_values_that_are_all_alike_are_drawn(tmp_path):
    goal = {"heading": "S11 (dB)", "decimals": 2, "at_least": None, "at_most": -15.0, "design": -17.3}
    goal |= {"q05": -17.3, "q95": -17.3}
    alike = np.full(400, -17.3) + np.arange(400) % 2 * 4e-15  # a range of one unit in the last place
    path = draw_spreads(tmp_path / "a.svg", {"goals": [goal], "yield": {"text": "100 %"}}, [alike], title="g0000-i0000")
    assert path.stat().st_size > 1000


def test_the_same_seed_gives_the_same_antennas(finished):
    """And the first of many are those of few."""
    frames = [computed(finished, samples=count, seed=seed).rows for count, seed in ((30, 5), (30, 5), (12, 5), (30, 6))]
    columns = [f"lens_radii_{place}_mm" for place in range(4)]
    assert frames[0].equals(frames[1])
    assert frames[0].iloc[:13].equals(frames[2])
    assert not (frames[0][columns].iloc[1:] == frames[3][columns].iloc[1:]).any().any()


def test_correlated_deviations_are_one(finished):
    of = {"lens.radii": {"sigma": "0.2 mm", "correlated": True}}
    table = {"of": of}
    study = computed(carried_out(finished.parent.parent / "one", table=table), samples=20)
    radii = study.rows[[f"lens_radii_{place}_mm" for place in range(4)]].to_numpy()
    assert np.ptp(radii - [12.0, 13.0, 14.0, 15.0], axis=1) == pytest.approx(0.0, abs=1e-9)
    assert [one.deviation for one in study.account.influences] == ["lens.radii"]


def test_what_matters_most_comes_first(tmp_path):
    """Off the centre in one radius by 2 mm, that radius alone decides."""
    folder = carried_out(tmp_path, level=29.0)
    frame = ao.open_run(folder).rows
    worst = frame.sort_values("fitness")["individual"].iloc[-1]
    best = frame.sort_values("fitness")["individual"].iloc[0]
    row = frame.set_index("individual").loc[worst]
    off = np.abs([row[f"lens_radii_{place}_mm"] - 12.0 - place for place in range(4)])
    study = computed(folder, individual=worst, samples=300)
    assert study.account.influences[0].deviation == f"lens.radii.{off.argmax()}"
    assert study.account.influences[0].strongest > 0.5
    assert computed(folder, individual=best, samples=60).account.influences[0].strongest < 0.5


def test_antennas_that_cannot_be_made_miss_their_goals(tmp_path):
    """Permittivity 1.2 with a standard deviation of 1: 42 % are below 1."""
    experiment = {**cheap_lens.EXPERIMENT["antenna"]}
    experiment["lens"] = {**experiment["lens"], "permittivity": 1.2}
    before = cheap_lens.EXPERIMENT["antenna"]
    cheap_lens.EXPERIMENT["antenna"] = experiment
    try:
        folder = carried_out(tmp_path, table={"of": {"lens.permittivity": {"sigma": 1.0}}}, level=20.0)
    finally:
        cheap_lens.EXPERIMENT["antenna"] = before
    study = computed(folder, samples=400)
    thin = (study.rows["lens_permittivity"] < 1.0).to_numpy()
    assert 100 < thin.sum() < 250
    assert study.account.statuses == {"infeasible": int(thin.sum()), "ok": int(400 - thin.sum())}
    assert study.account.share.met == 400 - thin.sum()
    assert study.account.share.judged == 400
    error = study.rows["error"][thin].iloc[0]
    assert error.startswith("antenna.lens.permittivity = ")
    assert "cannot be made (must be >= 1" in error


def test_faults_of_the_farm_do_not_count(tmp_path):
    folder = carried_out(tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert "fault" not in manifest["plan"]

    def sometimes_lost(family, designs, plan, **given):
        found = cheap_lens.bowl(family, designs, plan, **given)
        return [
            cheap_lens.report("lost", design) if design["lens.radii.0"] > 0.0122 else one
            for design, one in zip(designs, found, strict=True)
        ]

    study = computed(folder, sometimes_lost, samples=100)
    lost = study.account.statuses["lost"]
    assert 5 < lost < 40
    assert study.account.share.judged == 100 - lost
    assert study.account.not_judged == lost
    assert study.rows["met"].isna().sum() == lost


class Signals(Progress):
    """Sends the signal of Ctrl-C after some antennas."""

    def __init__(self, after):
        self.after = after

    def sampled(self, outcome, *, done, met):
        import signal

        if done == self.after:
            signal.raise_signal(signal.SIGINT)


def test_an_interrupted_one_says_what_is_kept(finished):
    with pytest.raises(Interrupted, match=r"interrupted after \d+ of 101 antennas; without the evaluation cache"):
        computed(finished, progress=Signals(7), samples=100)


def test_the_page_shows_it(tmp_path, finished, blank_figures):
    folder = shutil.copytree(finished, tmp_path / finished.name)
    shutil.rmtree(folder / "tolerance", ignore_errors=True)
    write_report(folder)
    assert 'id="yield"' not in (folder / "report.html").read_text()
    study = computed(folder, samples=40)
    write_report(folder)
    page = (folder / "report.html").read_text()
    assert 'id="yield"' in page
    assert f"{study.account.share.met} of 40" in page
    whole = study.to_dict()
    vast = {**whole["goals"][0], "mean": 10**400}
    for damaged in (
        {"individual": 3},
        [],
        {**whole, "goals": [{}]},
        {**whole, "goals": [vast]},
        {**whole, "seed": "1"},
    ):
        study.file.with_suffix(".json").write_text(json.dumps(damaged))
        assert yields_of(folder) == []
    write_report(folder)
    assert 'id="yield"' not in (folder / "report.html").read_text()


def test_a_link_is_not_followed(tmp_path, finished):
    folder = shutil.copytree(finished, tmp_path / finished.name)
    shutil.rmtree(folder / "tolerance", ignore_errors=True)
    (tmp_path / "elsewhere").mkdir()
    (folder / "tolerance").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ao.ResumeRefusedError, match="tolerance is a link"):
        computed(folder, samples=5)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_refusals(finished, tmp_path):
    without = carried_out(tmp_path, table=None)
    for folder, asked, expected in [
        (without, {}, "has no [tolerance]; give one with --of"),
        (finished, {"individual": "g0009-s001"}, "--individual g0009-s001 is not in"),
        (finished, {"samples": 0}, "samples = 0 must be a whole number"),
        (finished, {"of": {"lens.radi": {"sigma": "1 mm"}}}, "tolerance of lens.radi is not a parameter"),
        (finished, {"of": {"lens.radii": {"sigma": 0.2}}}, "tolerance of lens.radii.sigma = 0.2 has no unit"),
        (finished, {"of": {"lens.radii": {"sigma": "9 mm"}}}, "more than the range of antenna.lens.radii.0"),
    ]:
        with pytest.raises(ConfigurationError) as refusal:
            computed(folder, **asked)
        assert expected in str(refusal.value)
        assert "\n" not in str(refusal.value)


def test_constraints_count_and_aims_have_spreads(tmp_path):
    """A constraint that nothing meets leaves no yield; an aim has no bound, so it is met."""
    before = dict(cheap_lens.EXPERIMENT)
    cheap_lens.EXPERIMENT |= {"constraint": [{"metric": "hpbw_e_deg", "at_least": 100.0}]}
    try:
        folder = carried_out(tmp_path)
    finally:
        del cheap_lens.EXPERIMENT["constraint"]
    assert before == cheap_lens.EXPERIMENT
    study = computed(folder, samples=20, individual="g0000-s000")
    directivity, width = study.account.goals
    assert (study.value, width.met) == (0.0, 0)
    assert directivity.met > 5
    goals = build([{"metric": "directivity_dbi", "aim": "largest"}])
    outcomes = [
        {"status": "ok", "origin": None, "frequency_hz": [3e10], "directivity_dbi": [value]} for value in range(9)
    ]
    found = account(["x"], np.arange(9.0)[:, None], outcomes, outcomes[4], goals)
    assert (found.share.value, found.goals[0].worst, found.goals[0].q50) == (1.0, 0, 4.0)
    assert found.influences[0].correlations == pytest.approx((1.0,))


def test_tolerances_of_the_command_line():
    assert spreads_written(["lens.radii=0.02 mm, correlated", "lens.permittivity = 0.025,uniform"]) == {
        "lens.radii": {"sigma": "0.02 mm", "kind": "normal", "correlated": True},
        "lens.permittivity": {"sigma": 0.025, "kind": "uniform", "correlated": False},
    }
    for text in ("lens.radii", "lens.radii=", "=1 mm", "lens.radii=1 mm, gauss"):
        with pytest.raises(ConfigurationError, match="is not of the form NAME=SIGMA"):
            spreads_written([text])


def test_intervals():
    """Wilson's interval of 8 of 10 (Brown, Cai and DasGupta, 2001) and the ends."""
    assert (Share.of(8, 10).low, Share.of(8, 10).high) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert Share.of(0, 50).low == 0.0
    assert Share.of(50, 50).high == pytest.approx(1.0)
    assert Share.of(0, 0).value is None
    assert Share.of(33, 150).text() == "22.0 % (95 % interval 16.1 to 29.3 %)"


def test_with_real_fields(tmp_path, call):
    """The command and Python give equal numbers; what was solved comes from the cache, also after a kill."""
    table = {"of": {"lens.radius": {"sigma": "0.05 mm"}, "lens.permittivity": {"sigma": 0.025, "kind": "uniform"}}}
    experiment = Experiment.parse({**COARSE, "evolution": TINY, "tolerance": table, "cluster": {"workers": 1}})
    folder = run(experiment, root=tmp_path, farm=serial, report=False, cache=tmp_path / "cache").folder
    options = {"farm": serial, "cache": tmp_path / "cache"}
    with pytest.raises(Interrupted, match="the same command goes on"):
        tolerance(folder, Request(samples=12), progress=Signals(8), **options)
    study = tolerance(folder, Request(samples=12), **options)
    assert study.account.origins["cache"] >= 6
    assert study.rows["origin"].isna().sum() >= 3
    fresh = tolerance(folder, Request(samples=12), farm=serial, cache="off")
    accidental = ["seconds", "worker", "origin"]
    assert fresh.rows.drop(columns=accidental).equals(study.rows.drop(columns=accidental))
    code, out, err = call("tolerance", folder, "--samples", 12, "--cache", tmp_path / "cache", "--json", "yield.json")
    assert (code, err.count("Traceback")) == (0, 0)
    assert f"{study.account.share.met} of 12 made antennas meet all goals" in out
    assert "lens.radius" in out
    said = json.loads(Path("yield.json").read_text())
    assert said["yield"] == study.to_dict()["yield"]
    assert said["goals"] == study.to_dict()["goals"]
    other = tolerance(folder, Request(samples=3, of={"lens.extension": {"sigma": "0.05 mm"}}), **options)
    assert list(other.tolerance) == ["lens.extension"]
