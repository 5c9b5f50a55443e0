"""A search with samples whose driver is killed: between the design's own solution and its samples, and among these.

What is resumed equals the run that nothing happened to: rows, samples, patterns, checkpoints.
"""

import json

import bits
import cheap_lens
import pytest
from driver_processes import kill_once, one_of, resumed, undisturbed

ALGORITHMS = ("ga", "cmaes", "de", "random")
GOALS = {
    "objective": [{"metric": "directivity_dbi", "at_least": 29.5}],
    "tolerance": {"samples": 8, "aim": "mean", "final_samples": 30, "of": {"lens.radii": {"sigma": "0.3 mm"}}},
}

pytestmark = pytest.mark.slow


def begun(algorithm):
    evolution = {"algorithm": algorithm, "population": 10, "generations": 4}
    return "--evolution", json.dumps(evolution), "--goals", json.dumps(GOALS)


@pytest.fixture(scope="module", params=ALGORITHMS)
def quiet(request, tmp_path_factory):
    """An algorithm, and its run that nothing happened to."""
    root = tmp_path_factory.mktemp(request.param)
    return request.param, undisturbed(root, *begun(request.param))


def test_killed_anywhere_it_is_resumed_to_the_same_bits(quiet, tmp_path):
    """After `more` antennas of a generation: of ten candidates, or their samples."""
    algorithm, whole = quiet
    generation, more = one_of(((1, 4), (2, 17)), ALGORITHMS, algorithm)
    rows, made = bits.rows(whole), bits.samples(whole)
    before = rows[(rows["generation"] < generation) & ~rows["cached"]]
    after = len(before) + int((made["generation"] < generation).sum()) + more
    plan, gate = cheap_lens.gated(tmp_path, after)
    written = f"cheap_lens/*/checkpoint/checkpoint-{generation - 1:06d}.json"

    def at_the_gate():
        return cheap_lens.reached(gate, after) and list(tmp_path.glob(written))

    kill_once(at_the_gate, gate, "run", tmp_path, json.dumps(plan), *begun(algorithm))
    (folder,) = (tmp_path / "cheap_lens").iterdir()
    assert len(bits.rows(folder)) == (rows["generation"] < generation).sum()
    resumed(folder, workers=True)
    bits.assert_equal(folder, whole)
    yields = sorted(path.name for path in (whole / "tolerance").glob("*.json"))
    for name in yields:
        found, due = (json.loads((one / "tolerance" / name).read_text()) for one in (folder, whole))
        assert found | {"run": ""} == due | {"run": ""}
    assert len(yields) == 3


def test_killed_after_the_search_the_yields_are_computed_again(quiet, tmp_path):
    algorithm, whole = quiet
    after = len(bits.rows(whole)) + len(bits.samples(whole)) + 45
    plan, gate = cheap_lens.gated(tmp_path, after)
    kill_once(lambda: cheap_lens.reached(gate, after), gate, "run", tmp_path, json.dumps(plan), *begun(algorithm))
    (folder,) = (tmp_path / "cheap_lens").iterdir()
    assert len(list((folder / "tolerance").glob("*.json"))) == 1
    resumed(folder, workers=False)
    bits.assert_equal(folder, whole)
    assert len(list((folder / "tolerance").glob("*.json"))) == 3
