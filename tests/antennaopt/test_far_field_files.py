"""Far-field files, read by readers that were written from the published formats, against the field that was written.

The field is a sum of spherical waves by TICRA's definition, evaluated here with SciPy's Legendre functions. A field of
order 1 has the same power in the planes phi = 0 and 90 degrees together as in any two perpendicular ones.
"""

import numpy as np
import pytest
import xarray
from scipy.special import gammaln, lpmv

from antennaopt.errors import ConfigurationError
from antennaopt.report.far_field import FarField
from antennaopt.report.far_field_files import KINDS, write_far_field
from fdtd.farfield import polar_weights

THETA = np.arange(181.0)
FREQUENCIES = [30e9, 28.5e9]
S11 = [0.3 - 0.1j, 0.05j]
EFFICIENCY = [0.9, 1.0]
ETA = 376.730313668


def wave(s, m, n, theta, phi):
    """E_theta and E_phi of one of TICRA's spherical waves, exp(+jwt), as its document defines them."""
    theta = np.clip(theta, 1e-5, np.pi - 1e-5)  # cos(theta) must hold 1 - cos(theta) to 1e-6
    norm = np.sqrt((2 * n + 1) / 2 * np.exp(gammaln(n - abs(m) + 1) - gammaln(n + abs(m) + 1)))

    def legendre(degree):  # without the phase of Condon and Shortley, which SciPy has
        return (-1) ** abs(m) * lpmv(abs(m), degree, np.cos(theta))

    p = norm * legendre(n)
    slope = -norm * ((n + 1) * np.cos(theta) * legendre(n) - (n - abs(m) + 1) * legendre(n + 1)) / np.sin(theta)
    c = (-1 if m > 0 and m % 2 else 1) * np.exp(-1j * m * phi) / (2 * np.sqrt(np.pi) * np.sqrt(n * (n + 1)))
    across = 1j * m * p / np.sin(theta)
    if s == 1:
        return -(1j ** (n + 1)) * c * across, -(1j ** (n + 1)) * c * slope
    return 1j**n * c * slope, -(1j**n) * c * across


def summed(waves, phi):
    """E_theta and E_phi of {(s, m, n): Q} on all angles theta."""
    parts = [(q * np.array(wave(*index, np.radians(THETA), np.radians(phi)))) for index, q in waves.items()]
    return sum(parts)


def made_waves(seed):
    """Coefficients of a directive field of order 1 along +x, of total power 4 pi."""
    draw = np.random.default_rng(seed)
    waves = {}
    for n in range(1, 13):
        first, second = (np.array([1, 1j]) @ draw.normal(size=2) * 0.2 + 1.0 for _ in range(2))
        size = -((-1j) ** n) * np.sqrt(2 * n + 1) * np.exp(-((n / 6) ** 2))
        for m in (-1, 1):
            waves[1, m, n] = size * first
            waves[2, m, n] = size * second * m
    scale = np.sqrt(8 * np.pi / sum(abs(q) ** 2 for q in waves.values()))
    return {index: scale * q for index, q in waves.items()}


WAVES = [made_waves(seed) for seed in (1, 2)]


@pytest.fixture(scope="module")
def field():
    e = np.array([summed(waves, 0.0)[0] for waves in WAVES])
    h = np.array([-summed(waves, 90.0)[1] for waves in WAVES])
    outcome = {
        "status": "ok",
        "frequency_hz": FREQUENCIES,
        "s11": [[one.real, one.imag] for one in S11],
        "radiation_efficiency": EFFICIENCY,
        "theta_deg": THETA,
        "e_plane": e,
        "h_plane": h,
    }
    return FarField.of(outcome, title="A horn\nof 2 modes")


def total(power_e, power_h):
    """Return the power of both planes' radiation intensities over the sphere."""
    return np.pi * (power_e + power_h) @ polar_weights(len(THETA))


def written(field, name, folder):
    return write_far_field(name, folder / f"far.{KINDS[name].endings[0]}", field)


def test_made_field_is_normalised_and_on_axis_along_x(field):
    assert field.frequency_hz.tolist() == [28.5e9, 30e9]
    np.testing.assert_allclose(total(abs(field.e_plane) ** 2, abs(field.h_plane) ** 2), 4 * np.pi, rtol=1e-6)
    np.testing.assert_allclose(field.e_plane[:, 0], field.h_plane[:, 0], rtol=1e-6)
    assert 10 * np.log10(abs(field.e_plane[:, 0]) ** 2).min() > 12


