"""`antennaopt tiles`: what it prints, and what it refuses."""

import json

import pytest

from fdtd.errors import DeviceError


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


def test_predictions_for_a_card(call, tmp_path):
    """Schemes that cannot work are marked; half the memory rate halves the rates that memory limits."""
    code, out, _ = call("tiles", "--stencil", "bor", "--json")
    assert code == 0
    rows = {row["scheme"]: row for row in json.loads(out)}
    assert rows["one_step"]["limit"] == "memory"
    assert rows["skewed"]["predicted_cell_steps_per_s"] is None
    code, out, _ = call("tiles", "--stencil", "bor", "--grid", "100x100", "--batch", "1")
    assert code == 0
    assert "not here: skewed does not suit bor: " in out
    from fdtd.schemes.machine import H200

    slow = {**H200.to_dict(), "memory_bytes_per_s": H200.memory_bytes_per_s / 2}
    (tmp_path / "slow.json").write_text(json.dumps(slow))
    code, out, _ = call("tiles", "--stencil", "bor", "--device", "slow.json", "--json")
    halved = {row["scheme"]: row for row in json.loads(out)}["one_step"]["predicted_cell_steps_per_s"]
    assert halved == pytest.approx(rows["one_step"]["predicted_cell_steps_per_s"] / 2)


def test_measured_rows_are_compared_and_drawn(call, tmp_path):
    row = {
        "stencil": "bor", "scheme": "one_step", "backend": "cuda", "dtype": "float32", "shape": [256, 320],
        "batch": 264, "cell_steps_per_s": 40e9,
    }  # fmt: skip
    slower, cpu = {**row, "cell_steps_per_s": 30e9}, {**row, "backend": "cpu"}
    (tmp_path / "rows.json").write_text(json.dumps([slower, row, cpu]))
    code, out, _ = call("tiles", "--measured", "rows.json", "--plot", "rates.png")
    assert code == 0
    assert (tmp_path / "rates.png").read_bytes().startswith(b"\x89PNG")
    last = out.splitlines()[-1].split()
    assert last[:4] == ["bor", "one_step", "256x320", "264"]
    assert len(out.splitlines()) == 3  # the best of equal kinds
    assert last[6] == "40"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--stencil", "heat"), "allowed: bor, tmz, tez, jacobi5"),
        (("--stencil", "bor", "--grid", "256"), "not of the form NRxNZ"),
        (("--stencil", "bor", "--batch", "0"), "range"),
        (("--stencil", "bor", "--device", "missing.json"), "use h200, `this` or a file as {"),
        (("--stencil", "bor", "--device", "bad.json"), "clock_hz"),
        (("--measured", "missing.json"), "does not exist"),
        (("--tune",), "--tune needs --stencil"),
        (("--tune", "--stencil", "heat"), "allowed: bor, tmz, tez, jacobi5"),
        (("--stencil", "yee3d"), "--stencil yee3d has no model of its rates; add --tune, which times its schemes"),
        (("--stencil", "yee3d", "--tune"), "--tune of yee3d needs --grid; write for example --grid 64x64x32"),
        (("--stencil", "yee3d", "--tune", "--grid", "256x320"), "--grid 256x320 is not of the form NxMxK; write for"),
        (("--measured", "bad.json"), "holds no rows"),
        (("--plot", "rates.png"), "give --measured FILE too"),
        (("--measured", "none.json", "--plot", "rates.png"), "no float32 rows of a CUDA device"),
        (("--measured", "cpu.json"), "`antennaopt bench kernels --backend cuda --json FILE` makes them"),
        (("--stencil", "tmz", "--region", "pml"), "--region says nothing to --stencil; leave one of them out"),
        (("--stencil", "bor", "--measured", "bad.json"), "--stencil says nothing to --measured"),
        (("--tune", "--stencil", "bor", "--device", "h200"), "--device says nothing to --tune"),
        (("--measured", "bad.json", "--batch", "1"), "--batch says nothing to --measured"),
        (("--grid", "256x320"), "--grid needs --stencil; add it"),
        (("--device", "h200"), "--device needs --stencil or --measured; add it"),
        (("--measured", "cuda.json", "--plot", "rates.bmp"), "use one of .png, .svg, .pdf"),
    ],
)
def test_bad_devices_and_files_are_one_line(call, tmp_path, arguments, says):
    (tmp_path / "bad.json").write_text('{"name": "a card"}')
    (tmp_path / "none.json").write_text("[]")
    row = {"stencil": "bor", "scheme": "one_step", "dtype": "float32", "shape": [9, 9], "batch": 1}
    for backend in ("cpu", "cuda"):
        rows = [{**row, "backend": backend, "cell_steps_per_s": 1e9}]
        (tmp_path / f"{backend}.json").write_text(json.dumps(rows))
    code, out, err = call("tiles", *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--tune",), "--tune: there is no NVIDIA driver here; use a prediction without it, or a machine with one"),
        (("--device", "this"), "--device this: there is no NVIDIA driver here; use --device h200, or a machine with"),
    ],
)
def test_a_device_is_asked_for_before_anything_needs_it(call, monkeypatch, arguments, says):
    """The driver's answer, not that a package is missing, and no option that the command has not."""

    def none():
        raise DeviceError("there is no NVIDIA driver here; use --backend cpu, or a machine with one")

    monkeypatch.setattr("fdtd.backends.cuda.present.devices", none)
    code, out, err = call("tiles", "--stencil", "tmz", *arguments)
    assert (code, out, err.count("\n")) == (5, "", 1)
    assert says in err


