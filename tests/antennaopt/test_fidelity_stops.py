"""Levels of a search that differ in their stop: which are refused, what they are called, how they are planned."""

from __future__ import annotations

import pytest
from test_fidelity import experiment

from antennaopt.errors import ConfigurationError

SOLVER = {"frequencies": ["30 GHz"], "cell": "0.3 mm"}


@pytest.mark.parametrize(
    ("solver", "decay_db", "message"),
    [
        (
            {"decay_db": 30},
            25,
            "fidelity.decay_db = 25 stops a search at -20 dB, as solver.decay_db = 30 does; raise solver.decay_db or "
            "leave it out",
        ),
        (
            {"steps": 3000},
            30,
            "fidelity.decay_db = 30 does not go with solver.steps = 3000, which sets the steps of all levels; remove "
            "one of them",
        ),
    ],
)
def test_a_stop_that_makes_no_level_is_refused(solver, decay_db, message):
    """Both levels of such a file would be the same: its second one would solve the promoted again for nothing."""
    with pytest.raises(ConfigurationError) as refused:
        experiment(solver=SOLVER | solver, fidelity={"decay_db": decay_db})
    assert message in str(refused.value) and "\n" not in str(refused.value)


def test_a_stop_that_makes_a_level_is_accepted():
    """With the full pulse a search stops at `decay_db` itself."""
    for solver in ({"decay_db": 31}, {"decay_db": 30, "pulse": "full"}):
        assert experiment(solver=SOLVER | solver, fidelity={"decay_db": 25}).fidelity.decay_db == 25
