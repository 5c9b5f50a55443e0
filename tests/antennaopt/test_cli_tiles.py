"""`antennaopt tiles`: what it prints, and what it refuses."""

import json

import pytest

from antennaopt import cli


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_rows_on_stdout(call):
    """Figure 37 of Barigou (2011) for the absorbing layer on the smaller card."""
    code, out, err = call("tiles", "--region", "pml", "--shared-floats", "4076", "--json")
    assert (code, err) == (0, "")
    found = {row["approach"]: row for row in json.loads(out)}
    tiles = {approach: (row["height"], row["width"], row["depth"]) for approach, row in found.items()}
    assert tiles == {1: (8, 8, 1), 4: (5, 5, 5), 5: (6, 6, 2)}
    assert {approach: round(row["ratio"], 2) for approach, row in found.items()} == {1: 0.22, 4: 0.41, 5: 0.28}


def test_rows_in_a_file_and_a_table(call, tmp_path):
    code, out, _ = call("tiles", "--json", "rows.json", "--formulas", "tabulated")
    assert code == 0
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert len(rows) == 12
    assert " ".join(out.splitlines()[0].split()) == "region approach ratio height width depth floats used"
    assert len(out.splitlines()) == 2 + 12


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--shared-floats", "69", "--region", "pml"), "holds no tile of approach 1 (needs >= 70 "),
        (("--shared-floats", "0"), "holds no tile"),
        (("--shared-floats", 2**25), "allowed: up to 16777216"),
        (("--shared-floats", "many"), "not a valid integer"),
        (("--region", "corner"), "is not one of"),
        (("--frequencies", "0"), "1 to 10000"),
        (("--formulas", "other"), "is not one of"),
    ],
)
def test_bad_input_is_one_line(call, arguments, says):
    code, out, err = call("tiles", *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
