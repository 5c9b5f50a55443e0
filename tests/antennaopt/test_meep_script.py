"""The Meep script without Meep: what it holds of the antenna, what it puts on the lattice, what it refuses.

Its functions are run here with a stand-in for Meep's vectors and media; `tests/published/test_meep.py` runs the whole.
"""

from __future__ import annotations

import ast
import json
import math
import sys
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from config_files import WAVEGUIDE
from family_cases import DESIGNS, KINDS
from test_geometry import area_and_moment

from antennaopt import cli
from antennaopt.families import FAMILIES
from antennaopt.report.meep import meep_script
from antennaopt.solve.plan import plan
from fdtd.axisymmetric.layout import Layout

SOLVER: dict[str, Any] = {
    "frequencies": [28.5e9, 30e9, 31.5e9],
    "design_frequency": 30e9,
    "cell": 0.3e-3,
    "courant_fraction": 0.98,
    "pml_cells": 10,
    "decay_db": 60.0,
    "precision": "float32",
}


@dataclass
class Vector3:
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0

    def norm(self) -> float:
        return math.hypot(self.x, self.y, self.z)


class Medium:
    """Meep's: `epsilon` and `D_conductivity` are short for equal diagonals."""

    def __init__(self, epsilon=1.0, epsilon_diag=None, epsilon_offdiag=None, D_conductivity=0.0, B_conductivity=0.0):
        self.epsilon = self.epsilon_diag = epsilon_diag or Vector3(epsilon, epsilon, epsilon)
        self.off_diagonal = epsilon_offdiag or Vector3()
        self.D_conductivity_diag = Vector3(*3 * [D_conductivity])
        self.B_conductivity_diag = Vector3(*3 * [B_conductivity])


METAL = Medium()


def script_of(family: str, **changes: float) -> tuple[str, Layout]:
    design = {**DESIGNS[family], **changes}
    chosen = plan(KINDS[family], design, design, SOLVER)
    return meep_script(family, design, chosen.to_dict(), title='A "lens" \\ of mine'), chosen.layout


def antenna_of(text: str) -> dict[str, Any]:
    """What a script knows of its antenna, as any program may read it."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ANTENNA":
            assert isinstance(node.value, ast.Call)
            return json.loads(ast.literal_eval(node.value.args[0]))
    raise AssertionError("no ANTENNA")


@pytest.fixture
def loaded(monkeypatch):
    """The names of a script, as after importing it where Meep is."""
    monkeypatch.setitem(sys.modules, "meep", SimpleNamespace(Vector3=Vector3, Medium=Medium, metal=METAL, Er=0, Ep=1))

    def load(family: str, **changes: float) -> SimpleNamespace:
        names: dict[str, Any] = {"__name__": "script"}
        exec(compile(script_of(family, **changes)[0], "script.py", "exec"), names)
        return SimpleNamespace(**names)

    return load


@pytest.mark.parametrize("family", FAMILIES)
def test_script_holds_the_antenna(family: str) -> None:
    """Outlines to a picometre, design to the bit, and the layout's own planes."""
    text, layout = script_of(family)
    compile(text, "script.py", "exec")
    held = antenna_of(text)
    design, outline = DESIGNS[family], KINDS[family].outline(DESIGNS[family])
    assert held["design"] == design
    assert (held["title"], held["family"]) == ('A "lens" \\ of mine', family)
    for written, drawn in zip(held["metal_mm"], outline.conductors, strict=True):
        np.testing.assert_allclose(np.array(written), 1e3 * drawn, rtol=0, atol=6e-10)
    for lens, solid in zip(held["lenses"], outline.dielectrics, strict=True):
        np.testing.assert_allclose(lens["outline_mm"], 1e3 * solid.corners, rtol=0, atol=6e-10)
        assert (lens["permittivity"], lens["loss_tangent"]) == (solid.permittivity, solid.loss_tangent)
    heights = layout.grid.z_nodes * 1e3
    feed, contour = held["feed"], held["contour"]
    planes = (layout.feed_back, layout.feed_back + layout.feed_absorber, layout.source_plane, layout.port_plane)
    names = ("absorber_back_mm", "absorber_front_mm", "source_mm", "port_mm")
    assert [feed[name] for name in names] == pytest.approx([heights[plane] for plane in planes], abs=1e-9)
    box = (heights[layout.contour_bottom], heights[layout.contour_top], layout.contour_column * 0.3)
    assert [contour[name] for name in ("bottom_mm", "top_mm", "radius_mm")] == pytest.approx(box, abs=1e-9)
    assert held["frequencies_hz"] == SOLVER["frequencies"]
    assert held["design_frequency_hz"] == 30e9
    assert held["pulse"] == {"centre_hz": layout.pulse_centre, "width_hz": layout.pulse_width}


