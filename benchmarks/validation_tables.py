"""Tables of docs/validation.md, from rows of `accuracy.py` and figures of the tests."""

from __future__ import annotations

from statistics import median

import numpy as np
from orders import EXTRAPOLATED, FITTED, HIGHEST_ORDER, OTHER_FEEDS, fitted_orders, misses, worst_of
from reference_antennas import COLUMNS, EXTRAPOLATED_GOAL, GOALS, OUTLINE_GOALS, OUTLINE_KEYS, SETS

from antennaopt.solve.extrapolate import QUANTITIES

HEADINGS = ("directivity (dB)", "S11", "E-plane (dB)", "H-plane (dB)", "efficiency")
RESOLUTIONS = {  # keys that an error falls over, and what they are called; True where more of them is finer
    "cells_per_wavelength": ("cells a wavelength", True),
    "cells_per_mm": ("cells a millimetre", True),
    "cell_mm": ("cell (mm)", False),
}
MOST_ROWS = 6
ABOUT_20 = 19.5
STRAIGHT = 0.95


def table(headings, rows):
    """Return a Markdown table; a bar inside a cell, as in |S11|, is escaped."""
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return "\n".join(lines + ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows])


def number(value):
    """Return three digits, or what shows the distance from 1; no exponent where none is needed."""
    if value == 0:
        return "0"
    if 5e-7 <= abs(value - 1) < 5e-3:
        return f"{value:.6f}".rstrip("0")
    if 1e-3 <= abs(value) < 1e5:
        digits = max(0, 2 - int(np.floor(np.log10(abs(value)))))
        return f"{value:.{digits}f}"
    return f"{value:.2e}"


def mesh_name(row):
    """Return the cell in mm; in the set on other feeds cells a wavelength."""
    if row["mesh"] == EXTRAPOLATED:
        return "extrapolated"
    return f"{row['mesh']:g}" + (" a wavelength" if row["set"] == OTHER_FEEDS else "")


def seconds_of(rows):
    """Return the median processor time; empty for rows without a spread, which have none."""
    times = [row["seconds"] for row in rows if "spread" in row]
    return f"{median(times):.2f}" if times else ""


def cost(row):
    """Return processor time and spread of one row."""
    return [f"{row['seconds']:.3f}", f"{row['spread']:.1%}"] if "spread" in row else ["", ""]


def error_columns(row, missed):
    return [f"**{row[key]:.4f}**" if key in missed else f"{row[key]:.4f}" for key in COLUMNS]


def goals_table():
    """Return the goals of the errors."""
    rows = [[f"{cells} cells a wavelength", *(f"{limit:g}" for limit in limits)] for cells, limits in GOALS.items()]
    rows.reverse()
    return table(("mesh", *HEADINGS), [*rows, ["both, extrapolated", *(f"{limit:g}" for limit in EXTRAPOLATED_GOAL)]])


def uncertainty_table(by_set):
    """Return the largest changes of the reference itself, by set."""
    keys = ("directivity_dbi", "s11", "e_plane_dbi", "h_plane_dbi", "radiation_efficiency")
    return table(
        ("set", *HEADINGS), [[group, *(number(found[key]) for key in keys)] for group, found in by_set.items()]
    )


def worst_table(rows):
    """Return the largest error of all antennas of a set, by mesh."""
    found = []
    for group in SETS:
        for mesh in dict.fromkeys(row["mesh"] for row in rows if row["set"] == group):
            ours = [row for row in rows if row["mesh"] == mesh and row["set"] == group]
            largest, missed = worst_of(ours)
            cells = f"{int(median(row['cells'] for row in ours))}" if mesh != EXTRAPOLATED else ""
            found.append([group, mesh_name(ours[0]), *error_columns(largest, missed), seconds_of(ours), cells])
    return table(("set", "cell (mm)", *HEADINGS, "median seconds", "median cells"), found)


