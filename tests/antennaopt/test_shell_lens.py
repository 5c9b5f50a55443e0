"""Lenses of a core and layers: shapes, even layers, no gap and no double count, the matching layer, bad values.

That one is solved, exported and equal to its outline: test_every_family.py, test_geometry.py, test_outline.py.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from family_cases import DESIGNS, KINDS
from test_every_family import antenna_file
from test_geometry import area_and_moment

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_antenna, load_experiment
from antennaopt.families import stack
from antennaopt.families.shell_lens import SHAPES
from antennaopt.run.summary import antenna_toml
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import plan

SOLVER = {"frequencies": [29e9, 31e9], "design_frequency": 30e9, "cell": 0.6e-3}
EPS, RADIUS = 2.53, 7e-3
BARE = {
    name: value
    for name, value in DESIGNS["shell_lens"].items()
    if not name.startswith("layers.") and name != "lens.shape"
} | {"lens.shape": 0.0, "matching.wavelength": 0.0, "layers.loss_tangent": 0.0}


def layers(*given: tuple[float, float]) -> dict[str, float]:
    """Layers of these permittivities and thicknesses."""
    return {
        name: value
        for place, (permittivity, thickness) in enumerate(given)
        for name, value in (
            (f"layers.permittivity.{place}", permittivity), (f"layers.thickness.{place}", thickness),
        )
    }  # fmt: skip


def drawn(**changes: float) -> list[np.ndarray]:
    """Sections from the outside in, as they are made."""
    return [one.corners for one in KINDS["shell_lens"].outline(BARE | changes).dielectrics]


def surface(corners: np.ndarray) -> np.ndarray:
    """The outer surface of a section, from the base to the axis."""
    return corners[: 1 + int(np.argmax(corners[:, 1]))]


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape: str) -> None:
    """Heights by the formulas; of the ellipse the far focus is the aperture's centre, by the rays' equal paths."""
    n = math.sqrt(EPS)
    (core,) = drawn(**{"lens.shape": float(SHAPES.index(shape))})
    r, z = core.T
    expected = {
        "extended_hemisphere": 2e-3 + RADIUS,
        "hyperhemisphere": RADIUS * (1 + 1 / n),
        "ellipse": RADIUS * (n + 1) / math.sqrt(EPS - 1),
    }[shape]
    assert (r.max(), z.max(), z.min()) == pytest.approx((RADIUS, expected, 0.0), abs=1e-11)
    assert KINDS["shell_lens"].size(stack([BARE | {"lens.shape": float(SHAPES.index(shape))}]))[1][0] >= z.max() - 1e-11
    if shape == "ellipse":
        cap = z > RADIUS / math.sqrt(EPS - 1)
        path = n * np.hypot(r, z)[cap] + (z.max() - z[cap])
        assert path == pytest.approx(n * z.max(), rel=1e-9)


@pytest.mark.parametrize("shape", range(3))
def test_layers_are_even(shape: int) -> None:
    """Every point of the outer surface is one thickness away from the inner one, within its chords."""
    layer, core = drawn(**layers((1.7, 1.5e-3)), **{"lens.shape": float(shape)})
    outer, inner = surface(layer), surface(core)[1:]
    assert {tuple(one) for one in inner} <= {tuple(one) for one in layer}  # one surface, drawn once
    start, step = inner[:-1], np.diff(inner, axis=0)
    away = outer[:, None] - start
    along = np.clip((away * step).sum(-1) / (step**2).sum(-1), 0, 1)
    distance = np.hypot(*np.moveaxis(away - along[..., None] * step, -1, 0)).min(axis=1)
    assert distance == pytest.approx(1.5e-3, abs=1e-7)


def test_volume_of_an_extended_hemisphere() -> None:
    """Of radius 7 + 1.5 mm on 2 mm, as the closed form."""
    layer, core = drawn(**layers((1.7, 1.5e-3)))
    whole = area_and_moment(layer)[1] + area_and_moment(core)[1]
    radius = 8.5e-3
    assert whole == pytest.approx(radius**2 * 2e-3 / 2 + radius**3 / 3, rel=2e-5)


LARGE = BARE | {"lens.radius": RADIUS + 2e-3}


def solved(design: dict[str, float], family: str = "shell_lens", cell: float = 0.6e-3) -> tuple[np.ndarray, np.ndarray]:
    """S11 and directivity on the lattice of the large lens."""
    (found,) = evaluate(family, [design], plan("shell_lens", LARGE, LARGE, SOLVER | {"cell": cell}).to_dict())
    assert found.status == "ok"
    return np.array(found.s11), np.array(found.metrics["directivity_dbi"])


def apart(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> tuple[float, float]:
    """Largest differences of S11, and of directivity in dB."""
    return np.abs(one[0] - other[0]).max(), np.abs(one[1] - other[1]).max()


def of_radii(*radii: float, place: int = 0, permittivity: float = 1.7) -> dict[str, float]:
    """A layer with a list of radii."""
    found = {f"layers.thickness.{place}.{at}": radius for at, radius in enumerate(radii)}
    return found | {f"layers.permittivity.{place}": permittivity}


def test_a_layer_of_given_radii_and_one_round_it() -> None:
    """The surface passes through the radii at equal angles; the next layer is even, but for notches between balls."""
    radii = (13e-3, 12.2e-3, 11e-3, 9e-3, 8.8e-3)
    inmost = layers((2.1, 1e-3)) | of_radii(*radii, place=1)
    outer, layer, inner, core = drawn(**inmost, **{"layers.permittivity.2": 1.3, "layers.thickness.2": 2e-3})
    r, z = surface(layer).T
    angles = np.arctan2(r, z)[::-1]
    theta = np.linspace(0, np.pi / 2, 5)
    assert np.interp(theta, angles, np.hypot(r, z)[::-1]) == pytest.approx(radii, abs=1e-9)
    assert {tuple(one) for one in surface(inner)[1:]} <= {tuple(one) for one in layer}
    start, step = surface(layer)[:-1], np.diff(surface(layer), axis=0)
    away = surface(outer)[:, None] - start
    along = np.clip((away * step).sum(-1) / (step**2).sum(-1), 0, 1)
    distance = np.hypot(*np.moveaxis(away - along[..., None] * step, -1, 0)).min(axis=1)
    assert distance == pytest.approx(2e-3, abs=4e-7)
    assert surface(core)[1] == pytest.approx((RADIUS, 0.0))
    radius, height = (float(one[0]) for one in KINDS["shell_lens"].size(stack([BARE | inmost])))
    assert radius >= r.max() - 1e-11 and height >= z.max() - 1e-11


def test_of_one_material_it_is_the_shaped_lens() -> None:
    """A layer of the core's permittivity, given by radii, round a core: the lens of those radii.

    Measured: 1.7e-4 in S11 and 1.2e-3 dB on cells of 0.6 mm, 3.1e-5 and 5.3e-4 dB on 0.3 mm: a polygon's distances
    against those along rays.
    """
    radii = (9e-3, 8.9e-3, 8.5e-3, 8e-3, 7.8e-3)
    one = BARE | {"lens.radius": 5e-3, "lens.extension": 1e-3} | of_radii(*radii, permittivity=EPS)
    other = {name: value for name, value in BARE.items() if name.startswith("feed.")}
    other |= {f"lens.{name}": BARE[f"lens.{name}"] for name in ("permittivity", "loss_tangent")}
    other |= {f"lens.radii.{at}": radius for at, radius in enumerate(radii)}
    s11, directivity = apart(solved(one, cell=0.3e-3), solved(other, "shaped_lens", 0.3e-3))
    assert s11 < 1e-4 and directivity < 1e-3


def test_lists_in_a_list(tmp_path: Path) -> None:
    """Values and ranges in a file, in the genes' names, in what is written back; bits alone and in a batch."""
    path = antenna_file("shell_lens", tmp_path)
    given = 'thickness=["1.5 mm", ["12 mm", "11.5 mm", { min = "9.5 mm", max = "10 mm" }]]'
    changes = [f"antenna.layers.{one}" for one in (given, "permittivity=[1.9, 1.5]")]
    path.write_text(path.read_text() + '[[objective]]\nmetric = "gain_dbi"\nat_least = 12\n')
    read = load_experiment(path, changes)
    assert [gene.name for gene in read.genes] == ["layers.thickness.1.2"]
    assert type(read).from_resolved(json.loads(json.dumps(read.resolved()))) == read
    designs = [read.design({"layers.thickness.1.2": one}) for one in (9.5e-3, 9.8e-3)]
    (tmp_path / "one.toml").write_text(
        antenna_toml(title="one", family="shell_lens", design=designs[1], solver={"frequencies": [30e9]})
    )
    assert load_antenna(tmp_path / "one.toml").design() == designs[1]
    made = plan("shell_lens", *read.bounds(), SOLVER).to_dict()
    batch = evaluate("shell_lens", designs, made)
    (alone,) = evaluate("shell_lens", designs[1:], made)
    assert alone.status == "ok" and alone.s11 == batch[1].s11 != batch[0].s11
    (refused,) = evaluate("shell_lens", [designs[0] | {"layers.thickness.1.0": 9e-3}], made)
    assert refused.status == "infeasible" and "mm inside what the layer covers, at 0 degrees" in str(refused.error)