def test_antennas_in_space_are_timed(call, monkeypatch):
    """The winner, then a line a candidate with its rate or the reason why it cannot run."""
    winner = {"stencil": "yee3d", "shape": [64, 64, 32], "batch": 256, "device": "a card", "scheme": "resident",
              "choice": {"spread": 0, "planes": 2}, "cell_steps_per_s": 94e9, "cache": "tuned.json"}  # fmt: skip
    timed = [
        {"scheme": "one_step", "choice": {}, "cell_steps_per_s": 15e9},
        {"scheme": "resident", "choice": {"spread": 1}, "unsuitable": "no room"},
    ]
    asked = []
    monkeypatch.setattr("antennaopt.cli.tiles_in_space.check_device", lambda option, instead: None)
    monkeypatch.setattr("antennaopt.bench.tuning.tune_space", lambda *given: asked.append(given) or [winner, *timed])
    arguments = ("tiles", "--stencil", "yee3d", "--grid", "64x64x32", "--batch", "256", "--tune")
    code, out, err = call(*arguments)
    assert (code, err, asked) == (0, "", [((64, 64, 32), 256)])
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[4:7] == ["scheme resident", "choice spread 0, planes 2", "cell_steps_per_s 94 G/s"]
    assert lines[-2:] == ["one_step - 15 G/s", "resident spread 1 no room"]
    code, out, _ = call(*arguments, "--json", "-")
    assert json.loads(out) == [winner, *timed]


@pytest.mark.parametrize("grid", ["5000x10", "600x10"])
def test_what_is_refused_names_what_works(call, grid):
    """Wide rows are stepped by `trapezoidal` in segments, and no reason sends to another scheme that is refused."""
    code, out, _ = call("tiles", "--stencil", "bor", "--grid", grid)
    assert code == 0
    advice = [line.partition("; use ")[2] for line in out.splitlines() if "; use " in line]
    assert advice == ["trapezoidal"] * 2
    assert out.splitlines()[3].startswith("trapezoidal")
    code, out, _ = call("tiles", "--stencil", "bor", "--grid", "10x5000")
    assert "use trapezoidal or wavefront" in out, "advice that holds stays"


def test_one_launch_is_one(call):
    _, out, _ = call("tiles", "--stencil", "jacobi5")
    assert "one launch a step" in out
    assert "launches" not in out
