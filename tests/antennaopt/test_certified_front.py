"""Antennas that are certified at the end of a search for a front."""

from __future__ import annotations

import json

import pytest
from cheap_lens_here import carried_out
from test_constraints import LARGEST

import antennaopt as ao

SMALL = {"algorithm": "nsga2", "population": 8, "generations": 12}
GOALS = [LARGEST, {"metric": "diameter_mm", "aim": "least"}]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return carried_out(
        tmp_path_factory.mktemp("front"), objective=GOALS, evolution=SMALL, certificate={"mode": "report"}
    )


def test_ten_of_a_front_are_certified_where_the_population_has_fewer(run):
    front = list(ao.open_run(run.folder).front["individual"])
    assert len(front) > 10
    certified = list(json.loads((run.folder / "best" / "certificates.json").read_text()))
    assert certified == list(run.certificates)
    assert len(certified) == len(set(certified)) == 10
    assert set(certified) <= set(front)
