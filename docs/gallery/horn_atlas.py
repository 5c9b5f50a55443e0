"""Atlas of optimum conical horns.

What is the directivity of a conical horn of a given length and diameter, and which diameter is best for a given length?
Textbooks use an aperture integral: Balanis, Antenna Theory, 4th ed., eq. 13-57 and 13-58. This page uses some 2,400
full-wave solutions of horns up to 12 wavelengths long, with error bars, and a new fit. The solutions took about 45
minutes on one core of an Intel Xeon that was also used otherwise.

All lengths are in wavelengths. A horn is a cone of perfect metal on a circular waveguide with TE11. The waveguide has a
radius of 0.36, 1.23 times the cutoff of TE11, so TM01 is cut off. The wall is 0.06 thick, which can be printed. The
closed waveguide behind the throat is 1.2 long. The length l of a horn is measured from the throat to the aperture, and
d is the inner diameter of the aperture. The optimum horn of a length has the diameter with the largest directivity on
axis. It is also the shortest horn with its directivity.

Results:

- The optimum horn has `l = 0.3204 d^2 - 0.1883 d - 0.0875` and the directivity `D = 5.4544 d^2 - 0.7377 d + 4.4303` (a
  ratio). This is within 0.34 dB, 0.10 dB rms, from d = 1.2 to 6.4 (10.5 to 23.4 dBi), and 0.2 dB high at d = 10.
- The optimum diameter grows with the length in steps, and the directivity has ripples of 0.2 to 0.3 dB, which no smooth
  formula reproduces. Use the map if 0.3 dB matter.
- Balanis' 13-57 is 0.2 to 1.9 dB too low below d = 2.6 and up to 0.46 dB too low above. 13-58 is off by -1.1 to +0.4 dB
  below and by -0.1 to +0.3 dB above.
- A horn below d = 1.2 has no optimum length: an open waveguide of d = 0.61 to 0.72 already has 7.2 to 8.2 dBi.

To solve all horns again, move `results/horn_atlas` away and run `python benchmarks/horn_atlas.py map`, the same with
`variants` and `beyond`, and `python benchmarks/reference_fem/horn_atlas.py` (which needs NGSolve). `antennaopt new
conical_horn --frequency "10 GHz" --gain 16` writes an experiment that begins with the fit.
"""

# %%
# `benchmarks/horn_atlas.py` solves each horn through `ao.simulate(..., extrapolate=True)` on cells of 0.03 and 0.02
# wavelengths, on the CPU, and adds a row to a CSV file. Diameters and lengths are multiples of 0.06, so that both
# lattices fit every horn. This page reads the rows.
#
# All horns of the grid with a phase error s = d^2 / (8 slant length) from 0.2 to 0.47 are solved, and a random part of
# the others; running the command again adds the rest. Every solve passes the certificate.
#
# The error bar of a horn is the change of its directivity from one mesh to the other, plus 0.005 dB. High-order finite
# elements, themselves certain to 0.001 dB in the median, check the bars on the best horns of the lengths and on random
# horns.
from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.interpolate import RBFInterpolator
from scipy.optimize import least_squares
from scipy.special import jn_zeros, jnp_zeros

FOLDER = Path(__file__).resolve().parents[2] / "results/horn_atlas"
FEED = 0.36
horns = pd.read_csv(FOLDER / "map.csv").sort_values(["length", "diameter"], ignore_index=True)
horns["bar"] = (horns.fine_dbi - horns.coarse_dbi).abs() + 0.005
elements = pd.read_csv(FOLDER / "finite_elements.csv")
checked = horns.merge(elements, on=["diameter", "length"], suffixes=("", "_fem"))
away = (checked.directivity_dbi - checked.directivity_dbi_fem).abs()
print(
    f"{len(horns)} horns, 2 meshes each, {horns.seconds.sum() / 60:.0f} minutes of one busy core; all are "
    f"{' and '.join(horns.verdict.unique())}\n"
    f"error bars: median {horns.bar.median():.3f} dB, 95 % below {horns.bar.quantile(0.95):.3f} dB, "
    f"largest {horns.bar.max():.3f} dB\n"
    f"finite elements: {len(checked)} horns, {np.mean(away <= checked.bar):.0%} within their bars; difference "
    f"{np.sqrt(np.mean(away**2)):.4f} dB rms, {away.max():.3f} dB at most"
)

