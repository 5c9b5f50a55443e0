"""Antennas with known cells are not solved again: within a batch, across groups, and with the driver's digests.

Cells of 0.6 mm as in test_evaluate; a solve takes 0.05 s.
"""

import pytest
from test_evaluate import LARGE, SMALL, TIMES, planned

from antennaopt.solve import evaluate as module
from antennaopt.solve.arithmetic import arithmetic, source_digest
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.options import SolveOptions
from antennaopt.solve.plan import SolverPlan
from antennaopt.solve.recognition import KNOWN, beginnings

FIRST = {**SMALL, "lens.loss_tangent": 0.029800000000000007}
NEARLY = {**FIRST, "lens.loss_tangent": 0.02980000000000001}
FAMILY = "hemispherical_lens"


def recognised(designs, known=(), **options):
    return evaluate(FAMILY, designs, planned(), options=SolveOptions(known=beginnings(known)), **options)


def without(outcome, *names):
    return outcome.without(*TIMES, "identity", "origin", *names)


@pytest.fixture
def steps(monkeypatch):
    """How many antennas are stepped."""
    stepped = []
    solve = module.solve

    def counting(layout, scene, **options):
        solutions = solve(layout, scene, **options)
        stepped.extend(solutions)
        return solutions

    monkeypatch.setattr(module, "solve", counting)
    return stepped


def test_equal_cells_are_solved_once_in_a_batch(steps):
    """Also in another group of four, and where designs differ but not their cells.

    The two loss tangents differ in their last bit, and times the permittivity of 2.53 round to the same number.
    """
    outcomes = recognised([FIRST, LARGE, FIRST, LARGE, FIRST, NEARLY])
    assert len(steps) == 2
    assert [one.get("origin") for one in outcomes] == [None, None, *["cells"] * 4]
    alone = evaluate(FAMILY, [FIRST, LARGE, NEARLY], planned())
    for outcome, place in zip(outcomes, (0, 1, 0, 1, 0, 2), strict=True):
        assert without(outcome) == without(alone[place])
    assert outcomes[2]["seconds"] < 0.5 * outcomes[0]["seconds"]
    assert outcomes[2]["stepping_seconds"] == 0.0


def test_what_the_driver_knows_comes_back_unsolved(steps):
    (first,) = recognised([SMALL])
    digest = bytes.fromhex(first["identity"]["digest"])
    assert len(steps) == 1
    known, new = recognised([SMALL, LARGE], known=[digest, b"x" * 16])
    assert len(steps) == 2
    assert known["status"] == KNOWN
    assert known["identity"] == first["identity"]
    assert new["status"] == "ok"
    (known,) = recognised([SMALL], known=[digest])
    assert (known["status"], len(steps)) == (KNOWN, 2)


def test_fewer_steps_are_of_another_context():
    """What was stopped early is never taken for the whole solution."""
    contexts = [
        evaluate(FAMILY, [SMALL], planned(), options=SolveOptions(known=b"", max_steps=steps))[0]["identity"]["context"]
        for steps in (None, 160, 480)
    ]
    assert len(set(contexts)) == 3
    assert contexts[0] == arithmetic(planned(), "cpu").context


def test_refused_designs_have_no_cells(steps):
    refused, solved = recognised([{**SMALL, "lens.radius": 4e-3}, SMALL])
    assert refused["status"] == "infeasible"
    assert "identity" not in refused
    assert "identity" in solved


def test_without_known_cells_nothing_is_looked_at(monkeypatch):
    monkeypatch.setattr(module, "Recognition", None)
    assert "identity" not in evaluate(FAMILY, [SMALL], planned())[0]


def test_the_context_is_everything_else_that_decides_the_bits():
    about = arithmetic(planned(), "cpu")
    assert about == arithmetic({**planned(), "nr": 1, "memory_bytes": 2, "max_steps": 100}, "cpu")
    fewer = SolverPlan.from_dict(planned()).within(100).to_dict()
    others = [arithmetic(fewer, "cpu"), arithmetic(planned("float64"), "cpu"), arithmetic(planned(), "reference")]
    assert len({one.context for one in (about, *others)}) == 4
    assert {one.solver for one in others} == {about.solver}
    assert about.solver.endswith(source_digest()[:12])
