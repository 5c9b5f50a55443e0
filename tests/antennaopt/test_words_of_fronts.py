"""What `run`, `status` and `compare` print of a search for a front."""

from __future__ import annotations

import json

import pytest
from cheap_lens_here import carried_out

from antennaopt.cli.tables import front_lines

AIMS = [{"metric": "directivity_dbi", "aim": "largest"}, {"metric": "diameter_mm", "aim": "least"}]
GOALS = [{"metric": "directivity_dbi", "at_least": 30.0}]
EVOLUTION = {"algorithm": "nsga2", "population": 8, "generations": 3}


def said(tmp_path, *, reference=(), **more):
    done = carried_out(tmp_path, objective=AIMS, evolution={**EVOLUTION, "reference": list(reference)}, **more)
    return done, " ".join(" ".join(front_lines(done)).split())


def test_a_reference_that_no_antenna_is_better_than_is_named(tmp_path):
    done, text = said(tmp_path, reference=(99.0, 0.001))
    assert done.front.hypervolume == 0.0
    assert "None of them is better than the reference point in every objective" in text
    assert "evolution.reference" in text
    assert "no volume" not in said(tmp_path / "by_default")[1]


def test_a_front_of_antennas_that_miss_a_constraint_is_called_so(tmp_path):
    """It had a hypervolume of 0, and no word why."""
    done, text = said(tmp_path, constraint=[{"metric": "s11_db", "at_most": -150.0}])
    assert done.front.values == ()
    assert "No antenna meets all constraints: the front misses them by the least" in text


def test_status_and_compare_show_no_fitness_of_a_front(tmp_path, call):
    """It only puts rows in an order, and is near 200 with aims."""
    done, _ = said(tmp_path)
    code, out, _ = call("status", done.folder)
    (line,) = [one for one in out.splitlines() if one.startswith("best")]
    log = map(json.loads, (done.folder / "logs/run.jsonl").read_text().splitlines())
    volume = [one["hypervolume"] for one in log if one["event"] == "generation"][-1]
    assert code == 0 and "fitness" not in line
    assert f"one of the front; hypervolume {volume:.5g} in the last generation" in line
    code, out, _ = call("status", done.folder, "--json", "-")
    assert json.loads(out)["hypervolume"] == pytest.approx(volume)
    weighted = carried_out(tmp_path / "weighted", objective=GOALS, evolution={"generations": 2}).folder
    code, out, _ = call("compare", done.folder, weighted)
    rows = {line.split("  ")[0]: line.split()[-2:] for line in out.splitlines() if line}
    assert rows["on the front"] == [str(done.front.antennas), "-"]
    assert rows["fitness"][0] == "-" and float(rows["fitness"][1]) >= 0.0
