"""Far-field files of circular polarisation: the field of two feeds in quadrature, by the readers of linear files."""

from dataclasses import replace

import numpy as np
import pytest
import xarray
from test_far_field_files import WAVES, field, read_cut, read_ffs, read_sph, summed, written

__all__ = ["field"]

WAY = {"rhcp": -1j, "lhcp": 1j}  # of the feed along y over the one along x


def quadrature(waves, phi, polarisation):
    """E_theta and E_phi at an angle phi, degrees: the feed along y is the one along x, turned by 90 degrees."""
    along_x, along_y = summed(waves, phi), summed(waves, phi - 90.0)
    return (along_x + WAY[polarisation] * along_y) / np.sqrt(2)


@pytest.mark.parametrize("polarisation", WAY)
def test_grasp_cuts_have_the_hands(field, tmp_path, polarisation):
    """E_rhc = E . (x - jy)* of Ludwig's third definition, first; E_lhc second (ICOMP 2)."""
    cuts = read_cut(written(replace(field, polarisation=polarisation), "cut", tmp_path).read_text("ascii"))
    assert len(cuts) == 8
    for place, (_, theta, c, icomp, _, values) in enumerate(cuts):
        assert icomp == 2 and theta[180] == 0.0
        for side, angle in ((values[180:], c), (values[180::-1], c + 180.0)):
            e_theta, e_phi = quadrature(WAVES[1 - place // 4], angle, polarisation)
            turn = np.radians(angle)
            rhc, lhc = ((e_theta + s * 1j * e_phi) * np.exp(s * 1j * turn) / np.sqrt(2) for s in (1, -1))
            np.testing.assert_allclose(side[:, 0], rhc, atol=2e-5)
            np.testing.assert_allclose(side[:, 1], lhc, atol=2e-5)
        co = 0 if polarisation == "rhcp" else 1
        assert abs(values[180, co]) > 3.0 and abs(values[180, 1 - co]) < 1e-4  # on the axis


@pytest.mark.parametrize("polarisation", WAY)
def test_spherical_waves_are_of_one_index(field, tmp_path, polarisation):
    parts = read_sph(written(replace(field, polarisation=polarisation), "sph", tmp_path).read_text("ascii"))
    for place, (waves, *_) in enumerate(parts):
        for phi in (0.0, 70.0):
            kept = {index: q for index, q in waves.items() if index[1]}
            expected = quadrature(WAVES[1 - place], phi, polarisation)
            np.testing.assert_allclose(summed(kept, phi), expected, atol=1e-4)
        assert len({m for (_, m, _), q in waves.items() if abs(q) > 1e-9}) == 1


@pytest.mark.parametrize("polarisation", WAY)
def test_sphere_of_cst_and_netcdf(field, tmp_path, polarisation):
    circular = replace(field, polarisation=polarisation)
    tables = read_ffs(written(circular, "ffs", tmp_path).read_text("ascii"))[1]
    far = xarray.open_dataset(written(circular, "netcdf", tmp_path))
    assert far.attrs["polarisation"] == polarisation
    scale = circular.volts()[0][0, 0] / circular.e_plane[0, 0]
    for place in (0, 14, 50):
        expected = scale * quadrature(WAVES[1], 5.0 * place, polarisation)
        of_file = far.isel(frequency=0, phi=place)
        np.testing.assert_allclose(of_file.E_theta_real + 1j * of_file.E_theta_imag, expected[0], atol=1e-3)
        np.testing.assert_allclose(of_file.E_phi_real + 1j * of_file.E_phi_imag, expected[1], atol=1e-3)
        values = tables[0][place, :, 2::2] + 1j * tables[0][place, :, 3::2]
        np.testing.assert_allclose(values.T, expected, atol=1e-3)