def read_cut(text):
    """TICRA's cuts: a line of text, V_INI V_INC V_NUM C ICOMP ICUT NCOMP, then NCOMP complex numbers a line."""
    lines, cuts = text.splitlines(), []
    while lines:
        title, header = lines.pop(0), lines.pop(0).split()
        start, step, count, c = float(header[0]), float(header[1]), int(header[2]), float(header[3])
        icomp, icut, ncomp = map(int, header[4:])
        rows, lines = np.array([line.split() for line in lines[:count]], dtype=float), lines[count:]
        assert rows.shape == (count, 2 * ncomp)
        cuts.append((title, start + step * np.arange(count), c, icomp, icut, rows[:, ::2] + 1j * rows[:, 1::2]))
    return cuts


def test_grasp_cuts(field, tmp_path):
    cuts = read_cut(written(field, "cut", tmp_path).read_text("ascii"))
    assert [c for _, _, c, *_ in cuts] == [0.0, 45.0, 90.0, 135.0] * 2
    for place, (title, theta, c, icomp, icut, values) in enumerate(cuts):
        assert (icomp, icut) == (3, 1) and (theta[0], theta[-1]) == (-180.0, 180.0)
        assert f"{(28.5, 30)[place // 4]:g} GHz, phi = {c:g} deg" in title
        of_theta, of_phi = summed(WAVES[1 - place // 4], c)
        phi = np.radians(c)  # Ludwig's third definition, GRASP: co = E_theta cos - E_phi sin for a field along x
        co, cross = of_theta * np.cos(phi) - of_phi * np.sin(phi), of_theta * np.sin(phi) + of_phi * np.cos(phi)
        np.testing.assert_allclose(values[180:, 0], co, atol=2e-5)
        np.testing.assert_allclose(values[180:, 1], cross, atol=2e-5)
        other = summed(WAVES[1 - place // 4], c + 180.0)  # theta < 0 is the other side, unit vectors turned with it
        np.testing.assert_allclose(values[180::-1, 0], -(other[0] * np.cos(phi) - other[1] * np.sin(phi)), atol=2e-5)


def read_sph(text):
    """TICRA's Q coefficients by frequency: {(s, m, n): Q}, exp(+jwt), and the power of each |m|."""
    lines, parts = text.splitlines(), []
    while lines:
        nthe, nphi, nmax, mmax = map(int, lines[2].split())
        assert nthe % 2 == 0 and nmax <= nthe // 2 and mmax <= min((nphi - 1) // 2, nmax)
        assert all(len(lines[at].split()) == 5 for at in (4, 5))
        lines, waves, powers = lines[8:], {}, []
        for m in range(mmax + 1):
            word, power = lines.pop(0).split()
            assert int(word) == m
            powers.append(float(power))
            for n in range(max(m, 1), nmax + 1):
                for sign in (-1, 1) if m else (1,):
                    a, b, c, d = map(float, lines.pop(0).split())
                    waves[1, sign * m, n] = np.sqrt(8 * np.pi) * complex(a, -b)
                    waves[2, sign * m, n] = np.sqrt(8 * np.pi) * complex(c, -d)
        parts.append((waves, powers))
    return parts


def test_grasp_spherical_waves_sum_up_to_the_pattern(field, tmp_path):
    parts = read_sph(written(field, "sph", tmp_path).read_text("ascii"))
    assert len(parts) == 2
    for (waves, powers), made, e, h in zip(parts, WAVES[::-1], field.e_plane, field.h_plane, strict=True):
        assert powers == [0.0, pytest.approx(0.5, rel=1e-6)]  # 4 pi over 8 pi
        kept = {index: q for index, q in waves.items() if index[1]}
        for index, q in made.items():
            assert kept[index] == pytest.approx(q, abs=1e-6)
        np.testing.assert_allclose(summed(kept, 0.0)[0], e, atol=1e-5)
        np.testing.assert_allclose(-summed(kept, 90.0)[1], h, atol=1e-5)


def read_ffs(text):
    """CST's far field source, version 3.0: powers (frequencies, 4), then phi, theta, E_theta, E_phi a frequency."""
    lines = [line.strip() for line in text.splitlines()]
    assert lines[lines.index("// Version:") + 1] == "3.0"
    count = int(lines[lines.index("// #Frequencies") + 1])
    numbers = [line for line in lines[lines.index("// Radiated/Accepted/Stimulated Power , Frequency") + 1 :] if line]
    powers = np.array(numbers[: 4 * count], dtype=float).reshape(count, 4)
    blocks, rest = [], numbers[4 * count :]
    for _ in range(count):
        assert rest[0].startswith("// >> Total #phi samples")
        phi, theta = map(int, rest[1].split())
        assert rest[2].startswith("// >> Phi, Theta")
        table = np.array([line.split() for line in rest[3 : 3 + phi * theta]], dtype=float).reshape(phi, theta, 6)
        blocks.append(table)
        rest = rest[3 + phi * theta :]
    assert not rest
    return powers, blocks


def test_cst_source(field, tmp_path):
    powers, blocks = read_ffs(written(field, "ffs", tmp_path).read_text("ascii"))
    accepted = 1 - np.abs(S11[::-1]) ** 2
    expected = np.stack([accepted * EFFICIENCY[::-1], accepted, [1, 1], FREQUENCIES[::-1]], axis=-1)
    np.testing.assert_allclose(powers, expected, rtol=1e-9)
    for (radiated, *_), table, waves in zip(powers, blocks, WAVES[::-1], strict=True):
        phi, theta, values = table[:, 0, 0], table[0, :, 1], table[..., 2::2] + 1j * table[..., 3::2]
        assert (phi[0], phi[-1], len(phi)) == (0.0, 360.0, 73) and theta.tolist() == THETA.tolist()
        intensity = (np.abs(values) ** 2).sum(axis=-1) / (2 * ETA)
        assert total(intensity[0], intensity[18]) == pytest.approx(radiated, rel=1e-6)
        scale = np.sqrt(ETA * radiated / (2 * np.pi))
        for at in (0, 7, 18, 31):
            np.testing.assert_allclose(values[at].T, scale * np.array(summed(waves, phi[at])), atol=1e-3)


def read_ffe(text):
    """Feko's far fields: frequency and a table (phi, theta, 9) each."""
    found = []
    for part in text.split("#Request Name:")[1:]:
        head = dict(line[1:].split(":", 1) for line in part.splitlines() if line.startswith("#") and ":" in line)
        rows = [line.split() for line in part.splitlines()[1:] if line and not line.startswith("#")]
        shape = int(head["No. of Phi Samples"]), int(head["No. of Theta Samples"]), 9
        found.append((float(head["Frequency"]), np.array(rows, dtype=float).reshape(shape)))
        assert head["Result Type"].strip() == "Gain" and head["Coordinate System"].strip() == "Spherical"
    return found


def test_feko_far_field(field, tmp_path):
    tables = read_ffe(written(field, "ffe", tmp_path).read_text("ascii"))
    assert [hz for hz, _ in tables] == [28.5e9, 30e9]
    for place, (_, table) in enumerate(tables):
        assert table[:, 0, 1].tolist() == np.arange(0, 361, 5).tolist() and table[0, :, 0].tolist() == THETA.tolist()
        directivity = 20 * np.log10(np.abs(summed(WAVES[1 - place], 35.0)))
        gain = directivity + 10 * np.log10(EFFICIENCY[1 - place])
        strong = gain > -40
        np.testing.assert_allclose(table[7, :, 6:8].T[strong], gain[strong], atol=1e-3)
        of_theta = table[7, :, 2] + 1j * table[7, :, 3]
        watts = np.abs(of_theta) ** 2 / (2 * ETA) * 4 * np.pi / (1 - abs(S11[1 - place]) ** 2)
        strong = table[7, :, 6] > -40
        np.testing.assert_allclose(10 * np.log10(watts[strong]), table[7, strong, 6], atol=1e-6)


def test_msi_planet_holds_one_frequency(field, tmp_path):
    with pytest.raises(ConfigurationError, match=r"holds one frequency, and 2 are solved.*28\.5 GHz, 30 GHz"):
        written(field, "msi", tmp_path)
    lines = written(field.at("30 GHz"), "msi", tmp_path).read_text("ascii").splitlines()
    head = dict(line.split(" ", 1) for line in lines[: lines.index("HORIZONTAL 360")])
    assert float(head["FREQUENCY"]) == 30000.0 and head["GAIN"].endswith("dBi")
    for name, plane in (("HORIZONTAL 360", field.h_plane[1]), ("VERTICAL 360", field.e_plane[1])):
        at = lines.index(name) + 1
        degrees, losses = np.array([line.split() for line in lines[at : at + 360]], dtype=float).T
        assert degrees.tolist() == list(range(360))
        gain = float(head["GAIN"].split()[0]) - losses
        expected = 10 * np.log10(0.9 * np.abs(plane) ** 2)
        np.testing.assert_allclose(gain[:181], expected, atol=2e-4)
        np.testing.assert_allclose(gain[181:], expected[179:0:-1], atol=2e-4)


def test_xarray_reads_complex_fields(field, tmp_path):
    with xarray.open_dataset(written(field, "netcdf", tmp_path), engine="scipy") as data:
        assert data.E_theta_real.dims == ("frequency", "phi", "theta")
        values = [data[f"{name}_real"] + 1j * data[f"{name}_imag"] for name in ("E_theta", "E_phi")]
        intensity = sum(abs(one) ** 2 for one in values) / (2 * ETA)
        power = total(intensity.sel(phi=0.0).values, intensity.sel(phi=90.0).values)
        np.testing.assert_allclose(power, data.radiated_power, rtol=1e-6)
        scale = np.sqrt(ETA * float(data.radiated_power.sel(frequency=30e9)) / (2 * np.pi))
        found = [one.sel(frequency=30e9, phi=35.0).values for one in values]
        np.testing.assert_allclose(found, scale * np.array(summed(WAVES[0], 35.0)), atol=1e-3)
        np.testing.assert_allclose(data.s11_real + 1j * data.s11_imag, S11[::-1])


def test_power_that_returns_in_other_modes_is_not_accepted(field):
    waves = [[{"plane": 0.0, "name": "TM11", "direction": "reflected", "s": [0.3, 0.4]}], []]
    outcome = {
        "s11": [[0.0, 0.5], [0.0, 0.5]],
        "modes": waves,
        "frequency_hz": FREQUENCIES,
        "radiation_efficiency": [1, 1],
    }
    outcome |= {"theta_deg": THETA, "e_plane": field.e_plane, "h_plane": field.h_plane}
    assert FarField.of(outcome, title="").accepted_w == pytest.approx([0.75, 0.5])


def test_a_run_without_phase_is_refused_in_one_line():
    with pytest.raises(ConfigurationError, match="without phase; solve the antenna again with `antennaopt simulate"):
        FarField.of({"status": "ok", "s11": [[0, 0]], "older_dbi": [[[0]], [[0]]]}, title="")


@pytest.fixture(scope="module")
def board():
    """A field with waves of orders -2 to 2, as no body of revolution has one, of total power 4 pi."""
    draw = np.random.default_rng(5)
    waves = {
        (s, m, n): complex(*draw.normal(size=2)) / n
        for s in (1, 2) for m in range(-2, 3) for n in range(max(abs(m), 1), 6)
    }  # fmt: skip
    scale = np.sqrt(8 * np.pi / sum(abs(q) ** 2 for q in waves.values()))
    waves = {index: scale * q for index, q in waves.items()}
    phi = np.arange(0.0, 361.0, 5.0)
    e_theta, e_phi = np.moveaxis([summed(waves, at) for at in phi], 1, 0)
    outcome = {
        "status": "ok",
        "frequency_hz": [5.8e9],
        "s11": [[0.3, -0.1]],
        "directivity_dbi": [7.0],
        "realized_gain_dbi": [7.0 + 10 * np.log10(0.9 * 0.88)],
        "radiation_efficiency": [0.9],
        "theta_deg": np.arange(-180.0, 181.0, 2.0),
        "e_plane": np.ones((1, 181), complex),
        "h_plane": np.ones((1, 181), complex),
        "sphere": {"theta_deg": THETA, "phi_deg": phi, "e_theta": e_theta[None], "e_phi": e_phi[None]},
    }
    return waves, outcome, FarField.of(outcome, title="A board")


def test_what_a_port_loses_is_not_accepted(board):
    """Of 0.9 that is not reflected 0.02 are lost in the resistance of a port whose field is uneven."""
    _, outcome, field = board
    assert field.accepted_w == pytest.approx([0.88]) and field.radiated_w == pytest.approx([0.9 * 0.88])
    null = FarField.of({**outcome, "directivity_dbi": [-np.inf], "realized_gain_dbi": [-np.inf]}, title="")
    assert null.accepted_w == pytest.approx([0.9])


def over_sphere(intensity):
    """Power of intensities (phi, theta), 5 and 1 degrees apart, both ends of phi included."""
    return 2 * np.pi * intensity[:-1].mean(axis=0) @ polar_weights(len(THETA))


def test_a_board_has_its_whole_sphere_in_every_file(board, tmp_path):
    waves, _, field = board
    for _, theta, c, _, _, values in read_cut(written(field, "cut", tmp_path).read_text("ascii")):
        of_theta, of_phi = summed(waves, c)
        phi = np.radians(c)
        co, cross = of_theta * np.cos(phi) - of_phi * np.sin(phi), of_theta * np.sin(phi) + of_phi * np.cos(phi)
        np.testing.assert_allclose(values[180:, 0], co, atol=2e-5)
        np.testing.assert_allclose(values[180:, 1], cross, atol=2e-5)
        back = summed(waves, c + 180.0)  # theta < 0: the unit vectors point the other way
        expected = -(back[0] * np.cos(phi) - back[1] * np.sin(phi))
        np.testing.assert_allclose(values[180::-1, 0], expected, atol=5e-5)  # `wave` takes 1e-5 rad for theta = 0
        assert len(theta) == 361
    (powers,), (table,) = read_ffs(written(field, "ffs", tmp_path).read_text("ascii"))
    values = table[..., 2::2] + 1j * table[..., 3::2]
    assert over_sphere((np.abs(values) ** 2).sum(axis=-1) / (2 * ETA)) == pytest.approx(powers[0], rel=1e-6)
    assert powers[0] == pytest.approx(0.9 * 0.88)
    scale = np.sqrt(ETA * powers[0] / (2 * np.pi))
    for at in (0, 13, 41):
        np.testing.assert_allclose(values[at].T, scale * np.array(summed(waves, 5.0 * at)), atol=1e-4)
    ((_, table),) = read_ffe(written(field, "ffe", tmp_path).read_text("ascii"))
    gain = 10 * np.log10(0.9 * np.abs(summed(waves, 205.0)) ** 2)
    np.testing.assert_allclose(table[41, 1:-1, 6:8].T, gain[:, 1:-1], atol=1e-2)
    with xarray.open_dataset(written(field, "netcdf", tmp_path), engine="scipy") as data:
        found = [data[f"{name}_real"] + 1j * data[f"{name}_imag"] for name in ("E_theta", "E_phi")]
        found = [one.sel(frequency=5.8e9, phi=205.0).values for one in found]
        assert "phase 0 at the port" in data.normalisation and data.s11_real.long_name == "S11 at the port"
        np.testing.assert_allclose(found, scale * np.array(summed(waves, 205.0)), atol=1e-4)


def test_a_board_for_planning_tools_has_both_sides(board, tmp_path):
    waves, _, field = board
    lines = written(field, "msi", tmp_path).read_text("ascii").splitlines()
    highest = float(next(line for line in lines if line.startswith("GAIN")).split()[1])
    for name, phi in (("HORIZONTAL 360", 90.0), ("VERTICAL 360", 0.0)):
        at = lines.index(name) + 1
        gain = highest - np.array([line.split()[1] for line in lines[at : at + 360]], dtype=float)
        near, far = (10 * np.log10(0.9 * (np.abs(summed(waves, one)) ** 2).sum(axis=0)) for one in (phi, phi + 180.0))
        np.testing.assert_allclose(gain[:181], near, atol=1e-3)
        np.testing.assert_allclose(gain[:180:-1], far[1:180], atol=1e-3)


def test_what_a_board_cannot_write_is_one_line(board, tmp_path):
    _, outcome, field = board
    with pytest.raises(ConfigurationError, match=r"--sph holds waves of bodies of revolution"):
        written(field, "sph", tmp_path)
    with pytest.raises(ConfigurationError, match=r"a run stores two cuts.*`antennaopt simulate RUN --individual ID"):
        FarField.of({**outcome, "sphere": None}, title="")
