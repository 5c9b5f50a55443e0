"""A recorded order of completion gone through once more: what a steady state's rows must lead to."""

from antennaopt.search import Candidate, Result


def replay(search, recorded):
    """Yield the results of a replay from pairs of candidate and result; the same if nothing has changed since."""
    order = list(recorded)
    waiting = sorted((birth_of(candidate) for candidate, _ in order), reverse=True)
    for candidate, result in order:
        while waiting and waiting[-1][0] == search.completed:
            born = search.breed(waiting.pop()[1])
            search.under_way[born.individual] = born
            search.births = max(search.births, born.birth + 1)
        bred_after, birth = birth_of(candidate)
        name = Candidate.born(birth, bred_after, genome=()).individual
        yield from search.tell(
            [Result(individual=name, shortfalls=result.shortfalls, status=result.status, cached=result.cached)]
        )


def birth_of(candidate):
    assert candidate.bred_after is not None, "the rows have no order of birth; they are not of a steady state"
    return candidate.bred_after, candidate.birth
