"""`antennaopt bench --matrix` tells the truth: what it says works is run against an oracle, what not is refused so.

Pairs that work have their agreement tests next to this file; here each of them is known to be covered, and each refusal
is the one that running gives.
"""

from __future__ import annotations

import numpy as np
import pytest
from host_device import HostDevice
from test_bor_schemes import SCHEMES as BOR_COVERED
from test_bor_schemes import UNCOUPLED
from test_planar_schemes import CHOICES as PLANAR_COVERED
from test_planar_schemes import problem

from antennaopt import cli
from antennaopt.bench import support
from fdtd.backends.cuda import planar
from fdtd.errors import Unsuitable
from fdtd.planar.problem import JacobiProblem
from fdtd.schemes.machine import HOPPER, Limits
from fdtd.stencils import SPATIAL

IN_SPACE = ("resident", "trapezoidal")
ON_A_GPU = [row for row in support.support_matrix() if row["backend"] == "cuda"]


def test_every_combination_has_a_row() -> None:
    rows = support.support_matrix()
    assert len(rows) == len(support.ALL_STENCILS) * len(support.ALL_SCHEMES) * len(support.BACKENDS)
    assert all(row["works"] or row["reason"] for row in rows)


@pytest.mark.parametrize(
    "row",
    [row for row in ON_A_GPU if row["works"] and row["stencil"] not in SPATIAL],
    ids=lambda row: str(row["scheme"]),
)
def test_what_works_is_held_against_an_oracle(row) -> None:
    covered = BOR_COVERED if row["stencil"] == "bor" else PLANAR_COVERED
    assert row["scheme"] in covered


def test_what_is_held_against_an_oracle_works() -> None:
    works = {(row["stencil"], row["scheme"]) for row in ON_A_GPU if row["works"]}
    assert {("bor", scheme) for scheme in BOR_COVERED} <= works
    for stencil in ("tmz", "tez", "jacobi5"):
        assert {(stencil, scheme) for scheme in PLANAR_COVERED} <= works


@pytest.mark.parametrize(
    "row",
    [row for row in ON_A_GPU if not row["works"] and row["stencil"] not in ("bor", *SPATIAL)],
    ids=lambda row: str(row["stencil"]),
)
def test_refusals_are_those_of_running(row) -> None:
    with pytest.raises(Unsuitable) as caught:
        if row["stencil"] == "jacobi5":
            planar.run_sum(JacobiProblem(initial=np.zeros((1, 9, 9)), steps=1), HostDevice(), scheme=row["scheme"])
        else:
            planar.run(problem(row["stencil"], steps=1), HostDevice(), scheme=row["scheme"])
    assert str(caught.value) == row["reason"]


def test_schemes_that_refuse_coupled_nodes_are_marked() -> None:
    """Those that the agreement tests see refuse surfaces = "full", and no others."""
    refuse = {row["scheme"]: row["diagonal_only"] for row in support.support_matrix() if "diagonal_only" in row}
    assert set(refuse) == set(UNCOUPLED)
    for scheme, reason in refuse.items():
        assert reason == f"{scheme} does not step coupled nodes; use surfaces = 'diagonal', or wavefront"
    table, reasons = support.matrix_table(ON_A_GPU)
    assert [table[1][1 + support.ALL_SCHEMES.index(scheme)] for scheme in UNCOUPLED] == ["cuda*", "cuda*"]
    assert sum("coupled" in reason for reason in reasons) == 2


def test_a_card_without_clusters_has_no_resident() -> None:
    ampere = Limits(**{**vars(HOPPER), "capability": 80})
    lost = [row for row in support.support_matrix(ampere) if row["scheme"] == "resident" and row["backend"] == "cuda"]
    assert not any(row["works"] for row in lost)
    assert all("9.0" in row["reason"] for row in lost if row["stencil"] not in ("bor", "heat7", "heat19"))


def test_stencils_in_space_are_stepped_once_a_trip() -> None:
    """By both backends; `test_boxes_emulated.py` and `test_boxes.py` compare them with NumPy.

    Antennas are also stepped by `resident`: `test_yee_resident.py`; large lattices by `trapezoidal`:
    `test_yee_tiles.py`.
    """
    for row in support.support_matrix():
        if row["stencil"] in SPATIAL and row["backend"] != "reference":
            held = (row["stencil"], row["backend"]) == ("yee3d", "cuda") and row["scheme"] in IN_SPACE
            assert row["works"] == (held or row["scheme"] == "one_step")
            assert row["works"] or row["backend"] == "cpu" or "has three; use one_step" in row["reason"]


def test_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "--matrix"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split() == ["one_step", "trapezoidal", "skewed", "wavefront", "resident"]
    assert "tmz, wavefront: wavefront does not suit tmz: " in out
    assert cli.main(["bench", "kernels", "--matrix"]) == 2
