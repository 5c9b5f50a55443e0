"""Whole files that no run can have written are refused, and what they hold goes no further.

They were found by the harm of `test_hostile`; the states that a search alone tells are in
`tests/antennaopt/test_evolution_states`.
"""

import json
import math
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_resume import contents
from unfinished_runs import ALL, SOME, STEADY, go_on, sealed

from antennaopt.errors import ResumeRefusedError


def put(*path):
    *folders, last, value = path

    def change(state):
        at = state
        for key in folders:
            at = next(iter(at.values())) if key == "first" else at[key]
        at[next(iter(at)) if last == "first" else last] = value

    return change


def moved(state):
    """Change a gene wherever the checkpoint has the individual: only its row knows better."""
    for one in (*state["evolution"]["population"], *state["evolution"]["hall_of_fame"]):
        if one["candidate"]["individual"] == "g0001-s002":
            one["candidate"]["genome"][0] = 0.5


@pytest.mark.parametrize(
    ("which", "change", "said"),
    [
        *((which, put("evolution", "population", []), "a population of 0") for which in (ALL, SOME, STEADY)),
        (ALL, put("evolution", "hall_of_fame", 0, "candidate", "slot", 3), "is not the id"),
        (ALL, moved, "another genome"),
        (ALL, put("evolution", "generation", 1), "not been solved yet|by slots"),
        (SOME, put("partial", "first", "status", "fine"), "none that a farm gives"),
        *((which, put("partial", "first", "origin", []), "none that a farm gives") for which in (SOME, STEADY)),
        *((which, put("partial", "first", "gain_dbi", []), "none that a farm gives") for which in (SOME, STEADY)),
        (SOME, put("partial", {"g0001-s000": {"status": "ok"}}), "KeyError"),
        (SOME, put("partial", "first", "directivity_dbi", ["x"]), "unsupported operand"),
        (SOME, put("partial", "first", "steps", "x"), "its steps is"),
        (SOME, put("partial", "first", "worker", "\ud800"), "its worker is"),
        *(
            (SOME, put("partial", "first", "h_plane", [one]), "its cuts")
            for one in ("<c8 AAA", "<f8 AAAA", "<c8 AAAAAAAAAAA=")
        ),
        (STEADY, put("partial", "first", "status", "fine"), "of another fitness"),
        (STEADY, put("partial", "first", "directivity_dbi", [1.0]), "of another fitness"),
        (STEADY, put("block", []), "block under way"),
        (STEADY, put("block", 0, "twin", "g0002-s001"), "is of no earlier block"),
    ],
)
def test_a_checkpoint_that_no_search_can_have_written_is_refused(runs, tmp_path, which, change, said):
    """Before anything is solved or written: exit code 4, in one line. Each ended in a traceback, or went on unseen."""
    folder = tmp_path / runs[which].name
    shutil.copytree(runs[which], folder)
    for path in (folder / "checkpoint").iterdir():
        payload = json.loads(path.read_text())["payload"]
        if path == max((folder / "checkpoint").iterdir()):
            change(payload["state"])
        path.write_bytes(sealed(payload))
    before = contents(folder)
    with pytest.raises(ResumeRefusedError, match=rf"is not of this run .*({said}).*; restore checkpoint/"):
        go_on(folder)
    assert contents(folder) == before


@pytest.mark.parametrize("plane", ["theta_deg", "h_im"])
def test_a_cut_that_has_not_as_many_values_as_angles_is_refused(runs, tmp_path, plane):
    """In the pattern of the best of a whole run, which is written once more at its end; it was a traceback."""
    folder = tmp_path / runs[ALL].name
    shutil.copytree(runs[ALL].parent / "other", folder)
    for path in (folder / "patterns").iterdir():
        table = pq.read_table(path, partitioning=None)
        rows = [row | {plane: row[plane][1:]} for row in table.to_pylist()]
        pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    with pytest.raises(ResumeRefusedError, match=r"patterns/gen-00000\d\.parquet is damaged"):
        go_on(folder)


def test_numbers_that_are_not_finite_are_not_in_the_result(runs, tmp_path):
    """JSON has none: rows and patterns of the best with NaN and infinity give null there; it was a traceback."""
    folder = tmp_path / runs[ALL].name
    shutil.copytree(runs[ALL].parent / "other", folder)
    for kind, name, value in (("evals", "gain_dbi_30000mhz", math.nan), ("patterns", "e_im", [-math.inf] * 13)):
        for path in (folder / kind).iterdir():
            table = pq.read_table(path, partitioning=None)
            rows = [row | {name: value} for row in table.to_pylist()]
            pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    go_on(folder)
    (result,) = json.loads((folder / "best" / "result.json").read_text())["results"]
    assert result["gain_dbi"] is None
    assert result["e_plane_dbi"] == [None] * 13
    assert all(len(pair) == 2 and pair[1] is None for pair in result["e_plane"])
