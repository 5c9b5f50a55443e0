"""Tables of kernels alone, from the rows of results/benchmarks; see `performance_tables.py`."""

from __future__ import annotations

from stored_rows import Row, cells, giga, percent, read, rows
from validation_tables import table

SCHEMES = ("one_step", "trapezoidal", "wavefront", "resident")
FORMS = ("two launches", "one launch")


def label(row: Row) -> str:
    """Name a scheme and its form."""
    form = f", {FORMS[len(row['choice'])]} a step" if row["scheme"] == "one_step" else ""
    return f"`{row['scheme']}`{form}"


def kernels() -> list[Row]:
    """Return rows of whole kernels of antennas, those of the study's lattice too where they are stored."""
    found = rows("h200/kernels_study") or rows("h200/kernels")
    return [row for row in found if row["stencil"] == "bor" and not row["without"] and row["batch"] == 264]


def by_scheme() -> str:
    """Return rates of whole kernels of antennas, and of the study."""
    lines = []
    for shape in dict.fromkeys(cells(row) for row in kernels()):
        own = [row for row in kernels() if cells(row) == shape]
        base = max(row["cell_steps_per_s"] for row in own if row["scheme"] == "one_step")
        lines += [
            [shape, label(row), giga(row["cell_steps_per_s"]), f"{row['cell_steps_per_s'] / base:.2f}"]
            for row in sorted(own, key=lambda row: (SCHEMES.index(row["scheme"]), len(row["choice"])))
        ]
    study = read("h200/ten_thousand")
    for run, when in ((study, "kernels compiled on the way"), (study["again"], "kernels cached")):
        lines.append([
            " x ".join(map(str, study["lattice"])), f"whole study, `{study['device']['scheme']}`, {when}",
            f"**{giga(run['cell_steps_per_s'])}**", "",
        ])  # fmt: skip
    return table(["cells", "264 antennas, everything on", "G cell-steps/s", "over the faster `one_step`"], lines)


def by_lattice() -> str:
    """Return rates of every scheme on every timed lattice."""
    found: dict[str, dict[str, float]] = {}
    for row in rows("h200/schemes"):
        found.setdefault(cells(row), {})[label(row)] = row["cell_steps_per_s"]
    columns = ["`wavefront`", "`resident`", "`trapezoidal`", *(f"`one_step`, {n} a step" for n in FORMS)]
    lines = []
    for shape, rates in found.items():
        best = max(rates.values())
        shown = [giga(rates[name]) if name in rates else "does not fit" for name in columns]
        shown = [f"**{text}**" if rates.get(name) == best else text for name, text in zip(columns, shown, strict=True)]
        base = max(rate for name, rate in rates.items() if name.startswith("`one_step`"))
        lines.append([shape, *shown, f"{best / base:.1f}"])
    return table(["cells", *columns, "best over the faster `one_step`"], lines)


def wide_table() -> str:
    """Return rates of lattices wider than 266 columns, before and now, and of what they must not have slowed down."""
    found: dict[tuple[str, int], dict[tuple[str, str], Row]] = {}
    for row in [*rows("h100/wide"), *rows("h200/wide")]:
        kind = row["scheme"] if row["scheme"] == "one_step" or not row["choice"] else "before"
        if "shape" not in row["choice"]:
            found.setdefault((cells(row), row["batch"]), {})[kind, row["device"].split()[1]] = row
    lines = []
    for (shape, batch), rates in found.items():
        shown = [giga(rates[kind, card]["cell_steps_per_s"]) if (kind, card) in rates else ""
                 for kind in ("one_step", "before", "trapezoidal") for card in ("H100", "H200")]  # fmt: skip
        plan = rates["trapezoidal", "H100"]["plan"]
        lines.append([shape, str(batch), *shown, f"{plan['segments'] or 1} of {plan['cells']} cells a lane",
                      str(plan["cluster"]), str(plan["depth"])])  # fmt: skip
    heads = [f"{name}, {card}" for name in ("`one_step`", "before", "now") for card in ("H100", "H200")]
    return table(["cells", "lenses", *heads, "segments", "blocks a tile", "steps a launch"], lines)


