"""The branch-line coupler of Sheen, Ali, Abouzahra and Kong (1990), four line ports.

IEEE Transactions on Microwave Theory and Techniques 38 (1990) 849. A square of lines 9.75 mm from middle to middle on
0.794 mm of permittivity 2.2: two arms as wide as the ports' lines (2.41 mm), two of 3.96 mm. On cells of 0.406 x 0.406
x 0.265 mm these are 24, 6 and 10 cells. Port 1 is driven; 2 is isolated, 3 coupled, 4 through.

A coupler of arms a quarter of a wave long has, in its middle, no power at 1 and 2, half of it at 3 and 4, and 90
degrees between them (Pozar, Microwave Engineering, 4th ed., sec. 7.5). Measured at 6.45 GHz, where least comes out of 1
and 2: -27.1 and -33.5 dB there, -3.40 and -2.84 dB at 3 and 4, 91.4 degrees apart. 2 % of the power is radiated.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fdtd import yee

CELL, DZ, LAYERS, SIDE, FEED, ABOVE = 0.4064e-3, 0.265e-3, 10, 15, 48, 14
BAND = np.arange(3e9, 10e9, 5e7)
EVERYWHERE = (-np.inf, np.inf)


def coupler() -> tuple[yee.Scene, yee.Grid, list[yee.LinePort]]:
    x = CELL * np.arange(24 + 10 + 2 * SIDE + 2 * LAYERS + 1)
    y = CELL * np.arange(24 + 6 + 2 * FEED + 2 * LAYERS + 1)
    z = DZ * np.arange(3 + ABOVE + LAYERS + 1)
    grid = yee.Grid(x=x, y=y, z=z, layers=(LAYERS, LAYERS, LAYERS, LAYERS, 0, LAYERS))
    columns, rows = (LAYERS + SIDE + 5, LAYERS + SIDE + 29), (LAYERS + FEED + 3, LAYERS + FEED + 27)
    height = float(z[3])

    def about(planes: np.ndarray, middle: int, half: int) -> tuple[float, float]:
        return float(planes[middle - half]), float(planes[middle + half])

    sheets = []
    for at in columns:
        sheets.append(yee.Sheet(z=height, x=about(x, at, 3), y=(-np.inf, float(y[rows[0] + 3]))))
        sheets.append(yee.Sheet(z=height, x=about(x, at, 3), y=(float(y[rows[1] - 3]), np.inf)))
        sheets.append(yee.Sheet(z=height, x=about(x, at, 5), y=(float(y[rows[0]]), float(y[rows[1]]))))
    across = (float(x[columns[0] - 3]), float(x[columns[1] + 3]))
    sheets += [yee.Sheet(z=height, x=across, y=about(y, at, 3)) for at in rows]
    substrate = yee.Block(x=EVERYWHERE, y=EVERYWHERE, z=(0, height), material=yee.Dielectric(permittivity=2.2))
    scene = yee.Scene(blocks=(substrate,), sheets=tuple(sheets), open_faces=("x-", "x+", "y-", "y+", "z+"))
    ports = []
    for at, into in ((columns[0], 1), (columns[1], 1), (columns[1], -1), (columns[0], -1)):
        source = LAYERS + 4 if into > 0 else len(y) - 5 - LAYERS
        planes = [float(y[source + into * (16 + 9 * one)]) for one in range(3)]
        edge = rows[0] - 3 if into > 0 else rows[1] + 3
        ports.append(
            yee.LinePort(
                axis="y", into=into, strip=about(x, at, 3), z=(0.0, height), source=float(y[source]),
                planes=(planes[0], planes[1], planes[2]), reference=float(y[edge]),
            )
        )  # fmt: skip
    return scene, grid, ports


@pytest.mark.slow
def test_a_branch_line_coupler(measured: Callable[..., float]) -> None:
    found = yee.solve_circuit(*coupler(), BAND)
    level = 20 * np.log10(np.abs(found.s))
    middle = int((np.abs(found.s[:2]) ** 2).sum(axis=0).argmin())
    measured("middle of the coupler's band", BAND[middle] / 1e9, "GHz", at_least=6.2, at_most=6.8)
    for port, name in ((0, "reflected"), (1, "isolated")):
        measured(f"{name} in the middle", level[port, middle], "dB", at_most=-25)
    for port, name in ((2, "coupled"), (3, "through")):
        measured(f"{name}, from -3 dB", abs(level[port, middle] + 3), "dB", at_most=0.5)
    apart = np.angle(found.s[3, middle] / found.s[2, middle], deg=True)
    measured("phase between through and coupled, from 90 degrees", abs(apart - 90), "degrees", at_most=2)
    measured("power that comes out", float((np.abs(found.s) ** 2).sum(axis=0).max()), at_most=1.01)
