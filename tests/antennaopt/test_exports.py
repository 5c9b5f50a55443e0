"""What is exported is read back by parsers that know only the format's own rules."""

import csv
import json
import re

import numpy as np
import pytest
from made_up_runs import lens_field
from scipy.io import netcdf_file

from antennaopt.errors import ConfigurationError, StorageError
from antennaopt.report.data_files import wave_impedance, waves_of, write_csv, write_touchstone
from antennaopt.report.field_data import read_field_map, write_field_map


def outcome(**changes):
    frequency_hz = [28.5e9, 30e9, 31.5e9]
    theta = [float(degree) for degree in range(181)]
    base = {
        "status": "ok",
        "frequency_hz": frequency_hz,
        "s11": [[0.1, -0.2], [1 / 3, 1e-17], [-0.05, 0.25]],
        "s11_db": [-13.0, -9.5, -11.9],
        "directivity_dbi": [17.25, 18.0, 18.5],
        "sidelobe_db": [-20.5, None, -17.0],
        "hpbw_e_deg": [20.0, 19.0, None],
        "theta_deg": theta,
        "e_plane_dbi": [[18.0 - 0.01 * degree * (index + 1) for degree in theta] for index in range(3)],
        "h_plane_dbi": [[17.0 - 0.02 * degree for degree in theta] for _ in range(3)],
    }
    return base | changes


def parse_touchstone(text):
    """Touchstone 1.1, one port: comments from !, one option line, three numbers a line."""
    lines = [line.partition("!")[0].strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    options = lines[0].upper().split()
    assert options[0] == "#" and options[2:4] == ["S", "RI"] and options[4] == "R"
    scale = {"HZ": 1.0, "KHZ": 1e3, "MHZ": 1e6, "GHZ": 1e9}[options[1]]
    numbers = np.array([[float(word) for word in line.split()] for line in lines[1:]])
    return float(options[5]), scale * numbers[:, 0], numbers[:, 1] + 1j * numbers[:, 2]


def test_touchstone_reads_back_in_ascending_order(tmp_path):
    shuffled = outcome(frequency_hz=[30e9, 28.5e9, 31.5e9], s11=[[1 / 3, 1e-17], [0.1, -0.2], [-0.05, 0.25]])
    path = write_touchstone(tmp_path / "deep" / "lens.s1p", shuffled, title="Linse für 30 GHz\nsecond")
    resistance, hz, s11 = parse_touchstone(path.read_text(encoding="ascii"))
    assert resistance == 50.0
    assert hz.tolist() == [28.5e9, 30e9, 31.5e9]
    np.testing.assert_allclose(s11, [0.1 - 0.2j, 1 / 3 + 1e-17j, -0.05 + 0.25j], rtol=1e-11)


def test_touchstone_has_other_modes_as_comments(tmp_path):
    def waves(tm11):
        return [
            {"plane": 0.0, "name": "TE11", "direction": "reflected", "s": [0.5, 0.0]},
            {"plane": 0.0, "name": "TM11", "direction": "reflected", "s": [tm11, -0.25]},
            {"plane": 0.005, "name": "TE11", "direction": "forward", "s": [0.0, 0.9]},
        ]

    modes = [waves(0.1)[:1], waves(0.2), waves(0.3)]  # TM11 does not propagate at 28.5 GHz
    path = write_touchstone(tmp_path / "horn.s1p", outcome(modes=modes))
    text = path.read_text()
    assert parse_touchstone(text)[1].tolist() == [28.5e9, 30e9, 31.5e9]
    blocks = {}
    for line in text.splitlines():
        if line.startswith("! mode "):
            rows = blocks.setdefault(line[7:].partition(":")[0], [])
        elif line.startswith("!   "):
            rows.append([float(word) for word in line[1:].split()])
    assert blocks == {
        "TM11 plane 0 mm reflected": [[30e9, 0.2, -0.25], [31.5e9, 0.3, -0.25]],
        "TE11 plane 5 mm forward": [[30e9, 0.0, 0.9], [31.5e9, 0.0, 0.9]],
    }


def test_touchstone_joins_the_sweep_with_the_requested_frequencies(tmp_path):
    sweep = {"frequency_hz": [28e9, 30e9, 32e9], "s11": [[0.5, 0.0], [0.9, 0.9], [0.4, 0.1]]}
    path = write_touchstone(tmp_path / "lens", outcome(sweep=sweep))
    _, hz, s11 = parse_touchstone(path.read_text())
    assert path.name == "lens.s1p"
    assert hz.tolist() == [28e9, 28.5e9, 30e9, 31.5e9, 32e9]
    assert s11[2].real == pytest.approx(1 / 3, rel=1e-11)


def test_touchstone_says_what_its_reference_is(tmp_path):
    text = write_touchstone(tmp_path / "a.s1p", outcome(), feed_radius=3.6e-3).read_text()
    impedance = float(re.search(r"at 30 GHz: ([\d.]+) ohm", text)[1])
    # fc(TE11, a = 3.6 mm) = 24.403 GHz, so Z = 376.73 / sqrt(1 - 0.81343**2) = 647.7 ohm
    assert impedance == pytest.approx(647.7, abs=0.2)
    assert "wave impedance" in text
    with pytest.raises(ValueError, match=r"cut off below 24\.4"):
        wave_impedance(20e9, "TE11", 24.403e9)


def test_csv_holds_every_number_to_its_last_bit(tmp_path):
    results, patterns = write_csv(tmp_path / "lens.csv", outcome())
    with open(results, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["frequency_hz"]) for row in rows] == [28.5e9, 30e9, 31.5e9]
    assert float(rows[1]["s11_re"]) == 1 / 3
    assert rows[1]["sidelobe_db"] == "" and float(rows[2]["sidelobe_db"]) == -17.0
    with open(patterns, newline="") as file:
        cuts = list(csv.DictReader(file))
    assert list(cuts[0]) == ["frequency_hz", "theta_deg", "e_plane_dbi", "h_plane_dbi"]
    assert len(cuts) == 3 * 181
    assert float(cuts[181 + 90]["e_plane_dbi"]) == outcome()["e_plane_dbi"][1][90]


