"""Titles and names in any script are drawn without a warning, with a font that has their characters where there is one.

Warnings are errors in tests, so that each figure here would fail by Matplotlib's `Glyph ... missing from font(s)`.
"""

import shutil
import subprocess
import sys

import cheap_evaluation
import numpy as np
import pytest
from config_files import WAVEGUIDE
from made_up_runs import MadeUpRun, write_run
from matplotlib.font_manager import FontProperties, fontManager, get_font

from antennaopt.report.canvas import LAST_RESORT, families_for, new_figure, render, usual_family
from antennaopt.report.simulation import plot_simulation
from antennaopt.solve.outcome import Outcome

TITLE = "天线 アンテナ 📡 👩\u200d🔬 κεραία é \\$5 $\\frac{ $x_ \x1b[31m \u202e\n二"


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_a_figure_with_any_title(tmp_path, kind):
    outcome = Outcome.of(cheap_evaluation.outcome({"lens.radius": 0.01}, {"frequencies": [3e10], "nr": 1, "nz": 1}))
    path = plot_simulation(tmp_path / f"antenna.{kind}", outcome, title=TITLE)
    assert path.stat().st_size > 1000


def test_runs_of_any_name(call, tmp_path):
    made = write_run(tmp_path / "made", MadeUpRun(generations=2, population=4, field_map=False))
    for name in ("天线 $\\frac{ 1", "📡\x1b[31m"):
        shutil.copytree(made, tmp_path / name)
        code, out, err = call("report", name)
        assert code == 0, err
        assert "\x1b" not in out
    code, out, err = call("compare", "天线 $\\frac{ 1", "📡\x1b[31m", "--plot", "compared.png")
    assert (code, err) == (0, "")
    assert "run 2: 📡\\x1b[31m\n" in out
    page = (tmp_path / "📡\x1b[31m" / "report.html").read_text("utf-8")
    assert "📡\\x1b[31m" in page and "\x1b" not in page


def test_a_character_that_the_usual_font_lacks():
    """Any other font here that has one; on a machine with Chinese fonts they are found just so."""
    usual = get_font(FontProperties().get_file() or usual_file()).get_charmap()
    found = next(
        (chr(code), entry.name)
        for entry in fontManager.ttflist
        if not entry.name.startswith(LAST_RESORT) and entry.style == "normal"
        for code in sorted(get_font(entry.fname).get_charmap())
        if code not in usual and chr(code).isprintable()
    )
    character, family = found
    assert families_for(f"a {character} é") == (family,)
    pictures = []
    for text in (character, "\U000f0000"):  # the second is of a private area: a box
        figure = new_figure(1.0, 1.0)
        figure.text(0.4, 0.4, text)
        pictures.append(render(figure, "png"))
    assert pictures[0] != pictures[1]
    assert families_for("plain é ελ \U000f0000") == ()
    assert usual_family() == "DejaVu Sans"


def usual_file():
    from matplotlib.font_manager import findfont

    return findfont(FontProperties())


@pytest.mark.slow
def test_the_command_prints_no_warning(tmp_path):
    """As a user calls it, where warnings are no errors."""
    (tmp_path / "guide.toml").write_text(f'title = "天线 📡"\n{WAVEGUIDE}', "utf-8")
    words = ["simulate", "guide.toml", "--backend", "cpu", "--cell", "0.8 mm", "--quiet", "--plot", "antenna.png"]
    done = subprocess.run(
        [sys.executable, "-m", "antennaopt", *words], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "antenna.png").stat().st_size > 1000


def test_a_film_with_any_title():
    """Its title is drawn once, outside `render`."""
    from antennaopt.report.film import frames_of

    r_m, z_m = 1e-3 * np.arange(6), 1e-3 * np.arange(9)
    level = np.ones((9, 6))
    film = {
        "r_m": r_m,
        "z_m": z_m,
        "time_s": np.array([1e-12]),
        "e_x": np.ones((1, 9, 6), np.float32),
        "outlines": {"r_m": r_m, "z_m": z_m, "metal": level, "dielectrics": level[None]},
    }
    (frame,) = frames_of(film, title=TITLE)
    assert frame.std() > 0
