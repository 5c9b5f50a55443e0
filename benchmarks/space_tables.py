"""Tables of antennas in space, from the rows of results/benchmarks; see `performance_tables.py`."""

from __future__ import annotations

from stored_rows import Row, cells, giga, rows
from validation_tables import table

OTHERS = {"rfx": "rfx-fdtd", "fdtdx": "fdtdx"}
"""Other solvers, and the packages that they are in."""


FLOPS = 36
"""Operations of a cell and step as Yee_bench counts them: 12 additions, 12 subtractions, 12 multiplications."""
THESIS = {150: {"core": 3417, "device": 2 * 26500}}
"""MFlops of Skomedal, Heterogeneous FDTD for Seismic Processing, NTNU 2013, single precision, tables 5.1 and 5.4: one
core of an Intel i5-3470, and a GeForce GTX 480 with two streams and no work of the CPU; by cells of a side."""


def cavity_table() -> str:
    """Return rates of a closed cavity against its size, in cells and in operations a second, next to the thesis's."""
    found: dict[int, dict[str, Row]] = {}
    for place, name in (("core", "cpu/sweep_space"), ("device", "h200/sweep_space")):
        for row in rows(name):
            if row["stencil"] == "yee3d" and not row["layers"]:
                found.setdefault(row["shape"][0], {})[place] = row
    heads, lines = ["cells"], []
    for place in ("core", "device"):
        name = next(case[place]["device"] for case in found.values() if place in case)
        one = f"one core, {name}" if place == "core" else f"one {name}"
        heads += [f"{one}: million cells/s", "MFlops", "thesis, MFlops"]
    for size, case in sorted(found.items()):
        line = [" x ".join([str(size)] * 3)]
        for place in ("core", "device"):
            if place in case:
                rate, spread = case[place]["million_cells_per_s"], case[place]["spread"]
                line += [f"{rate:,.0f} (+-{spread:.1%})", f"{FLOPS * rate:,.0f}"]
            else:
                line += ["", ""]
            line.append(f"{THESIS[size][place]:,}" if size in THESIS else "")
        lines.append(line)
    return table(heads, lines)


def tuning_table() -> str:
    """Return what `tiles --tune` timed of antennas in space: the fastest of each lattice is bold."""
    lines = []
    for best, *timed in rows("h200/tuning_space"):
        for row in timed:
            choice = ", ".join(f"{name} {value}" for name, value in row["choice"].items()) or "own choice"
            rate = giga(row["cell_steps_per_s"]) if "cell_steps_per_s" in row else row["unsuitable"]
            wins = (row["scheme"], row["choice"]) == (best["scheme"], best["choice"])
            lines.append([
                cells(best), str(best["batch"]), f"`{row['scheme']}`", choice, f"**{rate}**" if wins else rate,
            ])  # fmt: skip
    return table(["cells", "antennas", "scheme", "choice", "G cell-steps/s"], lines)


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
