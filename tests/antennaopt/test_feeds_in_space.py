"""Figures of feeds that need the field at all phi: of antennas in space, against far-field files, in a search."""

from __future__ import annotations

import contextlib
import io
import json

import numpy as np
import pytest
from antennas_in_space import loaded
from patch_files import PROBE, STUDY, changed
from scipy.constants import c
from scipy.integrate import simpson
from scipy.interpolate import CubicSpline
from scipy.signal import resample
from test_far_field_files import read_ffs
from test_pyramidal_horn_family import HORN

from antennaopt import cli
from antennaopt.experiment import load_experiment
from antennaopt.farm.farm import SerialFarm
from antennaopt.figures import figure_of
from antennaopt.run.start import run
from antennaopt.solve.arithmetic import arithmetic
from antennaopt.solve.figures import planned, with_figures
from antennaopt.solve.outcome import Outcome, fault_of
from antennaopt.solve.solvers import evaluator_of, planner_of
from antennaopt.store import load
from antennaopt.store.packing import packed, unpacked
from antennaopt.store.run_folder import RunFolder

CONES = 20, 50, 90
PARTS = "spillover", "bor1", "polarisation", "illumination", "phase", "feed"
FIGURES = [f"crosspol_db, theta={angle} deg" for angle in CONES] + ["phase_centre_mm, theta=50 deg"]
FIGURES += [f"{part}_efficiency, theta=50 deg" for part in PARTS]
FIGURES += ["flatness_db, theta=35.5 deg", "isoflux_db, height=600 km, elevation=5 deg", "sec2_db, theta=60 deg"]


