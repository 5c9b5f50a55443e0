"""What every family must do: read, simulate, draw, export, extrapolate, evolve, report; through its registry entry.

Cells are coarse (0.6 mm): an antenna takes a fraction of a second, and its figures are only plausible. What
they should be is tested against published antennas.
"""

from __future__ import annotations

import json
import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from family_cases import CASES, KINDS, OF_POLYGONS, with_slow

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_antenna, load_experiment, load_file
from antennaopt.families import FAMILIES, parameter_of
from antennaopt.families.parameters import FEED
from antennaopt.farm.farm import SerialFarm
from antennaopt.run.start import run
from antennaopt.run.summary import antenna_toml
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.extrapolate import DEFAULT_FROM, orders_of

SOLVER: dict[str, Any] = {"frequencies": [29e9, 30e9], "cell": 0.6e-3, "decay_db": 40.0, "pml_cells": 8}
GOALS = '\n[[objective]]\nmetric = "directivity_dbi"\nat_least = 30.0\n'
SEARCH = ("evolution.population=3", "evolution.elites=1", "evolution.tournament_size=2", "evolution.generations=2")
PLATE = '[["4 mm", "-2 mm"], ["8 mm", "-2 mm"], ["8 mm", "0 mm"], ["4 mm", "0 mm"]]'
PNG = b"\x89PNG"


def antenna_file(family: str, folder: Any, **changes: float) -> Any:
    path = folder / f"{family}.toml"
    path.write_text(
        antenna_toml(title=family, family=KINDS[family], design=CASES[family].design | changes, solver=SOLVER)
    )
    return path


def of_range(family: str) -> str:
    case = CASES[family]
    return f'antenna.{case.gene}={{ min = "{case.low * 1e3:g} mm", max = "{case.high * 1e3:g} mm" }}'


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return request.param


def test_every_family_has_a_case() -> None:
    assert set(CASES) == set(FAMILIES)


def test_a_family_is_one_file(family: str) -> None:
    """Its module has its name and makes its entry."""
    assert import_module(f"antennaopt.families.{family}").FAMILY is FAMILIES[family]
    assert FAMILIES[family].name == family
    assert FAMILIES[family].title.endswith(".")


def test_the_table_of_parameters(family: str) -> None:
    """The feed first; a name has one unit in all families, since goals and reports look it up by name alone."""
    known = FAMILIES[family]
    assert known.parameters[: len(FEED)] == FEED
    assert len({one.name for one in known.parameters}) == len(known.parameters)
    for one in known.parameters:
        assert one.about.endswith(".") and one.lowest < one.highest
        other = parameter_of(f"{one.name}.0" if one.kind == "list" else one.name)
        assert other is not None and (other.unit, other.name) == (one.unit, one.name)
        assert one.default is None or one.lowest <= one.default <= one.highest
    for limit in known.limits:
        assert {limit.name, limit.least} <= {one.name for one in known.parameters}


def test_a_file_reads_back(family: str, tmp_path: Any) -> None:
    """Export and import give the same numbers to the bit, and what is left out has its default."""
    read = load_antenna(antenna_file(family, tmp_path))
    defaults = {
        one.name: one.default for one in KINDS[family].parameters if one.default is not None and not one.left_out
    }
    assert read.design() == {**defaults, **CASES[family].design}
    assert type(read).from_resolved(json.loads(json.dumps(read.resolved()))) == read


def test_a_missing_parameter_is_named_with_its_example(family: str, tmp_path: Any) -> None:
    path = antenna_file(family, tmp_path)
    for one in FAMILIES[family].parameters:
        if not one.optional:
            lines = path.read_text().splitlines()
            first = lines.index(f"[antenna.{one.table}]")
            place = next(at for at in range(first, len(lines)) if lines[at].startswith(f"{one.key} ="))
            (tmp_path / "less.toml").write_text("\n".join(lines[:place] + lines[place + 1 :]))
            with pytest.raises(ConfigurationError) as refused:
                load_file(tmp_path / "less.toml")
            assert f"antenna.{one.name} is missing; add for example {one.key} = {one.example}" in str(refused.value)


def test_the_examples_make_an_antenna(family: str, tmp_path: Any) -> None:
    """What the messages offer is accepted, all together."""
    known = FAMILIES[family]
    lines = ["[antenna]", f'family = "{family}"']
    for table, parameters in known.tables.items():
        lines += [f"[antenna.{table}]", *(f"{one.key} = {one.example}" for one in parameters)]
    lines += ["[[antenna.body]]", 'material = "metal"', f"points = {PLATE}"] if known.draws else []
    lines += ["[solver]", 'frequencies = ["30 GHz"]']
    (tmp_path / "examples.toml").write_text("\n".join(lines))
    assert load_file(tmp_path / "examples.toml").family == family


def test_an_impossible_antenna_is_refused_in_a_file(family: str, tmp_path: Any) -> None:
    """With the parameter, its value and the one that it must reach, which is accepted; batches: test_geometry.py."""
    case = CASES[family]
    if not case.refused:
        assert not FAMILIES[family].limits  # other faults have tests of their own
        return
    ((name, value),) = case.refused.items()
    with pytest.raises(ConfigurationError) as says:
        load_file(antenna_file(family, tmp_path, **case.refused))
    least = f"(must be >= antenna.{case.limited_by} = {case.limit * 1e3:g} mm); enlarge it"
    assert f"antenna.{name} = {value * 1e3:g} mm" in str(says.value) and least in str(says.value)
    assert load_file(antenna_file(family, tmp_path, **{name: case.limit}))


