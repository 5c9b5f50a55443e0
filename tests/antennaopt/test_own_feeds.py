"""The feed's inner radius as a gene: one lattice, and a source, a port and a mode for each antenna."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from family_cases import DESIGNS

from antennaopt import open_run
from antennaopt.cli import main
from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_experiment
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import plan
from fdtd.errors import ConfigError

SOLVER = {"frequencies": [30e9], "design_frequency": 30e9, "cell": 0.37e-3, "precision": "float32"}
RADII = (3.3e-3, 3.52e-3, 3.85e-3)
FILE = """
[antenna]
family = "conical_horn"
[antenna.feed]
inner_radius = {{ min = "{low} mm", max = "3.9 mm" }}
outer_radius = "{outer} mm"
length = "14 mm"
[antenna.horn]
length = {{ min = "8 mm", max = "14 mm" }}
aperture_radius = "9 mm"
wall = "0.8 mm"
[solver]
frequencies = ["30 GHz"]
cell = "0.4 mm"
[evolution]
population = 4
generations = 2
[[objective]]
metric = "s11_db"
at_most = -15.0
"""


@pytest.mark.parametrize("family", ["open_waveguide", "hemispherical_lens", "conical_horn"])
def test_alone_and_in_a_batch(family: str) -> None:
    """The same bits, with other antennas or without; each has the S11 of its own radius."""
    base = {**DESIGNS[family], "feed.outer_radius": 4.4e-3}
    designs = [{**base, "feed.inner_radius": radius} for radius in RADII]
    made = plan(family, designs[0], designs[-1], SOLVER).to_dict()
    assert made["layout"]["own_feeds"]
    batch = evaluate(family, designs, made)
    for design, one in zip(designs, batch, strict=True):
        (alone,) = evaluate(family, [design], made)
        for key in ("s11", "directivity_dbi", "e_plane", "power_balance", "steps"):
            assert np.array_equal(np.array(alone[key]), np.array(one[key])), key
        (own,) = evaluate(family, [design], plan(family, design, design, SOLVER).to_dict())
        assert one["s11"][0] == pytest.approx(own["s11"][0], abs=0.003)  # on another lattice
        assert one["power_balance"] == pytest.approx([1.0], abs=0.004)
    values = [complex(*one["s11"][0]) for one in batch]
    assert min(abs(values[0] - values[1]), abs(values[1] - values[2])) > 0.01


def test_what_cannot_be_a_range() -> None:
    """An absorber that would reach out of a tube; a feed below cutoff; a length."""
    base = DESIGNS["open_waveguide"]
    low, high = {**base, "feed.inner_radius": 3.3e-3}, {**base, "feed.inner_radius": 4.0e-3}
    with pytest.raises(ConfigError, match=r"feed.outer_radius = 4 mm is not beyond the widest .* = 4 mm"):
        plan("open_waveguide", low, high, SOLVER)
    with pytest.raises(ConfigError, match="below or near the feed's cutoff, 31"):
        plan("open_waveguide", {**low, "feed.inner_radius": 2.8e-3}, base, SOLVER)
    with pytest.raises(ConfigError, match="length is a range"):
        plan("open_waveguide", base, {**base, "feed.length": 14e-3}, SOLVER)


def test_a_run(tmp_path: Path) -> None:
    """Radii are columns in mm, every row is judged by its own radius; what cannot be is one line."""
    path = tmp_path / "horn.toml"
    path.write_text(FILE.format(low=3.3, outer=4.7))
    assert main(["run", str(path), "--out", str(tmp_path / "run"), "--workers", "1", "--quiet"]) == 0
    (folder,) = (tmp_path / "run" / "horn").iterdir()
    rows = open_run(folder).rows
    assert (
        rows["feed_inner_radius_mm"].between(3.3, 3.9).all()
        and rows["feed_inner_radius_mm"].nunique() == len(rows) >= 4
    )
    assert set(rows["status"]) == {"ok"}
    for low, outer, said in ((3.3, 3.9, "is not beyond the widest"), (2.9, 4.7, "below or near the TE11 cutoff")):
        path.write_text(FILE.format(low=low, outer=outer))
        with pytest.raises(ConfigurationError, match=said):
            load_experiment(path)
