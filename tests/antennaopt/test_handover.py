"""What is handed to the process that writes: the same files come of it as of what was handed over."""

import numpy as np
import pyarrow as pa
import pytest
from test_every_algorithm import KINDS, search
from test_rows_of_batches import ABOUT, CASES, FREQUENCIES, outcome, undefined, written

from antennaopt.farm.replies import pack_outcomes, unpack_outcomes
from antennaopt.run.handover import OF_COPY, Unfit, copies_of, generation_message, read_message, rows_of, state_message
from antennaopt.run.interfaces import NOT_KEPT, Evaluation
from antennaopt.search import Candidate, Result
from antennaopt.solve.outcome import Outcome
from antennaopt.store.checkpoint import compact
from antennaopt.store.made import MadeCopy, batches_of, metric_values
from antennaopt.store.rows import pattern_table, table_of
from antennaopt.store.schema import RunColumns, patterns_schema

COLUMNS = RunColumns.of((), FREQUENCIES, ("directivity_dbi",), feed_radius=4e-3)


def evaluations(outcomes):
    """Rows of one generation, the last of them first."""
    found = []
    for slot, one in enumerate(outcomes):
        candidate = Candidate(
            individual=f"g0001-s{slot:03d}",
            generation=1,
            slot=slot,
            genome=(slot / 7.0, -0.0),
            parents=("g0000-s001",),
            operator="crossover",
        )
        about = {"shortfalls": [slot / 3.0] if one.ok else [], "fitness": slot / 3.0, "cached": slot % 3 == 2}
        found.append(Evaluation(candidate=candidate, values={"lens.a": slot / 9.0}, outcome=one, **about))
    return found[::-1]


def handed_over(ones):
    text, arrays = generation_message(1, ones)
    told = read_message(text)
    return rows_of(told, [bytearray(one) for one in arrays]), told


def tables(rows):
    """Return patterns as bytes, and all columns of the rows as texts: NaN is no None, and -0.0 is no 0.0."""
    patterns = pattern_table("run", {one.individual: one.outcome for one in rows}, patterns_schema())
    table = table_of(COLUMNS, "run", rows)
    schema = COLUMNS.evals_schema()
    return written(patterns), {one.name: repr(pa.array(table[one.name], one.type).to_pylist()) for one in schema}


@pytest.mark.parametrize("batches", CASES.values(), ids=CASES)
def test_rows_and_patterns_are_the_same(batches):
    ones = evaluations([one for batch in batches for one in unpack_outcomes(pack_outcomes(batch), **ABOUT)])
    rows, told = handed_over(ones)
    assert told["generation"] == 1
    assert tables(rows) == tables([one.row for one in ones])


def test_an_outcome_without_a_batch_and_a_part_of_a_batch_are_the_same():
    """A twin has the place of its original once more; of one batch an antenna is missing; one is read from a file."""
    first, second, third = unpack_outcomes(pack_outcomes([outcome(1), undefined(2), outcome(3)]), **ABOUT)
    read = outcome(4, figures={"beam": [1.0, None, 2.0]}, origin="cache")
    failed = Outcome(status="error", error="Traceback ...\nno such antenna", attempt=2)
    ones = evaluations([third, first, first, read, failed])
    rows, told = handed_over(ones)
    assert [len(at) for at, *_ in told["parts"]] == [3, 2], "of the batch, and of none"
    assert tables(rows) == tables([one.row for one in ones])
    assert rows[0].outcome.error == failed.error and rows[1].outcome.figures == read.figures
    assert second.ok


def test_cuts_are_not_copied_where_a_whole_batch_is_there():
    ones = evaluations(unpack_outcomes(pack_outcomes([outcome(1), outcome(2)]), **ABOUT))[::-1]
    (sent, _, _), *_ = batches_of([one.outcome for one in ones])
    _, arrays = generation_message(1, ones)
    assert all(np.shares_memory(one, plane) for one, plane in zip(arrays[-2:], sent.planes, strict=True))
    rows, _ = handed_over(ones)
    assert len(batches_of([one.outcome for one in rows])) == 1, "files are written from whole batches there too"


def test_copies_of_earlier_designs_are_named():
    ones = evaluations([outcome(1), outcome(2)])
    ones[1] = Evaluation(**{**vars(ones[1]), "copy_of": "g0000-s004", "cached": True})
    assert copies_of(ones) == {"g0001-s000": "g0000-s004"}
    assert read_message(generation_message(1, ones)[0])["copies"] == copies_of(ones)


@pytest.mark.parametrize(("algorithm", "changes"), KINDS)
def test_the_state_of_every_search_is_the_same_text(algorithm, changes):
    one = search(algorithm, **changes)
    for _ in range(2):
        asked = one.ask(None if not one.by_order else 10)
        one.tell([Result(individual=each.individual, shortfalls=(sum(each.genome),)) for each in asked])
    state = {"evolution": one.state(), "huge": -(2**130), "numbers": [5e-324, -0.0, 1 / 3], "none": None}
    told = read_message(state_message(3, state)[0])
    assert told["generation"] == 3
    assert compact(told["state"]) == compact(state)


@pytest.mark.parametrize("what", [object(), {1, 2}])
def test_what_has_no_form_is_left_to_the_driver(what):
    with pytest.raises(Unfit):
        state_message(0, {"evolution": what})


def copy_of(number, solved, **about):
    design = {"lens.a": number / 7.0, "lens.b": -0.0}
    judged = {"shortfalls": [number / 3.0], "fitness": number / 3.0, "met": number == 2, **about}
    return MadeCopy(sample=number, design=design, outcome=solved, **judged)


def test_made_copies_are_the_same():
    """Copies of two candidates came in one batch, without its cuts since then; one was lost, one was never sent."""
    first, second, third = unpack_outcomes(pack_outcomes([outcome(1), undefined(2), outcome(3)]), **ABOUT)
    batch = first.sent[0].without_cuts()
    kept = [one.without(*NOT_KEPT) for one in (first, second, third)]
    for place, one in enumerate(kept):
        object.__setattr__(one, "sent", (batch, place))
    failed = Outcome(status="lost", error="its worker died", attempt=3)
    refused = Outcome(status="infeasible", error="antenna.lens.a cannot be made")
    none = {"shortfalls": [], "met": None}
    ones = evaluations([outcome(4), outcome(5), outcome(6)])
    samples = (
        (copy_of(1, kept[2]), copy_of(2, kept[0])),
        (),
        (copy_of(1, kept[1]), copy_of(2, failed, **none), copy_of(3, refused, shortfalls=[], met=False)),
    )
    ones = [Evaluation(**{**vars(one), "samples": made}) for one, made in zip(ones, samples, strict=True)]
    rows, told = handed_over(ones)
    assert [len(at) for at, *_ in told["made"]["parts"]] == [3, 2]
    assert [[one.sample for one in row.samples] for row in rows] == [[1, 2], [], [1, 2, 3]]
    there, here = ([copy for row in each for copy in row.samples] for each in (rows, ones))
    for found, made in zip(there, here, strict=True):
        assert all(repr(getattr(found, name)) == repr(getattr(made, name)) for name in (*OF_COPY, "design"))
        assert repr(found.outcome.to_dict()) == repr(made.outcome.to_dict())
        assert found.outcome.e_plane is None
    found, made = (metric_values(COLUMNS, [one.outcome for one in each]) for each in (there, here))
    assert repr({name: [*one] for name, one in found.items()}) == repr({name: [*one] for name, one in made.items()})