def test_without_layers_it_is_the_hemispherical_lens() -> None:
    """Chords of a polygon against a sphere."""
    other = {name: value for name, value in BARE.items() if name.startswith("feed.")}
    other |= {f"lens.{name}": BARE[f"lens.{name}"] for name in ("permittivity", "loss_tangent", "radius", "extension")}
    s11, directivity = apart(solved(BARE), solved(other, "hemispherical_lens"))
    assert s11 < 1e-5 and directivity < 1e-4


def test_layers_leave_no_gap_and_count_once() -> None:
    """Two layers of the core's material make a larger lens; two of air make none; two others make neither.

    Measured on cells of 0.6 mm: 6e-5 in S11 and 0.003 dB, of the cells on the base where two surfaces meet, whose
    normal is that of one of them. A gap of 0.06 mm changes S11 by 8e-3.
    """
    thicknesses = (0.9e-3, 1.1e-3)
    alike = solved(BARE | layers(*((EPS, one) for one in thicknesses)))
    for one, other in (
        (alike, solved(LARGE)),
        (solved(BARE | layers(*((1.0, one) for one in thicknesses))), solved(BARE)),
    ):
        s11, directivity = apart(one, other)
        assert s11 < 1.5e-4 and directivity < 4e-3
    assert apart(alike, solved(BARE | layers(*((1.5, one) for one in thicknesses))))[1] > 0.05


