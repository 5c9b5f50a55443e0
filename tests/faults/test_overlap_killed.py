"""Generations that overlap: the driver killed while the next one is under way already, and rows lost and repaired.

What is resumed or repaired equals the run that nothing happened to: rows, patterns, checkpoints.
"""

import json
import shutil
from pathlib import Path

import bits
import cheap_lens
import pytest
from driver_processes import kill_once, resumed, undisturbed

POPULATION = 24
EVOLUTION = {"population": POPULATION, "generations": 4, "overlap": True, "stop": {"goals": False}}
BEGUN = ("--evolution", json.dumps(EVOLUTION))

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return undisturbed(tmp_path_factory.mktemp("whole"), *BEGUN)


@pytest.mark.parametrize("solved", [POPULATION - 1, POPULATION + 3, 2 * POPULATION - 2])
def test_killed_anywhere_it_is_resumed_to_the_same_bits(whole, tmp_path, solved):
    """Among them where antennas of the next generation are solved and none of this one is left to be sent."""
    plan, gate = cheap_lens.gated(tmp_path, solved)
    kill_once(lambda: cheap_lens.reached(gate, solved), gate, "run", tmp_path, json.dumps(plan), *BEGUN)
    (folder,) = (tmp_path / "cheap_lens").iterdir()
    resumed(folder, workers=solved == POPULATION + 3)
    bits.assert_equal(folder, whole)


def test_lost_rows_are_repaired_to_the_same_bits(whole, tmp_path):
    folder = Path(shutil.copytree(whole, tmp_path / whole.name))
    for part in ("evals", "patterns"):
        (folder / part / "gen-000002.parquet").unlink()
    cheap_lens.go_on(folder, farm=cheap_lens.serial, repair=True)
    bits.assert_equal(folder, whole)
