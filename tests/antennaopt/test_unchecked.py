"""Instances that skip `__init__` are those that it would make."""

from dataclasses import fields

from antennaopt.run.interfaces import Evaluation
from antennaopt.search import Candidate, new_search
from antennaopt.search.candidate import Result, Scored
from antennaopt.settings import EvolutionSettings
from antennaopt.solve.outcome import Outcome
from antennaopt.store.rows import Row
from antennaopt.unchecked import owned


class _Gene:
    """A length from 1 to 2."""

    name, kind, low, high = "lens.radius", "length", 1.0, 2.0


def test_bred_candidates_and_what_follows_from_them():
    """Equal to what the constructors make, with the attributes in the same order, which is that of checkpoints."""
    search = new_search(EvolutionSettings(population=4, generations=3), [_Gene()], 7)
    (candidate, *_) = search.ask()
    assert candidate == Candidate(individual="g0000-s000", generation=0, slot=0, genome=candidate.genome)
    assert list(vars(candidate)) == [one.name for one in fields(Candidate)]
    about = {"candidate": candidate, "outcome": Outcome(status="diverged"), "values": {"lens.radius": 1.5}}
    one = Evaluation.of(search, (), **about)
    made = Evaluation(**about, shortfalls=[], fitness=one.fitness, cached=False)
    assert one == made
    assert one.row == made.row == Row(**vars(candidate), **_shared(made), outcome=made.outcome)
    assert one.result == Result(individual="g0000-s000", status="diverged", shortfalls=[], fitness=one.fitness)
    (told,) = search.tell([one.result])
    assert told == one.scored == Scored(candidate=candidate, fitness=one.fitness, ok=False)
    assert list(vars(told)) == [one.name for one in fields(Scored)]


def test_attributes_that_are_left_out_keep_the_default():
    """They are those of the class."""
    assert owned(Result, {"individual": "g0000-s001"}) == Result(individual="g0000-s001")


def _shared(one: Evaluation) -> dict:
    return {"values": one.values, "shortfalls": one.shortfalls, "fitness": one.fitness}
