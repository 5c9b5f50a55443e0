"""The kernel of stencils in space, run on the CPU by the emulation, against the loops of the CPU; and it compiles."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from host_device import HostDevice

from antennaopt.bench import boxes
from fdtd.backends import cuda
from fdtd.backends.cpu.boxes import step_box
from fdtd.backends.cuda.boxes import Box
from fdtd.backends.cuda.text import flatten
from fdtd.stencils import SPATIAL, Formula
from fdtd.stencils.sums import heat_weights

sys.path += [str(Path(__file__).parents[1] / name) for name in ("agreement", "compilation")]
from nvrtc import compile_for
from test_boxes import SHAPE, TOLERANCE, random_cavity

FORMULAS = {name: one.formula for name, one in SPATIAL.items() if one.formula is not None}


@pytest.mark.parametrize("precision", [pytest.param("float64", marks=pytest.mark.slow), "float32"])
@pytest.mark.parametrize("name", FORMULAS)
def test_fields(name: str, precision: str) -> None:
    """20 steps from noise, odd sides, unequal media, graded cells."""
    formula = FORMULAS[name]
    state, media, spacings = random_cavity()
    given = {"media": media, "spacings": spacings}
    if formula.exchanged:
        state, given = np.stack([state[3], state[3]]), {"weights": heat_weights(int(name[4:]), 0.15)}
    box = Box(HostDevice(), formula, state.astype(precision), **given)
    box.advance(7)
    box.advance(13)
    expected = step_box(formula, state.astype(precision), 20, **given)
    found = box.fields()
    assert found.shape == expected.shape == (len(formula.kept), *SHAPE)
    scale = np.abs(expected).max(axis=(1, 2, 3), keepdims=True)
    assert (np.abs(found - expected) / scale).max() < 2 * TOLERANCE[precision]


@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("name", FORMULAS)
def test_compiles(name: str, real: str) -> None:
    formula: Formula = FORMULAS[name]
    text = flatten("schemes/one_step/box.cu", {"REAL": real}, formula)
    for capability in (80, 90):
        assert compile_for(text, f"sm_{capability}").startswith(b"\x7fELF")


def test_a_row_of_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    device = HostDevice()
    device.name, device.synchronize = "emulation", lambda: None  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setattr(cuda, "device", lambda: device)
    monkeypatch.setattr(boxes, "_CELL_STEPS", 1.0)
    (row,) = boxes.box_rows("yee3d", 8, "cuda", "float32", 2)
    assert (row["scheme"], row["backend"], row["device"], row["shape"]) == ("one_step", "cuda", "emulation", [8, 8, 8])
    assert row["cell_steps_per_s"] > 0