def search_table(rows):
    """Return the largest error of all antennas of a set, by mesh, pulse and time step, and steps over the first's."""
    found = []
    for group in SETS:
        for mesh in dict.fromkeys(row["mesh"] for row in rows if row["set"] == group):
            usual = None
            for how in dict.fromkeys((row["pulse"], row["time_step"]) for row in rows):
                ours = [
                    row
                    for row in rows
                    if (row["mesh"], row["set"]) == (mesh, group) and (row["pulse"], row["time_step"]) == how
                ]
                largest, missed = worst_of(ours)
                steps = sum(row["steps"] for row in ours)
                usual = usual or steps
                name = (group, mesh_name(ours[0]), *how)
                found.append([*name, *error_columns(largest, missed), f"{steps / usual:.2f}"])
    return table(("set", "cell (mm)", "pulse", "time step", *HEADINGS, "steps"), found)


def family_table(rows, titles, meshes):
    """Return the worst of each family, all sets of the rows together."""
    found = []
    for family, title in titles.items():
        for mesh in meshes:
            ours = [row for row in rows if row["family"] == family and row["mesh"] == mesh]
            if not ours:
                continue
            count = len({row["case"] for row in ours})
            errors = [
                f"{max(row[key] for row in ours):.{digits}f}" for key, digits in (("directivity_db", 3), ("s11", 4))
            ]
            pattern = max(max(row["e_plane_db"], row["h_plane_db"]) for row in ours)
            efficiency = f"{max(row['efficiency'] for row in ours):.4f}"
            name = f"{title} ({count})" if mesh == meshes[0] else ""
            found.append([name, mesh_name(ours[0]), *errors, f"{pattern:.2f}", efficiency, seconds_of(ours)])
    headings = ("antennas", "cell (mm)", "directivity (dB)", "dS11", "patterns (dB)", "efficiency", "seconds")
    return table(headings, found)


def largest_over(rows, *meshes):
    """Return the largest errors of directivity (dB) and S11 of all antennas on these meshes, rounded up, as text."""
    ours = [row for row in rows if row["mesh"] in meshes]
    directivity, s11 = (max(row[key] for row in ours) for key in ("directivity_db", "s11"))
    return f"{np.ceil(1e3 * directivity) / 1e3:.3f} dB and {np.ceil(1e4 * s11) / 1e4:.4f}"


def open_waveguide_table(published, ours):
    """Return the published figures of the open waveguide and our own, over frequency.

    Args:
        published: Lists over the frequencies by figure.
        ours: The same by mesh (mm).
    """
    rows = []
    for at, frequency in enumerate((28.5, 30, 31.5)):
        for name, figures in (
            ("published", published),
            *((f"{float(mesh):g} mm", found) for mesh, found in ours.items()),
        ):
            first = f"{frequency} GHz" if name == "published" else ""
            widths = f"{figures['hpbw_e_deg'][at]:.1f} / {figures['hpbw_h_deg'][at]:.1f}"
            level = f"{figures['front_to_back_db'][at]:.2f}"
            rows.append(
                [first, name, f"{figures['s11_db'][at]:.2f}", f"{figures['directivity_dbi'][at]:.2f}", widths, level]
            )
    headings = ("open waveguide", "", "S11 (dB)", "directivity (dBi)", "beamwidth E / H (deg)", "front to back (dB)")
    return table(headings, rows)


def antenna_table(rows):
    """Return every antenna of a family on every mesh."""
    found = []
    for row in rows:
        grid = [str(row.get("cells", "")), str(row.get("steps", ""))]
        name = f"`{row['case']}`" + (f" ({row['set']})" if row["set"] != "reference" else "")
        found.append([name, mesh_name(row), *error_columns(row, misses(row)), *cost(row), *grid])
    return table(("antenna", "cell (mm)", *HEADINGS, "seconds", "spread", "cells", "steps"), found)