def test_what_was_not_solved_is_not_exported(tmp_path):
    failed = {"status": "infeasible", "error": "the lens is smaller than the tube"}
    with pytest.raises(ValueError, match="infeasible"):
        write_csv(tmp_path / "a.csv", failed)
    with pytest.raises(ValueError, match="infeasible"):
        write_touchstone(tmp_path / "a.s1p", failed)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_a_file_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        write_csv(tmp_path / "file" / "a.csv", outcome())


@pytest.mark.parametrize("sweep", [{}, {"frequency_hz": [28e9, 30e9], "s11": [[0.5, 0.1], [0.2, -0.3]]}])
def test_field_map_comes_back_to_the_bit(tmp_path, sweep):
    given = outcome(field=lens_field(), sweep=sweep)
    path = write_field_map(tmp_path / "best" / "field.npz", given, individual="g0001-s003")
    back, field = read_field_map(path), given["field"]
    assert back is not None and back.individual == "g0001-s003" and back.shown_frequency == 30e9
    for name, mine in (("r", "r_m"), ("z", "z_m"), ("e", "e"), ("metal", "metal")):
        np.testing.assert_array_equal(getattr(back, name), field[mine])
    np.testing.assert_array_equal(back.outlines.dielectrics, field["outlines"]["dielectrics"])
    assert back.sweep_s11.tolist() == ([0.5 + 0.1j, 0.2 - 0.3j] if sweep else [])
    assert back.at(29.1e9).shown == 0


