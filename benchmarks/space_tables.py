"""Tables of antennas in space, from the rows of results/benchmarks; see `performance_tables.py`."""

from __future__ import annotations

from stored_rows import Row, cells, giga, rows
from validation_tables import table

OTHERS = {"rfx": "rfx-fdtd", "fdtdx": "fdtdx"}
"""Other solvers, and the packages that they are in."""


def space_table() -> str:
    """Return rates of antennas in space, of each scheme and of `one_step` as it was."""
    found: dict[tuple[str, int, int], dict[str, str]] = {}
    for row in [*rows("h100/space"), *rows("h200/space")]:
        case = found.setdefault((cells(row), row["layers"], row["batch"]), {})
        device = row["device"].split()[1]
        case[f"{row['kernel']}`, {device}"] = f"{giga(row['cell_steps_per_s'])} (+-{row['spread']:.1%})"
    kernels = list(dict.fromkeys(name for case in found.values() for name in case))
    missing = {name: "does not fit" if name.startswith("resident") else "" for name in kernels}
    lines = [[shape, str(layers), str(batch), *(case.get(name, missing[name]) for name in kernels)]
             for (shape, layers, batch), case in found.items()]  # fmt: skip
    return table(["cells", "layers", "antennas", *(f"`{name}" for name in kernels)], lines)


def others_table() -> str:
    """Return rates of our schemes and of other solvers on the same problems, and how far their traces are apart."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows("h200/other_solvers"):
        found.setdefault(row["case"], {})[row["program"]] = row
    programs = {name: row for case in found.values() for name, row in case.items()}
    programs = dict(sorted(programs.items(), key=lambda one: one[0] in OTHERS))  # ours first
    others = [name for name in programs if name in OTHERS]
    lines = []
    for case in found.values():
        one = next(iter(case.values()))
        rates = [f"{giga(row['cell_steps_per_s'])} (+-{row['spread']:.1%})" if (row := case.get(name)) else ""
                 for name in programs]  # fmt: skip
        traces = [_apart(case[name]) if name in case else "" for name in others]
        lines.append([cells(one), str(one["layers"]), str(one["batch"]), *rates, *traces])
    heads = [f"{name} {programs[name]['versions'][OTHERS[name]]}" if name in OTHERS else f"`{name}`"
             for name in programs]  # fmt: skip
    return table(["cells", "layers", "boxes", *heads, *(f"trace of {name}" for name in others)], lines)


def _apart(row: Row) -> str:
    """Return how far a trace is from that of `one_step`: before layers are felt, and to the end."""
    parts = [row["direct_difference"]] if row["direct_difference"] is not None else []
    if row["layers"]:
        parts.append(row["whole_difference"])
    return ", ".join(f"{part:.1e}".replace("e-0", "e-") for part in parts)
