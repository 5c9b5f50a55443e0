"""Scenes cut in half at the plane y = 0: what is left of them, what is refused, cells at edges next to the plane."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fdtd import yee
from fdtd.errors import ConfigError
from fdtd.yee.media import fill
from fdtd.yee.ports import port_columns

BAND = (5.4e9, 6.2e9)
DENSE, THIN = yee.Dielectric(permittivity=10.0), yee.Dielectric(permittivity=2.2)
SIDES = ((-8e-3, -4e-3), (-4e-3, 4e-3), (4e-3, 8e-3))
WHOLE = yee.Scene(
    blocks=(
        yee.Block(x=(-12e-3, 12e-3), y=(-12e-3, 12e-3), z=(0.0, 1.6e-3), material=THIN),
        *(yee.Block(x=(-5e-3, 5e-3), y=y, z=(1.6e-3, 5e-3), material=DENSE) for y in SIDES),
    ),
    sheets=(
        yee.Sheet(z=0.0, x=(-12e-3, 12e-3), y=(-12e-3, 12e-3)),
        yee.Sheet(z=1.6e-3, x=(-8e-3, 8e-3), y=(-9e-3, 9e-3)),
        *(yee.Sheet(z=1.6e-3, x=(8e-3, 9e-3), y=y) for y in SIDES[::2]),
    ),
    port=yee.LumpedPort(x=-4e-3, y=0.0, z=(0.0, 1.6e-3)),
)


def test_a_half_has_what_is_in_front_of_the_plane() -> None:
    half = yee.halved(WHOLE)
    assert "y-" not in half.open_faces and half.magnetic_faces == ("y-",)
    assert [one.y for one in half.blocks] == [(0.0, 12e-3), (0.0, 4e-3), (4e-3, 8e-3)]
    assert [one.y for one in half.sheets] == [(0.0, 12e-3), (0.0, 9e-3), (4e-3, 8e-3)]
    assert half.port == WHOLE.port
    pin = yee.Block(x=(-4e-3, -4e-3), y=(0.0, 0.0), z=(2e-3, 4e-3))
    assert yee.halved(replace(WHOLE, blocks=(*WHOLE.blocks, pin))).blocks[-1] == pin
    wide = yee.LumpedPort(x=-4e-3, y=(-2e-3, 2e-3), z=(0.0, 1.6e-3))
    port = yee.halved(replace(WHOLE, port=wide)).port
    assert port is not None and port.y == (0.0, 2e-3)


def test_what_has_no_image_is_refused() -> None:
    """A sheet or block, one of another medium, a port off the plane or driven across it, no open face."""
    strip = yee.Sheet(z=0.0, x=(0.0, 1e-3), y=(1e-3, 2e-3))
    wrong = {
        "a sheet has no image": {"sheets": (*WHOLE.sheets, strip)},
        "a block has no image": {"blocks": WHOLE.blocks[:-1]},
        "a block has no image:": {"blocks": (*WHOLE.blocks[:-1], replace(WHOLE.blocks[-1], material=THIN))},
        "is not centred on the plane": {"port": yee.LumpedPort(x=0.0, y=1e-4, z=(0.0, 1.6e-3))},
        'drives E along "y", across the plane': {"port": yee.LumpedPort(x=0.0, y=(-1e-3, 1e-3), z=0.0, axis="y")},
        "open_faces has no y-": {"open_faces": ("x-",)},
    }
    for message, change in wrong.items():
        with pytest.raises(ConfigError, match=message):
            yee.halved(replace(WHOLE, **change))
    assert len(yee.halved(replace(WHOLE, sheets=(strip, replace(strip, y=(-2e-3, -1e-3))))).sheets) == 1


def test_a_strip_in_the_plane_has_cells_for_its_whole_width() -> None:
    """Edges of a strip are as far apart as the strip is wide: half a strip asks for no finer cells at its edges."""
    sheet = yee.Sheet(z=0.0, x=(-20e-3, 20e-3), y=(-3e-3, 3e-3))
    port = yee.LumpedPort(x=(-1e-3, 1e-3), y=(-3e-3, 3e-3), z=0.0, axis="x")
    whole = yee.Scene(sheets=(sheet,), port=port)
    cells = []
    for scene in (whole, yee.halved(whole)):
        y = yee.layout(scene, BAND, cell=5e-3).y
        at = int(np.searchsorted(y, 3e-3))
        cells.append(y[at] - y[at - 1])
    assert cells[1] == pytest.approx(cells[0]) == pytest.approx(2e-3)


def test_an_even_lattice_keeps_its_cells() -> None:
    """With a line in the plane already, the half has the cells of the whole."""
    half, whole = (yee.layout(scene, BAND, cell=2e-3) for scene in (yee.halved(WHOLE), WHOLE))
    np.testing.assert_allclose(whole.y, np.concatenate([-half.y[:0:-1], half.y]), atol=1e-12)
    np.testing.assert_array_equal(whole.x, half.x)
    assert half.dt == pytest.approx(whole.dt, rel=1e-9)


def test_a_probe_in_the_plane_stays_in_it() -> None:
    """Its nearest line with metal at both ends is off the plane: there it would be two probes, and it is refused."""
    low, high = (
        (yee.Sheet(z=z, x=(-6e-3, 6e-3), y=(0.4e-3, 6e-3)), yee.Sheet(z=z, x=(-6e-3, 6e-3), y=(-6e-3, -0.4e-3)))
        for z in (0.0, 2e-3)
    )
    whole = yee.Scene(sheets=(*low, *high), port=yee.LumpedPort(x=0.0, y=0.0, z=(0.0, 2e-3)))
    grids = [yee.layout(scene, BAND, cell=0.8e-3) for scene in (whole, yee.halved(whole))]
    assert isinstance(whole.port, yee.LumpedPort)
    assert port_columns(whole.port, grids[0], fill(whole, grids[0])).images == 1
    with pytest.raises(ConfigError, match="ends in air at z"):
        port_columns(whole.port, grids[1], fill(yee.halved(whole), grids[1]))
