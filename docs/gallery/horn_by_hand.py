"""A horn by hand.

Four conical horns of one length are solved and compared. The best is solved again on two meshes, and its figures are
extrapolated to cell size zero. There is no search: `ao.simulate` solves one antenna.
"""

# %%
# An antenna is a table, as in an antenna file. Lengths and frequencies are text with a unit.
from __future__ import annotations

import matplotlib.pyplot as plt

import antennaopt as ao


def horn(aperture_mm: float) -> dict[str, object]:
    """Return a conical horn of 15 mm with the given aperture radius."""
    return {
        "title": f"Conical horn, aperture radius {aperture_mm:g} mm",
        "antenna": {
            "family": "conical_horn",
            "feed": {"inner_radius": "3.6 mm", "outer_radius": "4.4 mm", "length": "12 mm"},
            "horn": {"length": "15 mm", "aperture_radius": f"{aperture_mm} mm", "wall": "0.8 mm"},
        },
        "solver": {"frequencies": ["28.5 GHz", "30 GHz", "31.5 GHz"]},
    }


# %%
# Solve four of them. A cell of 0.4 mm is coarse, but ranks the horns in a second.
apertures = [6.0, 7.5, 9.0, 10.5]
outcomes = {aperture: ao.simulate(ao.load(horn(aperture)), cell="0.4 mm", backend="cpu") for aperture in apertures}
for aperture, outcome in outcomes.items():
    middle = outcome.results[1]
    print(f"{aperture:5.1f} mm  {middle.directivity_dbi:6.2f} dBi  S11 {middle.s11_db:6.2f} dB  {outcome.status}")

# %%
# Compare their E-plane patterns. A wider aperture has a narrower beam; at 10.5 mm a shoulder shows the phase error
# across the aperture.
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for aperture, outcome in outcomes.items():
    middle = outcome.results[1]
    axes.plot(middle.theta_deg, middle.e_plane_dbi, label=f"{aperture:g} mm")
axes.set(xlabel="angle from boresight (degrees)", ylabel="E-plane directivity at 30 GHz (dBi)")
axes.set(xlim=(0, 180), ylim=(-25, 20))
axes.legend(title="aperture radius")
axes.grid(alpha=0.3)
figure.savefig("horn_patterns.png", dpi=110)

# %%
# Take the horn with the largest directivity, and extrapolate it from two meshes. `certificate` says whether the result
# can be trusted.
best = max(outcomes, key=lambda aperture: outcomes[aperture].results[1].directivity_dbi)
final = ao.simulate(ao.load(horn(best)), cell="0.3 mm", extrapolate=True, backend="cpu")
middle = final.results[1]
print(f"extrapolated: {best:g} mm, {middle.directivity_dbi:.3f} dBi, S11 {middle.s11_db:.2f} dB, "
      f"{final.certificate['verdict']}")  # fmt: skip

# %%
# `ao.plot` draws the geometry with the field, the patterns and S11.
ao.plot(final).savefig("horn_outcome.png", dpi=110)