# %%
# Between the horns of the map, the loss relative to a uniform aperture, 20 log10(pi d) - D, is interpolated. Leaving
# out a tenth of the horns at a time gives the error of the interpolation.


def position(d: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return the coordinates of the interpolation."""
    return np.stack([np.log(d), 0.5 * np.log(length)], axis=-1)


def interpolation(rows: pd.DataFrame) -> RBFInterpolator:
    """Return the loss as a function of the position, dB."""
    loss = 20 * np.log10(np.pi * rows.diameter) - rows.directivity_dbi
    return RBFInterpolator(position(rows.diameter, rows.length), loss, kernel="cubic", neighbors=60)


SURFACE = interpolation(horns)


def directivity(d: np.ndarray, length: np.ndarray | float, surface: RBFInterpolator = SURFACE) -> np.ndarray:
    """Return the directivity of horns, dBi."""
    d, length = np.broadcast_arrays(np.asarray(d, float), np.asarray(length, float))
    return 20 * np.log10(np.pi * d) - surface(position(d, length).reshape(-1, 2)).reshape(d.shape)


def phase_error(d: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return Balanis' s = d^2 / 8 over the slant length from the apex."""
    return d**2 / 8 / np.hypot(length * d / (d - 2 * FEED), d / 2)


tenth = np.random.default_rng(0).integers(10, size=len(horns))
missed = np.empty(len(horns))
for one in range(10):
    out = horns[tenth == one]
    found = directivity(out.diameter, out.length, interpolation(horns[tenth != one]))
    missed[tenth == one] = found - out.directivity_dbi
near = phase_error(horns.diameter, horns.length).between(0.2, 0.47)
print(
    f"interpolation without a tenth of the horns: {np.sqrt(np.mean(missed[near] ** 2)):.3f} dB rms for s from 0.2 to "
    f"0.47, {np.sqrt(np.mean(missed[~near] ** 2)):.3f} dB elsewhere"
)

# %%
# The optimum of each length, from 0.12 on. At a length of 0.06 the flare reaches 70 degrees, the steepest of the map,
# before the directivity has its largest value.
found = []
for length, line in horns[horns.length >= 0.12].groupby("length"):
    d = np.linspace(line.diameter.min(), line.diameter.max(), 2000)
    level = directivity(d, length)
    nearest = line.iloc[(line.diameter - d[level.argmax()]).abs().argmin()]
    found.append((length, d[level.argmax()], level.max(), nearest.bar))
optima = pd.DataFrame(found, columns=["length", "diameter", "directivity_dbi", "bar"])

# %%
# The fit has the form of 13-57. The length is a polynomial of the diameter, chosen so that the loss of horns of this
# shape against the optimum of their length is smallest. The optimum directivity is then a polynomial of this diameter.
# The printed lines are for fits to every second length, with the errors at the other lengths.


def diameter_of(length: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Return d from length = e d^2 + f d + g."""
    e, f, g = coefficients
    return (-f + np.sqrt(f**2 - 4 * e * (g - length))) / (2 * e)


def fit(points: pd.DataFrame, degree: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients of the length and of the directivity, highest power first."""

    def below(coefficients: np.ndarray) -> np.ndarray:
        return points.directivity_dbi - directivity(diameter_of(points.length, coefficients), points.length)

    first = least_squares(below, [0.32, -0.28, 0.04], diff_step=1e-3).x
    powers = np.vander(diameter_of(points.length, first), degree + 1)
    ratio = 10 ** (points.directivity_dbi.to_numpy() / 10)
    return first, np.linalg.lstsq(powers / ratio[:, None], np.ones(len(ratio)), rcond=None)[0]


def differences(points: pd.DataFrame, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return by how much the fit's horn is below the optimum, and the fit's directivity above it, dB."""
    d = diameter_of(points.length, first)
    built = points.directivity_dbi - directivity(d, points.length)
    return built, 10 * np.log10(np.polyval(second, d)) - points.directivity_dbi


halves = optima[::2], optima[1::2]
for degree in (1, 2, 3):
    off = np.concatenate([differences(b, *fit(a, degree))[1] for a, b in (halves, halves[::-1])])
    print(f"{degree + 1} coefficients, other half: {np.sqrt(np.mean(off**2)):.2f} dB rms, {abs(off).max():.2f} at most")
LENGTH, RATIO = fit(optima)
below, off = differences(optima, LENGTH, RATIO)
for name, (two, one, none) in (("l", LENGTH), ("D", RATIO)):
    print(f"{name} = {two:.4f} d^2 {one:+.4f} d {none:+.4f}")
print(
    f"the fit is off by {np.sqrt(np.mean(off**2)):.3f} dB rms, {abs(off).max():.3f} at most; a horn of its shape is "
    f"{below.mean():.3f} dB below the optimum in the mean, {below.max():.3f} at most"
)

# %%
# The map. Contours show directivity in dBi; the leftmost point of a contour is its shortest horn.
textbook = np.linspace(1.0, 6.6, 281)  # diameters
apex = 0.3232 * textbook**2 - 0.0475 * textbook + 0.0052  # 13-57, from the apex
textbook_length = apex * (1 - 2 * FEED / textbook)
lengths = np.geomspace(0.12, 11.7, 200)

across, along = np.meshgrid(np.geomspace(0.06, 11.7, 260), np.linspace(0.78, 6.72, 260))
steep = np.degrees(np.arctan2(along / 2 - FEED, across)) > 70
phase = phase_error(along, across)
outside = steep | (phase < 0.08) | ((phase > 0.7) & (along > 2))
level = np.where(outside, np.nan, directivity(along, across))
figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
lines = axes.contour(across, along, level, levels=np.arange(6, 24, 0.5), cmap="viridis", linewidths=0.8)
axes.clabel(lines, levels=np.arange(6, 24, 1), fmt="%g", fontsize=8)
axes.plot(optima.length, optima.diameter, "k.", markersize=4, label="optimum")
axes.plot(lengths, diameter_of(lengths, LENGTH), "k-", linewidth=0.9, label="fit")
axes.plot(textbook_length, textbook, "r--", linewidth=0.9, label="13-57")
axes.set(xscale="log", xlabel="length from throat to mouth (wavelengths)", ylabel="diameter of the mouth (wavelengths)")
axes.set(xlim=(0.06, 11.7), ylim=(0.78, 6.72), title="Directivity of conical horns (dBi)")
axes.legend(loc="upper left")
figure.savefig("horn_map.png", dpi=110)

# %%
# The optimum diameter grows in steps: it is constant over a range of lengths, then it jumps. The steps are about as far
# apart as the diameters at which TE1n (j'_1n / pi) and TM1n (j_1n / pi) begin to propagate in the aperture. A likely
# cause is that the aperture reflects a part of the wave into these modes, which are reflected again where the cone
# becomes too narrow for them. This is not shown here. Crosses are finite elements.
modes = (("TE1n", jnp_zeros(1, 7) / np.pi, "-"), ("TM1n", jn_zeros(1, 6) / np.pi, ":"))
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
for name, cutoffs, style in modes:
    axes.hlines(cutoffs, 0.1, 13, color="0.7", linestyle=style, linewidth=0.9, label=f"cutoff of {name} in the mouth")
axes.plot(optima.length, optima.diameter, "o", markersize=4, label="optimum, full wave")
axes.plot(lengths, diameter_of(lengths, LENGTH), label="fit")
axes.plot(textbook_length, textbook, "--", label="13-57")
axes.set(xscale="log", xlabel="length from throat to mouth (wavelengths)", ylabel="diameter of the mouth (wavelengths)")
axes.set(xlim=(0.1, 13), ylim=(1, 7))
axes.legend()
figure.savefig("horn_steps.png", dpi=110)

figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
for _, cutoffs, style in modes:
    axes.vlines(cutoffs, 7, 22, color="0.7", linestyle=style, linewidth=0.9)
for length in (0.3, 0.6, 1.14, 1.98, 3.18, 5.46):
    line, some = horns[horns.length == length], checked[checked.length == length]
    between = np.linspace(line.diameter.min(), line.diameter.max(), 300)
    (drawn,) = axes.plot(between, directivity(between, length), linewidth=1)
    axes.errorbar(line.diameter, line.directivity_dbi, line.bar, fmt=".", color=drawn.get_color(), label=f"{length:g}")
    axes.plot(some.diameter, some.directivity_dbi_fem, "kx")
axes.set(xlabel="diameter of the mouth (wavelengths)", ylabel="directivity (dBi)", xlim=(0.7, 6), ylim=(7.5, 21.5))
axes.legend(title="length")
figure.savefig("horn_lines.png", dpi=110)

# %%
# The horns of the textbook, with diameter and length of 13-57: the errors of 13-57 and 13-58 against the map. The third
# curve shows how far these horns are below the optimum of their length.
inside = (textbook_length > 0.12) & (textbook_length < 11.7)
d, length, apex = textbook[inside], textbook_length[inside], apex[inside]
solved = directivity(d, length)
s = phase_error(d, length)
short = 0.5030 + 5.1123 * s - 7.1138 * s**2 + 23.1401 * s**3
loss = np.where(apex <= 3, short, 0.7853 - 0.3976 * s + 13.112 * s**2 + 3.901 * s**3)
curves = {
    "13-57": 10 * np.log10(5.1572 * d**2 - 0.6451 * d + 1.3645) - solved,
    "13-58": 20 * np.log10(np.pi * d) - loss - solved,
    "horn of 13-57, below the optimum": solved - np.interp(length, optima.length, optima.directivity_dbi),
}
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
for name, curve in curves.items():
    axes.plot(d, curve, label=name)
    low, high = curve[d < 2.6], curve[d >= 2.6]
    print(
        f"{name}: {low.min():+.2f} to {low.max():+.2f} dB below d = 2.6, {high.min():+.2f} to {high.max():+.2f} above"
    )
fitted = diameter_of(optima.length, LENGTH)
axes.errorbar(fitted, off, optima.bar, fmt="k.", capsize=2, label="fit against the optima, with their error bars")
axes.axhline(0, color="0.5", linewidth=0.8)
axes.set(xlabel="diameter of the mouth (wavelengths)", ylabel="difference of directivity (dB)")
axes.legend()
axes.grid(alpha=0.3)
figure.savefig("horn_textbook.png", dpi=110)

# %%
# The best solved horn of each length. Beamwidths are in degrees. The phase centre is in wavelengths from the aperture,
# negative inside. `results/horn_atlas/map.csv` has these columns for all horns of the map.
best = horns.loc[horns.groupby("length").directivity_dbi.idxmax()].query("length >= 0.12")
best = best.assign(s11_db=20 * np.log10(np.hypot(best.s11_re, best.s11_im)))
best = best.merge(elements, on=["diameter", "length"], how="left", suffixes=("", "_fem"))
shown = {
    "length": "length", "diameter": "diameter", "directivity_dbi": "D (dBi)", "bar": "+-", "directivity_dbi_fem": "FEM",
    "s11_db": "S11 (dB)", "beamwidth_e_deg": "E 3 dB", "beamwidth_h_deg": "H 3 dB", "beamwidth_e_10db_deg": "E 10 dB",
    "beamwidth_h_10db_deg": "H 10 dB", "crosspol_db": "X-pol", "phase_centre": "phase c.",
}  # fmt: skip
digits = {"directivity_dbi": 3, "bar": 3, "directivity_dbi_fem": 3, "phase_centre": 2, "length": 2, "diameter": 2}
formats = {shown[key]: f"{{:.{digits.get(key, 1)}f}}".format for key in shown}
print(best[list(shown)].rename(columns=shown).to_string(index=False, formatters=formats, na_rep="-"))

# %%
# Other feeds and walls. With a feed 0.03 narrower or wider the cone is the same, so its throat moves. With a wall of
# 0.03 or 0.12 everything else is the same. Only the open waveguide is shorter than the horns of the map; longer horns
# show the range of the fit.
variants = pd.read_csv(FOLDER / "variants.csv")
for diameter, group in variants[variants.length > 0].groupby("diameter"):
    middle = group[(group.feed_radius == FEED) & (group.wall == 0.06)].iloc[0]
    changes = [
        f"{name} {one:g}: {value - middle.directivity_dbi:+.3f}"
        for name in ("feed_radius", "wall")
        for one, value in zip(group[name], group.directivity_dbi, strict=True)
        if one != middle[name]
    ]
    print(f"d = {diameter:g}, l = {middle.length:g}:", ", ".join(changes), "dB")
for guide in variants[variants.length == 0].itertuples():
    print(f"open guide of d = {guide.diameter:.2f}: {guide.directivity_dbi:.3f} dBi")
for length, group in pd.read_csv(FOLDER / "beyond.csv").groupby("length"):
    top = group.loc[group.directivity_dbi.idxmax()]
    fitted = 10 * np.log10(np.polyval(RATIO, diameter_of(length, LENGTH)))
    print(f"length {length:g}: {top.directivity_dbi:.2f} dBi at d = {top.diameter:g}; fit {fitted:.2f} dBi")