def outline_table(rows):
    """Return every antenna given as polygons on every mesh."""
    found = []
    for row in rows:
        mesh = row["mesh"] if row["mesh"] == EXTRAPOLATED else f"{row['mesh']:g}"
        goals = OUTLINE_GOALS[row["mesh"]]
        errors = (
            f"**{row[key]:.4f}**" if row[key] > goal else f"{row[key]:.4f}"
            for key, goal in zip(OUTLINE_KEYS, goals, strict=True)
        )
        found.append([f"`{row['case']}`" + (" (holdout)" if row["held_out"] else ""), mesh, *errors])
    return table(("antenna", "cell (mm)", *HEADINGS, "cross-polar (dB)"), found)


def order_table(rows, half_step_rows):
    """Return the fitted orders of each set, with the usual time step and with that of extrapolation."""
    found = []
    for step, chosen in (("largest", rows), ("half", half_step_rows)):
        for group in SETS:
            for family, orders in fitted_orders([row for row in chosen if row["set"] == group]).items():
                found.append([family, group, step, *(f"{orders[key]:.2f}" if key in orders else "" for key in FITTED)])
    found.sort(key=lambda line: (line[0], line[2] == "half"))
    return table(("family", "set", "time step", *FITTED), found)


def cavity_table(figures):
    """Return the mode with the largest error of each kind of cavity, on meshes with 20 cells a wavelength or more.

    Args:
        figures: Of the tests of closed cavities, by kind; orders among them.
    """
    found = []
    for kind, ours in figures.items():
        errors = [figure for figure in ours if figure["name"].startswith("relative error")]
        errors = [figure for figure in errors if figure["where"].get("backend", "cpu") == "cpu"]
        fine = [figure for figure in errors if figure["where"]["cells_per_wavelength"] >= ABOUT_20]
        worst = max(fine, key=lambda figure: figure["value"])
        points = sorted(
            (figure["where"]["cells_per_wavelength"], figure["value"]) for figure in fine if same(figure, worst)
        )
        orders = [figure["value"] for figure in ours if figure["name"].startswith("order")]
        shown = ", ".join(f"{100 * error:.2g} % at {density:.0f}" for density, error in points)
        order = " to ".join(dict.fromkeys(f"{one:.2f}" for one in (min(orders), max(orders)))) if orders else ""
        name = worst["name"].removeprefix("relative error").strip(" ,").removeprefix("of ").removesuffix(f", {kind}")
        found.append([kind, str(len({figure["name"] for figure in errors})), name, shown, order])
    return table(("closed cavity", "resonances", "largest error", "at cells a wavelength", "orders, all"), found)


def same(figure, other):
    """Return whether two figures are of one resonance."""
    return figure["name"] == other["name"]


def extrapolation_table(orders):
    """Return the orders of extrapolation; the highest order stands for none."""
    rows = [
        [family, *(f"{order:.2f}" if order < HIGHEST_ORDER else "none" for order in (used[key] for key in QUANTITIES))]
        for family, used in orders.items()
    ]
    return table(("family", "S11", "directivity, patterns", "efficiency"), rows)


def curves(figures):
    """Return figures of one name and place, over the resolution or the first numeric key of their place.

    Returns:
        By (name, unit): a list of (place, key, points), a point being a figure with its `at`. Backends that agree to
        the digits shown are one curve.
    """
    found = {}
    for figure in figures:
        where = figure["where"]
        numeric = [key for key, at in where.items() if not isinstance(at, str)]
        key = next((key for key in where if key in RESOLUTIONS), numeric[0] if numeric else None)
        place = tuple((name, at) for name, at in where.items() if name not in (key, "backend"))
        backend = where.get("backend")
        group = found.setdefault((figure["name"], figure["unit"]), {})
        group.setdefault((place, key), {}).setdefault(backend, []).append({**figure, "at": where.get(key)})
    return {name: list(_merged(group)) for name, group in found.items()}