def test_matching_layer() -> None:
    """A quarter of the wavelength in the root of what is under it; each number may be given; one without stays bare."""
    n = math.sqrt(EPS)
    for changes, permittivity, thickness in (
        ({}, n, 10e-3 / (4 * EPS**0.25)),
        ({"matching.permittivity": 1.4}, 1.4, 10e-3 / (4 * math.sqrt(1.4))),
        ({"matching.thickness": 3e-3}, n, 3e-3),
    ):
        design = BARE | {"matching.wavelength": 10e-3} | changes
        outer, core = KINDS["shell_lens"].outline(design).dielectrics
        assert (outer.permittivity, core.permittivity) == (pytest.approx(permittivity), EPS)
        assert outer.corners[:, 0].max() - core.corners[:, 0].max() == pytest.approx(thickness, abs=1e-11)
    over = KINDS["shell_lens"].outline(BARE | layers((1.9, 1e-3)) | {"matching.wavelength": 10e-3}).dielectrics
    assert [one.permittivity for one in over] == pytest.approx([math.sqrt(1.9), 1.9, EPS])
    batch = stack([BARE | {"matching.wavelength": 10e-3}, BARE])
    assert [float(one) for one in KINDS["shell_lens"].size(batch)[0]] == pytest.approx(
        [RADIUS + 10e-3 / (4 * EPS**0.25), RADIUS]
    )


def test_alone_and_in_a_batch() -> None:
    """The same bits next to another shape, and next to a lens without matching layer."""
    design = DESIGNS["shell_lens"]
    changed = design | {"lens.shape": 2.0, "matching.wavelength": 0.0, "lens.permittivity": 3.0}
    shared = plan("shell_lens", design, design | {"lens.shape": 2.0}, SOLVER).to_dict()
    together = evaluate("shell_lens", [changed, design, changed], shared)
    (alone,) = evaluate("shell_lens", [design], shared)
    assert alone.status == "ok"
    assert together[1].s11 == alone.s11 and together[1].metrics == alone.metrics
    assert together[0].metrics == together[2].metrics != alone.metrics
    (bare,) = evaluate("shell_lens", [changed], shared)
    assert together[0].s11 == bare.s11 and together[0].metrics == bare.metrics


