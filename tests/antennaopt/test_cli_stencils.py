"""`antennaopt stencils`: what it lists, and what it refuses."""

from __future__ import annotations

import json


def test_the_table_has_every_stencil(call) -> None:
    code, out, _ = call("stencils")
    assert code == 0
    first = [line.split()[0] for line in out.splitlines() if line]
    assert {"bor", "tmz", "tez", "jacobi5", "yee3d", "heat7", "heat19"} <= set(first)


def test_rows_as_data(call) -> None:
    code, out, _ = call("stencils", "--json")
    assert code == 0
    rows = {row["stencil"]: row for row in json.loads(out)}
    yee = rows["yee3d"]
    assert yee["components"]["h_x"] == [0, 0.5, 0.5]
    # Each H: two differences and a sum, one product, one fused. Each E: two differences; two products, two fused.
    assert (yee["additions"], yee["multiplications"], yee["multiply_adds"]) == (3 * 5, 3 * 3, 3 * 3)
    assert (yee["fused_bytes"], yee["split_bytes"]) == (48, 72)
    assert yee["halo"] == {"x": [1, 1], "y": [1, 1], "z": [1, 1]}
    assert yee["schemes"] == {"one_step": ["cpu", "cuda"], "trapezoidal": ["cuda"], "resident": ["cuda"]}
    assert "has three; use one_step" in yee["unsuitable"]["wavefront"]
    assert rows["heat19"]["additions"] == 4 + 1 + 11  # sums of six faces and of twelve edges, less those that are fused
    assert rows["tmz"]["schemes"]["skewed"] == ["cuda"]


def test_one_stencil_in_full(call) -> None:
    code, out, _ = call("stencils", "yee3d")
    assert code == 0
    assert "h_x (0, 0.5, 0.5)" in out
    assert "tmz" not in out


def test_an_unknown_name_is_refused(call) -> None:
    code, _, err = call("stencils", "3d")
    assert code == 2
    assert "stencil 3d is not known; use one of bor, tmz, tez, jacobi5, yee3d, heat7, heat19" in err


def test_counts_have_their_noun_and_none_is_zero(call) -> None:
    """heat19: 16 sums, one product of its own, two that are fused; one launch a step. bor has no product of its own."""
    _, out, _ = call("stencils", "heat19", "bor")
    assert "19: 16 additions, 1 multiplication, 2 multiply-adds" in out
    assert "20: 10 additions, 10 multiply-adds" in out
    assert "8 in 1 launch\n" in out
    assert "72 in 2 launches\n" in out


def test_a_name_after_json_is_no_file(call, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = call("stencils", "--json", "yee3d")
    assert code == 2
    assert "name stencils before the option (antennaopt stencils yee3d --json)" in err
    assert not list(tmp_path.iterdir())