def _merged(group):
    """Yield curves of one figure with their places as text; backends that agree where both solved are one curve."""
    for (place, key), by_backend in group.items():
        curves = []
        for backend, points in sorted(by_backend.items(), key=lambda item: -len(item[1])):
            points.sort(key=lambda point: point["at"] or 0)
            shown = {(point["at"], number(point["value"])) for point in points}
            same = next((curve for curve in curves if shown <= curve[1]), None)
            if same:
                same[2].append(backend if len(shown) == len(same[1]) else f"{backend} in part")
            else:
                curves.append((points, shown, [backend]))
        for points, _, backends in curves:
            names = [backend for backend in backends if backend]
            parts = [*place, *([("backend", " and ".join(names))] if names else [])]
            yield place_text(parts), key, points


def place_text(parts):
    """Return the place of a figure as text."""
    return ", ".join(f"{name} = {at}" if isinstance(at, str) else f"{name} = {at:g}" for name, at in parts).replace(
        "_", " "
    )


def is_sweep(key, points):
    """Return whether a curve is one of errors over resolution: three or more, the finest half the coarsest."""
    at, values = [point["at"] for point in points], [point["value"] for point in points]
    return key in RESOLUTIONS and len(set(at)) > 2 and max(at) > 1.8 * min(at) and min(values) > 0


def order_of(key, points):
    """Return the fitted order of a sweep; None without one, or where its errors do not fall on a line (r squared)."""
    if not is_sweep(key, points):
        return None
    at, values = np.log([point["at"] for point in points]), np.log([point["value"] for point in points])
    if np.corrcoef(at, values)[0, 1] ** 2 < STRAIGHT:
        return None
    slope = float(np.polyfit(at, values, 1)[0])
    return -slope if RESOLUTIONS[key][1] else slope


def bound(figure):
    """Return a bound as text: at most, at least."""
    parts = [("≥ ", "at_least"), ("≤ ", "at_most")]
    return ", ".join(sign + number(figure[key]) for sign, key in parts if key in figure)


def margin(figure):
    """Return the distance of a figure to its bound: the largest is the worst."""
    over = figure["value"] - figure.get("at_most", np.inf)
    under = figure.get("at_least", -np.inf) - figure["value"]
    return max(over, under)


def spread(values, written):
    """Return all of a few values, or their range."""
    shown = list(dict.fromkeys(map(written, values)))
    if len(shown) <= MOST_ROWS:
        return ", ".join(shown)
    return f"{written(min(values))} to {written(max(values))}"


def figure_table(figures):
    """Return one line a curve; many of one name are one line, with the one nearest to its bound."""
    rows = []
    for (name, unit), group in curves(figures).items():
        label = f"{name} ({unit})" if unit else name
        if len(group) > MOST_ROWS:
            points = [point for _, _, points in group for point in points]
            worst = max(points, key=margin)
            at = f"nearest to its bound of {len(points)}: {place_text(worst['where'].items())}"
            rows.append([label, at, number(worst["value"]), bound(worst), ""])
        else:
            rows += [[label, *curve_columns(*curve)] for curve in group]
    return table(("figure", "at", "measured", "bound", "order"), rows)


def curve_columns(place, key, points):
    """Return place, values, bounds and order of one curve."""
    name = RESOLUTIONS[key][0] if key in RESOLUTIONS else (key or "").replace("_", " ")
    at = f"{name} = {spread([point['at'] for point in points], '{:g}'.format)}" if key else ""
    values = [point["value"] for point in points]
    shown = ", ".join(map(number, values)) if len(values) <= MOST_ROWS else spread(sorted(values), number)
    bounds = [bound(point) for point in points]
    if len(set(bounds)) == 1:
        limits = bounds[0]
    else:
        limits = "; ".join(bounds) if len(bounds) <= MOST_ROWS else bound(max(points, key=margin))
    order = order_of(key, points)
    where = ", ".join(part for part in (at, place) if part)
    return [where, shown, limits, f"{order:.2f}" if order is not None else ""]