REPORTED = ("shaped_lens", "reflector")
"""Pictures take longer than solutions, and a report as long as ten searches: `make test` has those of a lens and a dish
and gives the other figures blank pictures."""

UNREPORTED = [one for one in FAMILIES if one not in REPORTED]


@pytest.mark.parametrize(
    ("family", "rendered"),
    [
        *(pytest.param(one, one in REPORTED, id=one) for one in FAMILIES),
        *(pytest.param(one, True, id=f"{one}-rendered", marks=pytest.mark.slow) for one in UNREPORTED),
    ],
)
def test_simulates_draws_and_exports(
    family: str, rendered: bool, tmp_path: Any, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One solution, a picture with the field and the outline, S11 and patterns as files, a script for Meep."""
    if not rendered:
        monkeypatch.setattr("antennaopt.report.canvas.render", lambda figure, kind, **options: PNG)
    path = antenna_file(family, tmp_path)
    files = ("--plot", "one.png", "--csv", "one.csv", "--touchstone", "one.s1p", "--fields", "one.npz")
    code, out, _ = call("simulate", path, "--json", "-", "-q", *files)
    assert code == 0
    found = json.loads(out)
    assert (found["status"], found["family"], found["design"]) == ("ok", family, load_antenna(path).design())
    for entry in found["results"]:
        assert 5.0 < entry["directivity_dbi"] < 25.0
        assert entry["s11_db"] < -5.0
    assert found["power_balance"] == pytest.approx(1.0, abs=0.03)
    assert (tmp_path / "one.png").read_bytes().startswith(PNG)
    assert "frequency" in (tmp_path / "one.csv").read_text().splitlines()[0]
    assert (tmp_path / "one.s1p").read_text().count("\n") > 10
    with np.load(tmp_path / "one.npz") as fields:
        assert fields.files
    code, script, _ = call("export", path, "--format", "meep")
    assert code == 0
    compile(script, "script.py", "exec")
    assert f'"family": "{family}"' in script.replace('\\"', '"')


@pytest.mark.parametrize("family", with_slow(FAMILIES, OF_POLYGONS))
def test_extrapolates(family: str, tmp_path: Any, call: Any) -> None:
    """From two meshes, by the family's own orders, whose source is named; by order 2, with a warning, without any."""
    fitted = FAMILIES[family].orders
    orders = {"s11": 2.0, "pattern": 2.0, "efficiency": 2.0}
    if fitted is not None:
        orders = {"s11": fitted.s11, "pattern": fitted.pattern, "efficiency": fitted.efficiency}
    assert orders_of(family)[0] == orders and min(orders.values()) > 0.5
    path = antenna_file(family, tmp_path)
    code, out, err = call("simulate", path, "--extrapolate", "--json", "-")
    assert code == 0 and ("no order of convergence is fitted" in err) == (fitted is None)
    found = json.loads(out)
    assert found["extrapolation"] == {
        "cells_m": [mesh["cell_m"] for mesh in found["meshes"]],
        "order": orders,
        "order_source": fitted.source if fitted else DEFAULT_FROM,
    }
    coarse, fine = (mesh["results"][0]["directivity_dbi"] for mesh in found["meshes"])
    limit = found["results"][0]["directivity_dbi"]
    ratio = found["meshes"][0]["cell_m"] / found["meshes"][1]["cell_m"]
    powers = [10 ** (one / 10) for one in (coarse, fine)]
    expected = powers[1] + (powers[1] - powers[0]) / (ratio ** orders["pattern"] - 1)
    assert limit == pytest.approx(10 * math.log10(expected), abs=1e-9)


@pytest.mark.parametrize(
    ("family", "report"),
    [
        *(pytest.param(one, one in REPORTED, id=one) for one in FAMILIES if one not in OF_POLYGONS),
        *(pytest.param(one, True, id=f"{one}-report", marks=pytest.mark.slow) for one in UNREPORTED),
    ],
)
def test_evolves_and_reports(family: str, report: bool, tmp_path: Any, call: Any) -> None:
    """Two generations of three antennas, solved; the report names the gene with its unit and draws the best."""
    path = antenna_file(family, tmp_path)
    path.write_text(path.read_text() + GOALS)
    changes = (of_range(family), *SEARCH, "certificate=off")
    experiment = load_experiment(path, changes)

    def farm(experiment: Any, *, plan: Any, backend: str, scheduler: Any = None, evaluate: Any = None) -> SerialFarm:
        return SerialFarm(evaluate, family=experiment.family, plan=plan, backend=backend)

    root = tmp_path / "results"
    given: dict[str, Any] = {"source": path.read_text(), "overrides": changes, "cache": "off", "report": report}
    summary = run(experiment, root=root, farm=farm, evaluate=evaluate, **given)
    case = CASES[family]
    (gene,) = experiment.genes
    assert (gene.name, gene.dimension) == (case.gene, parameter_of(case.gene).dimension)  # type: ignore[union-attr]
    best = load_antenna(summary.folder / "best" / "antenna.toml")
    assert best.family == family
    assert case.low <= best.design()[case.gene] <= case.high
    if report:
        page = (summary.folder / "report.html").read_text()
        assert f"{case.gene} (mm)" in page
        assert "<img" in page or "<svg" in page
    code, out, _ = call("status", summary.folder)
    assert code == 0 and out
