"""Row words and numbered pairs of a packed batch, against what they are defined by."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fdtd.backends.cuda import packing
from fdtd.errors import Unsuitable

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from random_problems import random_problem

LEAD = 5


@pytest.fixture(scope="module", params=[1, 4])
def packed(request: pytest.FixtureRequest) -> tuple[Any, dict[str, np.ndarray]]:
    problem = random_problem(request.param, 1, request.param)
    arrays, _ = packing.pack(problem, "float32", lead=LEAD, pitch=LEAD + problem.grid.nr + 4, numbered=True)
    return problem, arrays


def test_a_row_reaches_to_its_last_cell_that_is_not_air(packed: tuple[Any, dict[str, np.ndarray]]) -> None:
    problem, arrays = packed
    media, columns = arrays["media"], slice(LEAD, LEAD + problem.grid.nr)
    filled = (media[..., columns] != 1).any(axis=2) | (problem.media.open_area != 1).any(axis=1)
    if problem.media.coupling is not None:
        filled |= problem.media.coupling != 0
    reach = arrays["rows"][:, :-1] & 0xFFFF
    for one, row in np.ndindex(reach.shape):
        places = np.flatnonzero(filled[one, row])
        assert reach[one, row] == (places[-1] + 1 + LEAD if len(places) else 0), (one, row)


def test_numbers_of_pairs_give_the_coefficients_back(packed: tuple[Any, dict[str, np.ndarray]]) -> None:
    _, arrays = packed
    media = arrays["media"]
    numbers = arrays["numbers"].view(np.uint16).reshape(*media.shape[:2], 3, media.shape[-1]).astype(int)
    pairs = arrays["pairs"][arrays["row_pairs"].astype(int)[:, :, None, None] + numbers]
    np.testing.assert_array_equal(np.moveaxis(pairs, -1, 2).reshape(media.shape), media)


@pytest.mark.parametrize("coupled", [True, False])
def test_couplings_are_quarters_between_zeros(coupled: bool) -> None:
    problem = random_problem(1, 1, 2)
    assert problem.media.coupling is not None and problem.media.coupling.any()
    if not coupled:
        problem = replace(problem, media=replace(problem.media, coupling=None))
    pitch = LEAD + problem.grid.nr + 4
    found = packing.pack(problem, "float32", lead=LEAD, pitch=pitch)[0]["coupling"]
    expected = np.zeros((2, problem.grid.nz, pitch) if coupled else (1, 1, 1), np.float32)
    if problem.media.coupling is not None:
        expected[..., LEAD : LEAD + problem.grid.nr] = problem.media.coupling / 4
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_a_coupled_node_in_a_layer_is_refused() -> None:
    problem = random_problem(3, 1, 2)
    coupling = problem.media.coupling
    assert coupling is not None
    packing.pack(problem, "float32", lead=0, pitch=problem.grid.nr)
    coupling = coupling.copy()
    coupling[1, problem.axial_layers[0].rows[0], 2] = 0.1
    refused = replace(problem, media=replace(problem.media, coupling=coupling))
    with pytest.raises(Unsuitable, match="tilted"):
        packing.pack(refused, "float32", lead=0, pitch=problem.grid.nr)