@pytest.fixture(scope="module", params=["horn", "patch"])
def solved(request, tmp_path_factory):
    """Results of `simulate` and, a frequency each, the field of its CST file: theta, phi, E_theta, E_phi."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "a.toml").write_text({"horn": HORN, "patch": PROBE}[request.param])
    options = [one for name in FIGURES for one in ("--figure", name)]
    options += ["--json", str(folder / "a.json"), "--ffs", str(folder / "a.ffs")]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert cli.main(["simulate", str(folder / "a.toml"), *options]) == 0
    results = json.loads((folder / "a.json").read_text())["results"]
    return list(zip(results, map(field_of, read_ffs((folder / "a.ffs").read_text("ascii"))[1]), strict=True))


def field_of(table: np.ndarray) -> tuple[np.ndarray, ...]:
    """Angles in rad and co- and cross-polar amplitudes, (P, T) each: phi from 0 to 355, theta from 0 to 180 degrees."""
    phi, theta = np.deg2rad(table[:-1, :, 0]), np.deg2rad(table[:-1, :, 1])
    e_theta, e_phi = (table[:-1, :, at] + 1j * table[:-1, :, at + 1] for at in (2, 4))
    co, cross = e_theta * np.cos(phi) - e_phi * np.sin(phi), e_theta * np.sin(phi) + e_phi * np.cos(phi)
    return theta, phi, co, cross


def test_cross_polarisation_is_that_of_the_file_within_each_cone(solved):
    """The file has every degree of theta and every fifth of phi; a peak between is at most 0.05 dB higher here.

    The metric without theta is that of the plane phi = 45 degrees, one of all that the figure looks at.
    """
    for one, (theta, _, co, cross) in solved:
        for cone in CONES:
            within = np.abs(cross)[theta <= np.deg2rad(cone) + 1e-9].max()
            level = 20 * np.log10(within / np.abs(co[0, 0]))
            assert level - 1e-3 < one[f"crosspol_db_{cone}deg"] < level + 0.05
        assert one["crosspol_db"] - 1e-3 < one["crosspol_db_90deg"] < one["crosspol_db"] + 0.5


def test_efficiencies_are_those_of_the_file_s_double_integrals(solved, measured):
    """By Simpson's rule in theta and sums over phi, in steps of 1 and 5 degrees, all from the file but the focus.

    The product is that of the reflector's aperture, cot^2(t0/2) |sum of CO tan(theta/2)|^2 / (pi power).
    """
    for one, (theta, phi, co, cross) in solved:
        k, z = 2 * np.pi * one["frequency_hz"] / c, 1e-3 * one["phase_centre_mm_50deg"]
        co, cross = (part * np.exp(-1j * k * z * np.cos(theta)) for part in (co, cross))
        e_theta, e_phi = co * np.cos(phi) + cross * np.sin(phi), cross * np.cos(phi) - co * np.sin(phi)
        terms = [(e * np.exp(sign * 1j * phi)).mean(axis=0) for e in (e_theta, e_phi) for sign in (1, -1)]
        body, mean = np.sum(np.abs(terms) ** 2, axis=0), co.mean(axis=0)
        power, at = (np.abs(co) ** 2 + np.abs(cross) ** 2).mean(axis=0), theta[0]

        def over(values, end, at=at):
            return 2 * np.pi * simpson(values[: end + 1], x=at[: end + 1])

        all_, (inside, of_body, of_co) = over(power * np.sin(at), 180), [
            over(part * np.sin(at), 50) for part in (power, body, np.abs(mean) ** 2)
        ]  # fmt: skip
        lit, summed = over(np.abs(mean) * np.tan(at / 2), 50), over(mean * np.tan(at / 2), 50)
        factor = 1 / (np.pi * np.tan(np.deg2rad(25)) ** 2)
        exact = inside / all_, of_body / inside, of_co / of_body, factor * lit**2 / of_co, np.abs(summed) ** 2 / lit**2
        for part, value in zip(PARTS, (*exact, factor * np.abs(summed) ** 2 / all_), strict=True):
            off = abs(one[f"{part}_efficiency_50deg"] - value)
            measured(f"{part} efficiency less that of the file", off, at_most=1e-4, frequency=one["frequency_hz"])
        assert one["feed_efficiency_50deg"] == pytest.approx(np.prod(exact), abs=1e-4)


def test_coverage_is_that_of_the_file_in_all_directions(solved):
    """Levels of the file at four times as many directions, as the amplitude on a circle has no more than its orders.

    Ideal patterns: 11.93 dBi at the edge of 65.6 degrees, and 2 sec^2(theta), as sec(60 deg) - 1 = 1.
    """
    for one, (theta, _, co, cross) in solved:
        at = theta[0]
        power = simpson((np.abs(co) ** 2 + np.abs(cross) ** 2).mean(axis=0) * np.sin(at), x=at)
        between = CubicSpline(at, resample(co, 4 * len(co), axis=0), axis=1)

        def level(angles, between=between, power=power):
            return 10 * np.log10(2 * np.abs(between(angles)) ** 2 / power)

        flatness = np.ptp(level(np.deg2rad(np.linspace(0.0, 35.5, 143))))
        assert one["flatness_db_35p5deg"] == pytest.approx(flatness, abs=0.02)
        efficiency = one["gain_dbi"] - one["directivity_dbi"]
        re, far, end = 6371.0, 6971.0, np.arcsin(6371 / 6971 * np.cos(np.deg2rad(5)))
        angles = np.linspace(0.0, end, 263)
        path = far * np.cos(angles) - np.sqrt(re**2 - (far * np.sin(angles)) ** 2)
        ideal = 11.93 + 20 * np.log10(path / path[-1])
        assert one["isoflux_db_600km_5deg"] == pytest.approx((ideal - level(angles)).max() - efficiency, abs=0.02)
        angles = np.deg2rad(np.linspace(0.0, 60.0, 241))
        sec2 = 10 * np.log10(2 / np.cos(angles) ** 2)
        assert one["sec2_db_60deg"] == pytest.approx((sec2 - level(angles)).max() - efficiency, abs=0.02)


def test_only_plans_with_such_a_figure_ask_for_the_field_at_all_phi(tmp_path):
    """Others are as they always were: plan, arithmetic class, outcome. With it the class is another one."""
    experiment = loaded(changed(("[solver]", "[solver]\nmax_steps = 60")), tmp_path)
    design = experiment.design()
    plan = planner_of("patch")(experiment.kind, design, design, experiment.solver.settings).to_dict()
    cross, width, copied = (
        figure_of({"metric": metric, **options})
        for metric, options in (
            ("crosspol_db", {"theta": 0.5}),
            ("beamwidth_deg", {"plane": "e"}),
            ("crosspol_db", {"name": "again"}),
        )
    )
    with_cross, without = planned(plan, [width, cross]), planned(plan, [width, copied])
    assert "rings" not in plan and "rings" not in without and with_cross["rings"] is True
    flat = figure_of({"metric": "flatness_db", "theta": 0.5})
    with_flat = planned(plan, [cross, flat])
    assert "levels" not in with_cross and with_flat["levels"] is True
    contexts = [arithmetic(one, "cpu").context for one in (plan, without, with_cross, with_flat)]
    assert contexts[0] == contexts[1] and len({*contexts}) == 3
    plain, whole, more = (evaluator_of("patch")("patch", [design], one)[0] for one in (without, with_cross, with_flat))
    assert plain.rings is None and len(whole.rings) == 3
    for one in (plain, whole, more):
        changed_ = one.changed(seconds=None, stepping_seconds=None, rings=None)
        assert changed_.to_dict() == plain.changed(seconds=None, stepping_seconds=None).to_dict()
    (found,) = with_figures([whole], [design], [cross], experiment.kind)
    (both,) = with_figures([more], [design], [cross, flat], experiment.kind)
    assert both.figures[cross.name] == found.figures[cross.name] and min(both.figures[flat.name]) > 0.0
    assert with_figures([whole], [design], [flat], experiment.kind)[0].figures == {flat.name: [None] * 3}
    stored = Outcome.of(unpacked(packed(whole)))
    assert fault_of(unpacked(packed(whole.changed(status="undecayed"))), solved=True) is None
    assert with_figures([stored], [design], [cross], experiment.kind)[0].figures == found.figures
    assert with_figures([plain], [design], [cross], experiment.kind)[0].figures == {cross.name: [None] * 3}


@pytest.mark.parametrize(
    ("rings", "says"),
    [
        (["AAAA"], "its rings have not one text a frequency"),
        (7, "its rings have not one text a frequency"),
        (["?", "?"], "its rings are no numbers"),
        ([7, 8], "its rings are no numbers"),
        (["AAAAAA=="] * 2, "its rings are no numbers"),
        (["round AAAAAA=="] * 2, "its rings are no numbers"),
    ],
)
def test_damaged_means_are_no_outcome(rings, says):
    assert (
        fault_of({"status": "undecayed", "frequency_hz": [1e9, 2e9], "s11": [[0.1, 0.2]] * 2, "rings": rings}) == says
    )


GOALS = """
[[objective]]
metric = "crosspol_db"
theta = "60 deg"
at_most = -25
weight = 0.1