def test_a_lattice_holds_the_lens_of_the_lowest_permittivity() -> None:
    """The less dense an ellipse is, the longer: a range of the permittivity is planned for its lower end."""
    lower, upper = (BARE | {"lens.shape": 2.0, "lens.permittivity": one} for one in (1.6, 3.0))
    layout = plan("shell_lens", lower, upper, SOLVER).layout
    height = RADIUS * (math.sqrt(1.6) + 1) / math.sqrt(0.6)
    assert (layout.contour_top - layout.origin) * layout.cell > height


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            'layers.thickness = ["1 mm", "2 mm"]',
            "antenna.layers.permittivity has 1 entry, but antenna.layers.thickness",
        ),
        ("layers.permittivity = []", "antenna.layers.permittivity has 0 entries, but antenna.layers.thickness has 1"),
        ("layers.loss_tangent = [0.1, 0.2]", "antenna.layers.loss_tangent has 2 entries"),
        ("layers.permittivity = [0.5]", "antenna.layers.permittivity.0 = 0.5 is out of bounds"),
        ("layers.permittivity = 1.9", "antenna.layers.permittivity = 1.9 must be a list of 0 to 200 numbers"),
        ("matching.permittivity = 0.7", "antenna.matching.permittivity = 0.7 is below 1"),
        ('lens.shape = "sphere"', 'antenna.lens.shape = "sphere" is not one of extended_hemisphere'),
        ('lens.shape = "ellipse"\nlens.permittivity = 1.05', "antenna.lens.permittivity = 1.05 makes an ellipse"),
    ],
)
def test_bad_values(changes: str, says: str, tmp_path: Path) -> None:
    """One line with the entry, its value and what would do."""
    path = antenna_file("shell_lens", tmp_path)
    overrides = tuple(f"antenna.{line.replace(' = ', '=', 1)}" for line in changes.split("\n"))
    with pytest.raises(ConfigurationError) as refused:
        load_antenna(path, overrides)
    assert f": {says}" in str(refused.value) and "\n" not in str(refused.value)


def test_layers_as_genes(tmp_path: Path) -> None:
    """A list of ranges, one of equal ranges, and a file without layers and matching layer."""
    path = antenna_file("shell_lens", tmp_path)
    goal = '\n[[objective]]\nmetric = "directivity_dbi"\nat_least = 30.0\n'
    path.write_text(path.read_text() + goal)
    read = load_experiment(
        path,
        (
            'antenna.layers.thickness={ count = 3, min = "1 mm", max = "2 mm" }',
            "antenna.layers.permittivity=[1.9, { min = 1.2, max = 2.0 }, 1.3]",
            "antenna.layers.loss_tangent=[1e-3, 2e-3, 0.0]",
        ),
    )
    assert [gene.name for gene in read.genes] == [
        "layers.permittivity.1", "layers.thickness.0", "layers.thickness.1", "layers.thickness.2",
    ]  # fmt: skip
    text = path.read_text()
    for table in ("layers", "matching"):
        first = text.index(f"[antenna.{table}]")
        text = text[:first] + text[text.index("\n[", first + 1) + 1 :]
    path.write_text(text.replace(goal, ""))
    assert load_antenna(path).design() == {
        name: value for name, value in DESIGNS["shell_lens"].items() if not name.startswith(("layers.p", "layers.t"))
    } | {"matching.wavelength": 0.0, "layers.loss_tangent": 0.0}


def test_validate_names_the_words_of_a_gene(tmp_path: Path, call: Any) -> None:
    path = antenna_file("shell_lens", tmp_path)
    code, out, _ = call("validate", path, "--set", 'antenna.lens.shape={ choices = ["ellipse", "hyperhemisphere"] }')
    assert code == 0 and "lens.shape: one of ellipse, hyperhemisphere" in out