def narrow() -> str:
    """Return rates of lattices of up to 128 columns: `wavefront`, `resident` in at most twelve warps, and as it is."""
    found: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows("h200/narrow"):
        kind = {"{}": row["scheme"], "{'warps': 12}": "before"}.get(str(row["plan"]))
        if kind and not row["without"]:
            found.setdefault((row["lattice"].replace("ten_thousand", "`ten_thousand`"), cells(row)), {})[kind] = row
    lines = []
    for (name, shape), rates in found.items():
        shown = []
        for kind in ("wavefront", "before", "resident"):
            text = giga(rates[kind]["cell_steps_per_s"])
            shown.append(f"**{text}**" if rates[kind]["chosen"] else text)
        lines.append([name, shape, *shown, str(rates["resident"]["cluster"]), str(rates["resident"]["at_once"])])
    heads = ["`wavefront`", "`resident`, twelve warps at most", "`resident`, now"]
    return table(["antennas", "cells", *heads, "blocks", "antennas at a time"], lines)


def metal_table() -> str:
    """Return rates of random antennas with metal, by scheme and by the coefficients that rows keep on chip."""
    columns = {
        "`wavefront`": ("wavefront", ""), "`resident`, all kept": ("resident", "all"),
        "`resident`, by need": ("resident", "by need"), "`trapezoidal`, all kept": ("trapezoidal", "all"),
        "`trapezoidal`, by need": ("trapezoidal", "by need"),
    }  # fmt: skip
    found: dict[tuple[str, str], dict[tuple[str, str], Row]] = {}
    for row in rows("h200/metal"):
        found.setdefault((row["experiment"], cells(row)), {})[row["scheme"], row["kept"]] = row
    lines = []
    for (name, shape), rates in found.items():
        shown = []
        for key in columns.values():
            row = rates.get(key)
            text = "" if row is None else giga(row["cell_steps_per_s"])
            shown.append(f"**{text}**" if row and row["chosen"] and row["kept"] != "all" else text)
        lines.append([f"`{name}`", shape, *shown])
    return table(["experiment", "cells", *columns], lines)


def parts_table() -> str:
    """Return rates of kernels with parts left out."""
    parts = {(): "", ("layers",): "", ("record",): "", ("media",): "", ("layers", "record", "media"): ""}
    move = ("layers", "record", "media", "arithmetic")
    own = [row for row in rows("h200/kernels") if row["stencil"] == "bor"]
    lines = []
    for batch in dict.fromkeys(row["batch"] for row in own):
        rates = {(label(row), tuple(row["without"])): row["cell_steps_per_s"] for row in own if row["batch"] == batch}
        base = max(rate for (name, left), rate in rates.items() if "one_step" in name and not left)
        for name in dict.fromkeys(name for name, _ in rates):
            whole, bare = rates[name, ()], rates.get((name, ("layers",)))
            cost = "" if bare is None else f"{percent(1 - whole / bare)} / {percent(bare / whole - 1)}"
            shown = [giga(rates[name, part]) if (name, part) in rates else "" for part in (*parts, move)][1:]
            lines.append([str(batch), name, f"{giga(whole)} ({whole / base:.2f} x)", shown[0], cost, *shown[1:]])
    header = ["antennas", "scheme", "everything", "no layers", "layers cost", "no records", "air"]
    return table([*header, "update only", "memory only"], lines)


def planar_table() -> str:
    """Return the best choice of each planar scheme; those without rows of `gpu_planar.py` are of `bench kernels`."""
    schemes = ("one_step", "trapezoidal", "skewed", "resident")
    timed: dict[tuple[str, str, int], dict[str, tuple[float, float, str]]] = {}
    for source, mark in (("h200/planar", ""), ("h200/kernels", " \\*")):
        own = [row for row in rows(source) if row["stencil"] != "bor" and not row.get("without")]
        for row in own:
            case = (row["stencil"], cells(row), row["batch"])
            here = timed.setdefault(case, {})
            base = max(
                (one["cell_steps_per_s"] for one in own if one["scheme"] == "one_step"
                 and (one["stencil"], cells(one), one["batch"]) == case),
                default=0.0,
            )  # fmt: skip
            known = here.get(row["scheme"])
            if known is None or (known[2] == mark and known[0] < row["cell_steps_per_s"]):
                here[row["scheme"]] = (row["cell_steps_per_s"], row["cell_steps_per_s"] / base if base else 0.0, mark)
    lines = []
    for (stencil, shape, batch), found in timed.items():
        best = max(rate for rate, _, _ in found.values())
        shown = []
        for scheme in schemes:
            if scheme not in found:
                shown.append("does not fit")
                continue
            rate, ratio, mark = found[scheme]
            text = f"{rate / 1e9:,.0f}" + (f" ({ratio:.1f} x)" if scheme != "one_step" else "") + mark
            shown.append(f"**{text}**" if rate == best else text)
        lines.append([f"`{stencil}`, {shape}, {batch}", *shown])
    return table(["stencil, lattice, batch", *schemes], lines)