def test_every_array_of_a_field_file_is_described(tmp_path):
    """The file alone has dimensions, units and conventions; a bare `np.load` reads it."""
    path = write_field_map(tmp_path / "a.npz", outcome(field=lens_field()))
    with np.load(path, allow_pickle=False) as data:
        about = json.loads(str(data["attributes"]))
        described = set(data.files) - {"attributes", "shown", "individual"}
        assert set(about["variables"]) == described
        for name, one in about["variables"].items():
            assert (
                data[name].shape == tuple(len(data[dim]) for dim in one["dims"] if dim != "body")
                or "body" in one["dims"]
            )
        assert about["variables"]["e_r"] == {
            "dims": ["frequency", "z", "r"],
            "units": "V/m",
            "long_name": "complex amplitude of the radial electric field, of cos(phi)",
        }
    assert "exp(+jwt)" in about["time_convention"] and "1 W" in about["normalisation"]


def test_netcdf_holds_the_same_field(tmp_path):
    """Read back by SciPy's own reader; version 1 or 2 of the classic format, known by its first four bytes."""
    field = lens_field()
    path = write_field_map(tmp_path / "a.nc", outcome(field=field), individual="g0001-s003")
    assert path.read_bytes()[:4] in (b"CDF\x01", b"CDF\x02")
    with netcdf_file(path, mmap=False) as data:
        assert data.variables["e_r_real"].dimensions == ("frequency", "z", "r")
        assert data.variables["e_r_real"].units == b"V/m"
        back = data.variables["e_r_real"][:] + 1j * data.variables["e_r_imag"][:]
        np.testing.assert_array_equal(back, field["e"][:, 0])
        np.testing.assert_array_equal(data.variables["z"][:], field["z_m"])
        assert data.individual == b"g0001-s003" and b"exp(+jwt)" in data.time_convention
        assert "sweep_frequency" not in data.variables


def test_an_unknown_ending_of_field_data_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"use one of \.npz, \.nc"):
        write_field_map(tmp_path / "a.zarr", outcome(field=lens_field()))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change", [{"r": np.zeros(5)}, {"shown": 7}, {"e_r": np.zeros((2, 3))}, {"metal": np.array("x")}]
)
def test_a_field_file_that_does_not_fit_together_is_none(tmp_path, change):
    path = write_field_map(tmp_path / "a.npz", outcome(field=lens_field()))
    with np.load(path) as data:
        arrays = {name: data[name] for name in data.files}
    np.savez(path, **(arrays | change))
    assert read_field_map(path) is None


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04torn"])
def test_a_damaged_field_map_is_none(tmp_path, content):
    path = tmp_path / "field.npz"
    path.write_bytes(content)
    assert read_field_map(path) is None
    assert read_field_map(tmp_path / "missing.npz") is None


def test_csv_and_the_far_field_hold_waves_of_modes(tmp_path):
    """One pair of columns a wave; a mode that does not propagate has an empty cell, and is no number in netCDF."""
    tm11 = {"plane": 0.005, "name": "TM11", "direction": "forward"}
    te11 = {"plane": 0.0, "name": "TE11", "direction": "reflected", "s": [0.5, 0.0]}  # S11 itself
    modes = [[te11], [te11, tm11 | {"s": [0.2, -0.25]}], [te11, tm11 | {"s": [0.3, 0.125]}]]
    solved = outcome(modes=modes)
    rows = list(csv.DictReader(write_csv(tmp_path / "horn.csv", solved)[0].open()))
    found = [(row["TM11_forward_5mm_re"], row["TM11_forward_5mm_im"]) for row in rows]
    by_frequency = dict(zip(solved["frequency_hz"], [("", ""), ("0.2", "-0.25"), ("0.3", "0.125")], strict=True))
    assert found == [by_frequency[float(row["frequency_hz"])] for row in rows]
    assert not [name for name in rows[0] if name.startswith("TE11")]
    waves = waves_of(solved)
    assert list(waves) == ["TM11_forward_5mm"] and np.isnan(waves["TM11_forward_5mm"][0])
    assert waves["TM11_forward_5mm"][1:] == [0.2 - 0.25j, 0.3 + 0.125j]