[[objective]]
metric = "feed_efficiency"
theta = "60 deg"
at_least = 0.7
"""


def carried_out(text, folder, counts):
    """The rows of a search, and how many antennas were solved for it; its evaluation cache is the folder's."""
    folder.mkdir()
    (folder / "study.toml").write_text(text)
    solve = evaluator_of("patch")

    def counted(family, designs, plan, **options):
        found = solve(family, designs, plan, **options)
        counts.append(sum(1 for one in found if one.steps))
        return found

    def serial(experiment, *, plan, backend, scheduler=None, evaluate=None):
        return SerialFarm(counted, family=experiment.family, plan=plan, backend=backend)

    experiment = load_experiment(folder / "study.toml")
    cache = folder.parent / "cache"
    summary = run(experiment, root=folder / "out", source=text, farm=serial, cache=cache, report=False)
    return load(RunFolder.open(summary.folder))


def test_a_search_has_them_from_workers_and_from_the_cache(tmp_path):
    """A run without the goal leaves what the run with it cannot use; that run's own is used by the next, to the bit."""
    counts = [], [], []
    plain = carried_out(STUDY, tmp_path / "plain", counts[0])
    first = carried_out(STUDY + GOALS, tmp_path / "first", counts[1])
    again = carried_out(STUDY + GOALS, tmp_path / "again", counts[2])
    solved_ = [sum(one) for one in counts]
    assert solved_[0] >= 4 and solved_[1] >= 4 and solved_[2] == 0
    columns = [name for name in first.columns if name.startswith(("crosspol_db_60deg_", "feed_efficiency_60deg_"))]
    assert len(columns) == 6 and not [name for name in plain.columns if name in columns]
    assert first[columns].notna().all(axis=None) and first[columns].equals(again[columns])
