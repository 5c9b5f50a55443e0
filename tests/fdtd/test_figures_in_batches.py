"""Figures of cuts do not depend on the batch, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from cut_patterns import rippled

from fdtd.farfield.beams import (
    aperture_efficiency,
    axial_ratio_db,
    beam_symmetry_db,
    beamwidth_deg,
    crosspol_db,
    edge_taper_db,
    flatness_db,
)
from fdtd.farfield.cuts import Cuts
from fdtd.farfield.feeds import feed_efficiencies, phase_centre
from fdtd.farfield.masks import Mask, isoflux_db, mask_excess_db, sec2_db

K = np.array([600.0, 630.0, 660.0])
MASK = Mask.of(plane="both", theta=(0.35, 1.57), at_most=[[0.3, -10.0], [1.6, -30.0]])
FIGURES = {
    "crosspol": lambda cuts: crosspol_db(cuts),
    "axial ratio": lambda cuts: axial_ratio_db(cuts, 0.5),
    "flatness": lambda cuts: flatness_db(cuts, 0.5),
    "beamwidth": lambda cuts: beamwidth_deg(cuts, "h"),
    "symmetry": lambda cuts: beam_symmetry_db(cuts),
    "edge taper": lambda cuts: edge_taper_db(cuts, 0.7),
    "aperture": lambda cuts: aperture_efficiency(cuts, np.array(0.05), K),
    "mask": lambda cuts: mask_excess_db(cuts, MASK),
    "isoflux": lambda cuts: isoflux_db(cuts, 6e5, 0.1),
    "sec2": lambda cuts: sec2_db(cuts, 1.0),
    "efficiency": lambda cuts: feed_efficiencies(cuts, 0.9, K).feed,
    "phase centre": lambda cuts: phase_centre(cuts, K, 0.6),
    "phase centre, own angle": lambda cuts: phase_centre(cuts, K),
}


@pytest.mark.parametrize("figure", FIGURES)
def test_bits_do_not_depend_on_the_batch(figure: str) -> None:
    """Alone, in a batch, in another layout of memory: a batch of 300 also crosses the edge of a chunk (256 cuts)."""
    cuts, compute = rippled(batch=300), FIGURES[figure]
    all_ = compute(cuts)
    assert all_.shape == (300, 3)
    assert np.isfinite(all_).all()
    for place in (0, 85, 86, 299):
        alone = Cuts(e=cuts.e[place], h=cuts.h[place])
        assert np.array_equal(compute(alone), all_[place])
    turned = Cuts(e=np.asfortranarray(cuts.e), h=np.asfortranarray(cuts.h))
    assert np.array_equal(compute(turned), all_)