def test_script_imports_nothing_of_ours() -> None:
    names = {
        (node.names[0].name if isinstance(node, ast.Import) else node.module)
        for node in ast.walk(ast.parse(script_of("shaped_lens")[0]))
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    assert names == {"argparse", "json", "math", "os", "sys", "time", "meep", "numpy"}


@pytest.mark.parametrize("family", ["hemispherical_lens", "shaped_lens"])
def test_permittivity_keeps_the_lens_area(loaded, family: str) -> None:
    """E_phi sees the mean: summed over its nodes, permittivity - 1 is the lens' area times (permittivity - 1).

    Metal counts as nothing and stands outside the lens but for the rim's nodes in the plane z = 0, which are half
    covered; of the cells on the axis half is in the plane. The polygon's area is exact in each cell, but a share below
    1e-6 counts as none: measured 1.2e-7 of the area. A base that is not averaged is off by 1 %.
    """
    script = loaded(family)
    cell, columns, bottom, top = 0.2, 60, -80, 90
    materials = script.Materials(cell, columns, bottom, top)
    held = script.ANTENNA
    total = 0.0
    for i in range(columns + 1):
        for k in range(bottom, top + 1):
            medium = materials(Vector3(i * cell, 0.0, k * cell))
            if medium is METAL:
                covered = 0.5 if k == 0 else 0.0
            else:
                covered = (medium.epsilon.y - 1) / (held["lenses"][0]["permittivity"] - 1)
            total += covered * cell**2 * (0.5 if i == 0 else 1.0)
    assert total == pytest.approx(area_and_moment(np.array(held["lenses"][0]["outline_mm"]))[0], rel=1e-6)


def test_surface_nodes_follow_the_normal(loaded) -> None:
    """Side wall: E_z and E_phi along it, mean; base: E_r along it, mean; E_z half a cell above it is in the lens.

    On the hemisphere at 45 degrees both see the same, coupled: mean + (harmonic - mean) / 2 and (harmonic - mean) / 2.
    """
    script = loaded("hemispherical_lens")  # radius 9, extension 3, permittivity 2.53
    cell = 0.2
    at = script.Materials(cell, 60, -80, 90)
    mean = (1 + 2.53) / 2
    assert at(Vector3(9.0, 0, 1.1)).epsilon.z == pytest.approx(mean)
    assert at(Vector3(9.0, 0, 1.0)).epsilon.y == pytest.approx(mean)
    assert at(Vector3(5.1, 0, 0.0)).epsilon.x == pytest.approx(mean)
    assert at(Vector3(5.0, 0, 0.1)).epsilon.z == pytest.approx(2.53)
    assert at(Vector3(5.1, 0, -0.2)).epsilon.x == 1.0
    diagonal = [at(Vector3((i + 0.5) * cell, 0, 3.0 + (i + 0.5) * cell - 0.1)) for i in range(28, 36)]
    coupled = [medium for medium in diagonal if medium.off_diagonal.y]
    assert coupled
    for medium in coupled:
        share = (medium.epsilon.y - 1) / 1.53
        step = 1 / (share / 2.53 + 1 - share) - medium.epsilon.y
        assert medium.off_diagonal.y == pytest.approx(step / 2, rel=0.1)
        assert medium.epsilon.x + medium.epsilon.z == pytest.approx(2 * medium.epsilon.y + step)


def test_loss_metal_and_absorber(loaded) -> None:
    """Loss tangent as a conductivity at the design frequency; walls conduct on their nodes; the feed ends matched."""
    script = loaded("shaped_lens", **{"lens.loss_tangent": 0.02})
    at = script.Materials(0.2, 60, -80, 90)
    omega = 2 * math.pi * 30e9 / 299792458e3
    assert at(Vector3(2.0, 0, 2.0)).D_conductivity_diag.x == pytest.approx(0.02 * omega)
    for r in (3.6, 3.8, 4.0):
        assert at(Vector3(r, 0, -5.0)) is METAL
        assert at(Vector3(r, 0, 0.0)) is METAL
        assert at(Vector3(r, 0, 0.2)) is not METAL
    assert at(Vector3(3.4, 0, -5.0)) is not METAL
    assert at(Vector3(4.2, 0, -5.0)) is not METAL
    assert at(Vector3(0.0, 0, -12.0)) is METAL
    feed = script.ANTENNA["feed"]
    middle = at(Vector3(1.0, 0, (feed["absorber_back_mm"] + feed["absorber_front_mm"]) / 2))
    assert middle.D_conductivity_diag == middle.B_conductivity_diag
    assert middle.D_conductivity_diag.x > 0
    assert at(Vector3(1.0, 0, feed["source_mm"])).D_conductivity_diag.x == 0.0


def test_standing_wave_is_taken_apart(loaded) -> None:
    """Two waves of known size on a lattice whose phase constant is 1.3 % off the guide's: S11 at z = 0 comes back.

    The trial constants stand 2e-4 apart, which leaves 1e-4 * 0.37/mm * 12 mm = 4e-4 rad at most.
    """
    script = loaded("open_waveguide")
    cell, frequency, forward, backward = 0.2, 30e9 / 299792458e3, 0.7 - 0.2j, 0.1 + 0.25j
    exact = math.sqrt((2 * math.pi * frequency) ** 2 - (1.8411837813406593 / 3.6) ** 2)
    beta = 1.013 * exact
    planes = script.port_planes(script.ANTENNA["feed"], cell)
    assert len(planes) == 7
    assert planes[0] >= script.ANTENNA["feed"]["port_mm"] - cell
    assert planes[-1] < -1.0

    class Simulation:
        def add_dft_fields(self, components, frequencies, *, yee_grid, center, size):
            assert yee_grid
            return components[0], center.z

        def get_dft_array(self, record, component, number):
            r = np.arange(0.5, 18) * cell if component == 0 else np.arange(1, 18) * cell
            shape = script.profile_r(r) if component == 0 else 1j * script.profile_phi(r)
            return shape * (forward * np.exp(1j * beta * record[1]) + backward * np.exp(-1j * beta * record[1]))

    ports = [script.feed_fields(Simulation(), [frequency], z, cell) for z in planes]
    amplitudes, found, guide, residual, power = script.standing_wave(Simulation(), ports, planes, 0, frequency, cell)
    assert guide == pytest.approx(exact)
    assert found == pytest.approx(beta, rel=2e-4)
    assert abs(amplitudes[1] / amplitudes[0] - backward / forward) < 4e-4
    assert abs(amplitudes[0]) == pytest.approx(abs(forward), rel=1e-3)
    assert residual < 1e-3
    # int ((J1(s)/s)^2 + J1'(s)^2) r dr = (a/p)^2 (p^2 - 1) J1(p)^2 / 2, p = 1.8412, J1(p) = 0.58187
    norm = (3.6 / 1.8411838) ** 2 * (1.8411838**2 - 1) * 0.58187**2 / 2
    assert power == pytest.approx(2 * math.pi * norm * found / (2 * math.pi * frequency), rel=0.002)


@pytest.mark.parametrize(
    ("family", "arguments", "says"),
    [
        ("open_waveguide", ["--resolution", "2"], "too coarse for walls, feed and contour"),
        ("conical_horn", ["--resolution", "2.2"], "needs >= 2.5 cells per mm"),
        ("open_waveguide", ["--courant", "0.6"], "must be > 0 and <= 0.5"),
        ("open_waveguide", ["--pml", "0.5"], "too thin"),
        ("open_waveguide", ["--decay", "10"], "must be from 40 to 150"),
        ("open_waveguide", ["--air", "0.1"], "too coarse"),
        ("open_waveguide", ["--theta-step", "7"], "must divide 180"),
        ("open_waveguide", ["--json", "no/such.json"], "--json no/such.json: there is no folder "),
        ("open_waveguide", ["--resolution", "-5"], "must be positive"),
    ],
)
def test_what_gives_wrong_numbers_is_refused(loaded, monkeypatch, capsys, family, arguments, says) -> None:
    monkeypatch.setattr(sys, "argv", ["script.py", *arguments])
    with pytest.raises(SystemExit) as left:
        loaded(family).arguments()
    assert left.value.code == 2
    assert says in capsys.readouterr().err


def test_what_costs_accuracy_is_said(loaded, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["script.py", "--resolution", "5.1"])
    loaded("conical_horn").arguments()
    said = capsys.readouterr().err
    assert "18.3600 cells" in said
    assert "steps of slanted metal" in said
    monkeypatch.setattr(sys, "argv", ["script.py", "--resolution", "5"])
    loaded("open_waveguide").arguments()
    assert capsys.readouterr().err == ""


def test_an_antenna_file_is_exported(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "guide.toml").write_text(WAVEGUIDE)
    assert cli.main(["export", "guide.toml", "--format", "meep"]) == 0
    printed = capsys.readouterr().out
    assert antenna_of(printed)["design"]["feed.inner_radius"] == 3.6e-3
    assert cli.main(["export", "guide.toml", "--format", "meep", "--out", "guide.py"]) == 0
    assert capsys.readouterr().out == "guide.py\n"
    assert (tmp_path / "guide.py").read_text() == printed
