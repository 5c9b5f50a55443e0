"""Bad input of circuits and antennas in space: each is a ConfigError of one line that begins with the argument's name.

Solvers took most of it: a `decay_db` above zero stopped them at the first look, and a step limit of 0 or a port twice
gave numbers that were wrong.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fdtd import yee
from fdtd.errors import ConfigError

sys.path.append(str(Path(__file__).parents[1] / "agreement"))
from port_problems import CIRCUIT_HZ, circuit_scene, lumped_scene

NAN = float("nan")
BAD_LIMITS = [
    ({"decay_db": 60}, "decay_db = 60 is not allowed .needs < 0"),
    ({"decay_db": 0}, "decay_db = 0 is not allowed"),
    ({"decay_db": NAN}, "decay_db = nan is not allowed"),
    ({"max_steps": 0}, "max_steps = 0 is not allowed .needs a whole number from 1"),
    ({"max_steps": -5}, "max_steps = -5 is not allowed"),
    ({"max_steps": 1000.5}, "max_steps = 1000.5 is not allowed"),
]
BAD_FREQUENCIES = [
    ({"frequencies": [-10e9, *CIRCUIT_HZ]}, r"frequencies\[0\] = -1e\+10 Hz is not allowed .needs > 0"),
    ({"frequencies": [*CIRCUIT_HZ, NAN]}, r"frequencies\[7\] = nan Hz is not allowed"),
    ({"frequencies": ["10 GHz"] * 7}, r"frequencies = \['10 GHz', .* are no list of numbers; give each in Hz"),
    ({"frequencies": ["1e10"] * 7}, r"frequencies = \['1e10', .* are no list of numbers"),
    ({"frequencies": [CIRCUIT_HZ, CIRCUIT_HZ[:3]]}, "frequencies = .* are no list of numbers"),
    ({"frequencies": []}, r"frequencies have the shape \(0,\) .need at least one"),
    ({"frequencies": np.linspace(10e9, 25e9, 11)[None]}, r"frequencies have the shape \(1, 11\)"),
    ({"frequencies": CIRCUIT_HZ / 1e9}, r"frequencies\[0\] = 10 Hz has .* time steps a period .*; give it in Hz"),
    ({"frequencies": CIRCUIT_HZ * 1e9}, r"frequencies\[0\] = 1e\+19 Hz has .* time steps a period"),
]


def circuit(**changes: Any) -> object:
    """Solve the small circuit with other arguments; `reference` and `ports` are those of the ports."""
    scene, grid, ports = circuit_scene()
    if "reference" in changes:
        ports[0] = replace(ports[0], reference=changes.pop("reference"))
    ports = [ports[at] for at in changes.pop("ports", (0, 1, 2))]
    return yee.solve_circuit(scene, grid, ports, **{"frequencies": CIRCUIT_HZ, "max_steps": 300} | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *BAD_LIMITS,
        *BAD_FREQUENCIES,
        ({"frequencies": [10e9] * 7}, "different frequencies are 1 .need 5 or more"),
        ({"reference": NAN}, "port.reference = nan m is not finite"),
        ({"reference": 1.0}, "port.reference = 1 m is not between the lattice's ends or layers"),
        ({"driven": 0.5}, "driven = 0.5 is no port .there are 3, from 0"),
        ({"ports": (0, 1, 0)}, "ports 0 and 2 stand in the same line and the same way; leave one out"),
    ],
)
def test_of_a_circuit(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}") as refused:
        pytest.fail(f"accepted: {circuit(**changes)}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("changes", "message"), [*BAD_LIMITS, *BAD_FREQUENCIES])
def test_of_an_antenna(changes: dict[str, Any], message: str) -> None:
    scene, grid = lumped_scene()
    with pytest.raises(ConfigError, match=f"^{message}") as refused:
        found = yee.solve(scene, grid, **{"frequencies": CIRCUIT_HZ, "max_steps": 300} | changes)
        pytest.fail(f"accepted: {found}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"backend": "cpu", "devices": 4}, "devices = 4 is not allowed with backend cpu"),
        ({"backend": "cuda", "devices": 1.5}, "devices = 1.5 is not allowed"),
        ({"precision": "float16"}, "precision = 'float16' is unknown .allowed: float32, float64"),
    ],
)
def test_of_a_stepper(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        yee.Stepper(**settings)


@pytest.mark.parametrize("layers", [(3, 3, 3, 3, 3), (3, 3, 3, 3, 3, 2.5)])
def test_of_a_lattice(layers: tuple) -> None:
    _, grid = lumped_scene()
    with pytest.raises(ConfigError, match=r"^layers = \(3, .* is not allowed .needs six whole numbers, of x-, x\+"):
        replace(grid, layers=layers)


def test_faces_of_scene_and_lattice_differ() -> None:
    """A wall in the scene and a layer in the lattice: the antenna's fields would be of either."""
    scene, grid = lumped_scene()
    other = replace(scene, open_faces=tuple(face for face in scene.open_faces if face != "z-"))
    with pytest.raises(ConfigError, match=r"^face z- is a wall in the scene and an absorbing layer in the grid; make"):
        yee.solve(other, grid, CIRCUIT_HZ, max_steps=300)
