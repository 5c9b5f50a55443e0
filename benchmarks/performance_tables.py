"""Write the tables of speed in README and in docs/performance.md, from the rows of results/benchmarks.

    python benchmarks/performance_tables.py

`python benchmarks/validation.py` writes them too. A table stands between the comments `measured: NAME` and `end`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from device_tables import lattice_devices, study_devices, yield_generation, yield_rounds, yield_share
from farm_tables import (
    commands_table,
    compared_table,
    devices_table,
    gaps_table,
    generation_table,
    overhead_table,
    whole_studies,
    workers_table,
)
from kernel_tables import by_lattice, by_scheme, kernels, metal_table, narrow, parts_table, planar_table, wide_table
from space_tables import cavity_table, others_table, space_table, tuning_table
from stored_rows import Row, cells, giga, percent, read, rows
from validation_tables import table

ROOT = Path(__file__).resolve().parents[1]
README, PAGE = ROOT / "README.md", ROOT / "docs" / "performance.md"
STUDY = "`antennaopt run experiments/ten_thousand.toml`"


def speed() -> str:
    """Return rates of kernels, antennas and a study, on a core and on a device."""
    core = max((row for row in rows("cpu/kernels_float32") if row["scheme"] == "skewed"), key=_size)
    alone, device = rows("cpu/evaluate_reference_lens")[-1], rows("h200/evaluate")[-1]
    kernel = max((row for row in kernels() if _size(row) == _size(device)), key=lambda row: row["cell_steps_per_s"])
    plain = max(
        row["cell_steps_per_s"] for row in kernels() if _size(row) == _size(device) and row["scheme"] == "one_step"
    )
    lattice = " x ".join(map(str, read("h200/ten_thousand")["lattice"]))
    latest = rows("h200/study")
    lines = [
        ["fields, 10^9 cell-steps per second", cells(core), f"{core['cell_steps_per_s'] / 1e9:.2f}",
         giga(kernel["cell_steps_per_s"])],
        ["the same, over the faster kernel without time tiling", cells(device), "",
         f"{kernel['cell_steps_per_s'] / plain:.2f} x"],
        ["the same, over the stepping of the whole study below", lattice, "",
         giga(statistics.median(row["cell_steps_per_s"] for row in latest))],
        [f"antennas of {device['steps']} steps per second", cells(device), f"{alone['antennas_per_s']:.2f}",
         f"{device['antennas_per_s']:.0f}"],
        ["study of 10,000 lenses, the whole command, kernels in the cache", lattice, "",
         f"{statistics.median(sum(row['wall_seconds'].values()) for row in latest):.0f} s"],
    ]  # fmt: skip
    return table(["what", "cells", f"one core, {core['device']}", "one NVIDIA H200"], lines)


def _size(row: Row) -> int:
    return row["shape"][0] * row["shape"][1]


def fast_cpu() -> str:
    """Return figures of one core."""
    bare = {tuple(row["shape"]): row for row in rows("cpu/kernels_float32_xeon") if row["scheme"] == "skewed"}
    lines = [
        [
            f"update with layers, source, port and records, {cells(row)} cells, float32, one core ({row['device']})",
            f"{row['cell_steps_per_s'] / 1e6:.0f} M cell-steps/s (spread {row['spread']:.1%})",
            "`antennaopt bench kernels`",
        ]
        for row in bare.values()
    ]
    for row in rows("cpu/evaluate_reference_lens"):
        stepping = row["shape"][0] * row["shape"][1] * row["steps"] / row["stage_seconds"]["step"]
        lines.append([
            f"whole antennas, {cells(row)} cells, {row['steps']} steps, one core ({row['device']})",
            f"{row['antennas_per_s']:.2f} antennas/s (spread {row['spread']:.1%}), stepping at {stepping / 1e6:.0f} M",
            "`antennaopt bench evaluate`",
        ])  # fmt: skip
    lines += [
        [
            f"update in space, {cells(row)} cells with layers of {row['layers']}, {row['dtype']}, one core "
            f"({row['device']})",
            f"{row['cell_steps_per_s'] / 1e6:.0f} M cell-steps/s (spread {row['spread']:.1%}), the fastest of "
            f"{row['timings']} timings {row['fastest_cell_steps_per_s'] / 1e6:.0f} M",
            f"`antennaopt bench sweep --stencil yee3d --size {row['shape'][0]} --layers {row['layers']}`",
        ]
        for row in rows("cpu/sweep_space")
        if row["layers"]
    ]
    searches = rows("cpu/search_quickstart")
    seconds = [row["ga_seconds"] for row in searches]
    least, most = _span(seconds)
    lines.append([
        f"quickstart, {searches[0]['ga_evaluations']} antennas, the search alone "
        f"({searches[0]['machine']}, {searches[0]['cores']} cores)",
        f"{statistics.median(seconds):.1f} s, median of {len(seconds)} seeds; {least:.1f} to {most:.1f} s",
        f"`antennaopt bench search --seeds {len(seconds)}`",
    ])  # fmt: skip
    return table(["what", "figure", "command"], lines)


def fast_device() -> str:
    """Return figures of one device: the study first, then its parts."""
    study = read("h200/ten_thousand")
    what = (
        f"{study['evaluations']:,} shaped lenses evolved on {' x '.join(map(str, study['lattice']))} cells, three "
        "frequencies, with certificates and report"
    )
    lines = [
        [
            named,
            f"{run['wall_seconds']:.0f} s, {run['search_seconds']:.1f} s of it search; "
            f"**stepping at {giga(run['cell_steps_per_s'])} G cell-steps/s** for {percent(run['stepping_fraction'])}",
            command,
        ]
        for run, named, command in (
            (study, f"{what}; no kernel compiled", STUDY),
            (study["again"], "the same, kernels cached", "the same, `--no-cache`"),
        )
    ]
    large, searched = (next(row for row in rows("h200/hundred_thousand") if row["name"] == name)
                       for name in ("study", "yield"))  # fmt: skip
    lines += [
        [
            f"{row['antennas']:,} of the same lenses{more}",
            f"{row['wall_seconds']:.0f} s, {row['search_seconds']:.0f} s of it search; stepping at "
            f"{giga(row['cell_steps_per_s'])} G for {percent(row['stepping_fraction'])}",
            f"`{row['command']}`",
        ]
        for row, more in (
            (large, ", 2,112 a generation; kernels cached"),
            (searched, f" searched for their yield, with {searched['samples']:,} made samples of the promising ones"),
        )
    ]
    best = rows("h200/evaluate")[-1]
    rate = best["shape"][0] * best["shape"][1] * best["steps"] / best["stage_seconds"]["step"]
    lines.append([
        f"whole antennas, {cells(best)} cells, {best['steps']} steps each, `{best['scheme']}`",
        f"{best['antennas_per_s']:.0f} antennas/s (spread {best['spread']:.1%}), stepping at {giga(rate)} G",
        "`antennaopt bench evaluate --backend cuda`",
    ])  # fmt: skip
    both, patches = rows("h200/evaluate_patch"), rows("h200/ten_thousand_patches")
    lines += [
        [
            f"{'whole' if patch['parts'] == 1 else 'halves of'} patches, {cells(patch)} cells, {patch['steps']} steps "
            f"each, `{patch['scheme']}`, {patch['processes']} processes",
            f"{patch['antennas_per_s']:.0f} antennas/s (spread {patch['spread']:.1%})",
            "`antennaopt bench evaluate --family patch --backend cuda`",
        ]
        for patch in both
    ]
    lines += [
        [
            f"{patches[0]['antennas']:,} patches evolved, with certificates and report, the whole command",
            "; ".join(
                f"kernels {row['kernels']}: {row['wall_seconds']:.0f} s, {row['search_seconds']:.0f} s of it search"
                for row in patches
            ),
            f"`{patches[0]['command']}`",
        ],
    ]
    farm = read("h200/farm_four_devices_8448")
    rates = " and ".join(f"{row['antennas_per_s']:.0f}" for row in farm["results"])
    lines.append([
        f"study of lenses of 256 x 320 cells, {farm['population']:,} a generation, on 1 and 4 devices",
        f"{rates} antennas/s, {farm['results'][-1]['ratio']:.2f} x" + (", rows equal to the bit" * farm["same_bits"]),
        "`python benchmarks/device_farm.py FOLDER`",
    ])  # fmt: skip
    for shape in dict.fromkeys(cells(row) for row in kernels()):
        own = [row for row in kernels() if cells(row) == shape]
        base = max(row["cell_steps_per_s"] for row in own if row["scheme"] == "one_step")
        fast = sorted((row for row in own if row["scheme"] != "one_step"), key=lambda row: -row["cell_steps_per_s"])
        shown = ", ".join(
            f"{giga(row['cell_steps_per_s'])} G (`{row['scheme']}`, {row['cell_steps_per_s'] / base:.1f} x)"
            for row in fast
        )
        lines.append([
            f"kernels alone, 264 equal antennas of {shape} cells",
            f"{shown}; `one_step` {giga(base)} G, the faster of its two forms",
            "`antennaopt bench kernels --backend cuda`",
        ])  # fmt: skip
    return table(["what", "figure", "command"], lines)


def whole_antennas() -> str:
    """Return rates of `bench evaluate` on a device."""
    header = ["scheme", "commit", "antennas/s", "stepping, of the wall time", "G cell-steps/s while stepping"]
    header += ["ms an antenna: rasterise, transform, waiting"]
    commit = (read("h200/evaluate") or {}).get("commit") if isinstance(read("h200/evaluate"), dict) else None
    lines = []
    for row in rows("h200/evaluate"):
        rate = row["shape"][0] * row["shape"][1] * row["steps"] / row["stage_seconds"]["step"]
        spent = ", ".join(f"{1e3 * row['stage_seconds'][name]:.2f}" for name in ("rasterise", "transform", "wait"))
        lines.append([
            f"`{row['scheme']}`", (commit or row.get("commit") or row.get("stored_by") or "not stored")[:7],
            f"{row['antennas_per_s']:.0f} (+-{row['spread']:.1%})", percent(row["stepping_share"]), giga(rate), spent,
        ])  # fmt: skip
    return table(header, lines)


def study_table() -> str:
    """Return the parts of the study's time."""
    study = read("h200/ten_thousand")
    runs = [study, study["again"]]

    def line(name: str, text: Callable[[Row], str]) -> list[str]:
        return [name, *map(text, runs)]

    lines = [
        line("start to end, s", lambda run: f"{run['wall_seconds']:.1f}"),
        line("search, s", lambda run: f"{run['search_seconds']:.1f}"),
        line("certificates of the ten best, s", lambda run: f"{run['certificate_seconds']:.1f}"),
        line("first generation, s", lambda run: f"{run['generation_seconds'][0]:.1f}"),
        line("the next eight, s", lambda run: "{:.2f} to {:.2f}".format(*_span(run["generation_seconds"][1:9]))),
        line("stepping, of the search", lambda run: percent(run["stepping_fraction"])),
        line("G cell-steps/s while stepping", lambda run: f"**{giga(run['cell_steps_per_s'])}**"),
    ]
    return table([f"{study['evaluations']:,} antennas", "no kernel compiled", "kernels cached"], lines)


def split_table() -> str:
    """Return where the wall time of the study goes, by `bench study`: medians of the runs of one call."""
    runs = sorted(rows("h200/study"), key=lambda row: row["antennas_per_s"])
    parts = ("wall_seconds", "driver_share", "worker_share")
    row = runs[0] | {part: {name: statistics.median(one[part][name] for one in runs) for name in runs[0][part]}
                     for part in parts}  # fmt: skip
    row |= {
        name: statistics.median(one[name] for one in runs) for name in ("cell_steps_per_s", "kernel_cell_steps_per_s")
    }
    whole = sum(row["wall_seconds"].values())
    lines = [
        [f"command: {name.replace('_', ' ')}", f"{seconds:.1f} s", percent(seconds / whole)]
        for name, seconds in row["wall_seconds"].items()
    ]
    for name, part in (("driver", "driver_share"), ("device", "worker_share")):
        lines += [[f"search, {name}: {what}", "", percent(share)] for what, share in row[part].items() if share > 0.005]
    rate, kernel = row["cell_steps_per_s"], row["kernel_cell_steps_per_s"]
    rates = ", ".join(f"{one['antennas_per_s']:.0f}" for one in runs)
    these = "run" if len(runs) == 1 else f"{len(runs)} runs whose medians these are"
    lines.append([f"antennas/s of the {these}", rates, ""])
    lines.append([f"rate while stepping; `{row['kernel_scheme']}` alone on this lattice {giga(kernel)} G",
                  f"{giga(rate)} G", ""])  # fmt: skip
    return table([f"commit {row['commit'][:7]}", "", "share"], lines)


def cache_table() -> str:
    """Return antennas/s with the evaluation cache and without it, each run of a call."""
    found: dict[tuple[str, int, int], dict[str, list[str]]] = {}
    for row in rows("h200/evaluation_cache"):
        one = found.setdefault((row["commit"], row["workers"], row["population"]), {})
        one.setdefault(row["cache"], []).append(f"{row['antennas_per_s']:,.0f}")
    lines = [
        [commit, str(workers), f"{population:,}", ", ".join(one["off"]), ", ".join(one["on"])]
        for (commit, workers, population), one in found.items()
    ]
    return table(["commit", "devices", "antennas a generation", "without", "with the cache"], lines)


def first_run_table() -> str:
    """Return where the wall time of the study goes on a machine without compiled kernels."""
    (row,) = rows("h200/study_first")
    parts = row["wall_seconds"]
    lines = [[name.replace("_", " "), f"{seconds:.1f} s"] for name, seconds in parts.items()]
    lines += [["whole command", f"{sum(parts.values()):.1f} s"],
              ["generations 2 to 10", f"{row['antennas_per_s']:.0f} antennas/s"],
              ["rate while stepping", f"{giga(row['cell_steps_per_s'])} G"]]  # fmt: skip
    return table([f"{row['device']}, commit {row['commit']}", "no kernel compiled"], lines)


def families_table() -> str:
    """Return speed and share of rasterising of populations of each family, and horns against lenses."""
    *own, both = rows("h200/families")
    lines = [
        [f"`{row['family']}`", "{} x {}".format(*row["grid"]), f"{row['antennas_per_s']:.0f}",
         f"{1e3 * row['stage_seconds']['rasterise']:.1f} ms",
         percent(row["stage_seconds"]["rasterise"] / row["seconds"])]
        for row in own if row["batch"] == both["batch"]
    ]  # fmt: skip
    horns, lenses = both["cell_steps_per_s"].values()
    lines.append(["corrugated horns and hemispherical lenses on one lattice", "{} x {}".format(*both["lattice"]),
                  f"{giga(horns)} and {giga(lenses)} G cell-steps/s, {both['ratio']:.2f}", "", ""])  # fmt: skip
    return table([f"{both['batch']} different antennas", "cells", "antennas/s", "rasterising", "of the time"], lines)


def _span(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def agreement_table() -> str:
    """Return the results of `gpu_proof.py` other than fields."""
    found = read("h200/proof")
    records = ("fields", "port", "contour", "field_map", "energy")

    def worst(part: str, dtype: str, names: Sequence[str]) -> str:
        own = [row for row in found[part] if row["dtype"] == dtype and "refused" not in row]
        return _small(max(row[name] for row in own for name in names if name in row))

    lines = [[
        "every scheme of every stencil against its oracle, float64, on small lattices",
        f"{worst('oracle', 'float64', records)} in float64, {worst('oracle', 'float32', records)} in float32",
    ]]  # fmt: skip
    ports = "lenses at cells of 0.2 and 0.1 mm, where the port has 18 and 36 columns: port and S11 against the CPU"
    shown = "not measured yet"
    if "ports" in found:
        shown = ", ".join(f"{worst('ports', real, ('port', 's11'))} in {real}" for real in ("float64", "float32"))
    lines.append([ports, shown])
    same = all(row["again"] and row["alone"] for row in found["bits"] if "refused" not in row)
    same = same and all(row["alone_equals_in_batch"] and row["in_parts_side_by_side"] for row in found["figures"])
    bits = "bits: a batch again, an antenna alone and in a batch, batches side by side"
    lines.append([bits, "equal" if same else "**differ**"])
    own = found["figures"]
    antennas = f"{sum(row['compared'] for row in own)} random antennas of four families against the CPU"
    for kind, unit in (("worst_db", " dB"), ("worst", "")):
        for name in own[0][kind]:
            most = max(row[kind][name] for row in own)
            lines.append([f"{antennas}: `{name}`", f"{_small(most)}{' deg' if name.endswith('deg') else unit}"])
    lines.append([f"{antennas}: complex S11", _small(max(row["worst_s11"] for row in own))])
    return table([f"commit {(found.get('commit') or 'not stored')[:7]}", "largest difference"], lines)


def proof_table() -> str:
    """Return the differences of the schemes from `one_step` and from float64, by both norms."""
    found = read("h200/proof")["fields"]
    columns = {
        "noise": ("bor", "noise", "diagonal"), "pulse": ("bor", "pulse", "diagonal"),
        "noise, coupled nodes": ("bor", "noise", "full"), "pulse, coupled nodes": ("bor", "pulse", "full"),
        "`tmz`, noise": ("tmz", "noise", "diagonal"), "`tez`, noise": ("tez", "noise", "diagonal"),
        "sums, noise": ("jacobi5", "noise", "diagonal"),
    }  # fmt: skip
    names = {"trapezoidal": "`trapezoidal`", "resident": "`resident`", "whole_step": "`one_step` in one launch"}
    names |= {"wavefront": "`wavefront`", "skewed": "`skewed`"}
    by = {(row["stencil"], row["start"], row["surfaces"], row["scheme"]): row for row in found}

    def both(row: Row | None, norm: str) -> str:
        if row is None:
            return ""
        return "refused" if "refused" in row else f"{_small(row[norm])} / {_small(row[f'{norm}_at_the_end'])}"

    lines = [
        [name, *(both(by.get((*case, scheme)), "from_one_step") for case in columns.values())]
        for scheme, name in names.items()
    ]
    worst = []
    for case in columns.values():
        own = [row for (*which, _), row in by.items() if tuple(which) == case and "refused" not in row]
        norms = ("from_float64", "from_float64_at_the_end")
        worst.append(" / ".join(_small(max(row[norm] for row in own)) for norm in norms))
    return table(["from `one_step`", *columns], [*lines, ["all of them from float64, at most", *worst]])


def _small(value: float) -> str:
    return "0" if value == 0 else f"{value:.1e}".replace("e-0", "e-")


def best_table() -> str:
    """Return the study's best antenna, and the best of its random first generation."""
    study = read("h200/ten_thousand")
    lines = [
        [name, f"{found['directivity_dbi']:.2f}", f"{found['s11_db']:.2f}", f"{found['sidelobe_db']:.2f}"]
        for name, found in (
            ("best of the random first generation", study["best_of_first_generation"]), ("best of all", study["best"])
        )
    ]  # fmt: skip
    return table(["worst of the band", "directivity (dBi)", "S11 (dB)", "side lobes (dB)"], lines)


BLOCKS: dict[tuple[Path, str], Callable[[], str]] = {
    (README, "speed"): speed,
    (PAGE, "fast on a core"): fast_cpu,
    (PAGE, "fast on a device"): fast_device,
    (PAGE, "ten thousand"): best_table,
    (PAGE, "schemes"): by_scheme,
    (PAGE, "schemes by lattice"): by_lattice,
    (PAGE, "narrow lattices"): narrow,
    (PAGE, "wide lattices"): wide_table,
    (PAGE, "metal"): metal_table,
    (PAGE, "whole antennas"): whole_antennas,
    (PAGE, "study"): study_table,
    (PAGE, "split"): split_table,
    (PAGE, "long step"): partial(whole_studies, "h100/study_long_step"),
    (PAGE, "ordered"): partial(whole_studies, "h100/study_ordered"),
    (PAGE, "gaps"): gaps_table,
    (PAGE, "commands"): commands_table,
    (PAGE, "yield share"): yield_share,
    (PAGE, "yield generation"): yield_generation,
    (PAGE, "yield rounds"): yield_rounds,
    (PAGE, "study on devices"): study_devices,
    (PAGE, "evaluation cache"): cache_table,
    (PAGE, "first run"): first_run_table,
    (PAGE, "families"): families_table,
    (PAGE, "agreement"): agreement_table,
    (PAGE, "proof"): proof_table,
    (PAGE, "parts"): parts_table,
    (PAGE, "farm overhead"): overhead_table,
    (PAGE, "farm compared"): compared_table,
    (PAGE, "workers on cores"): partial(workers_table, "cpu/farm"),
    (PAGE, "devices"): devices_table,
    (PAGE, "generation"): generation_table,
    (PAGE, "workers on a device"): partial(workers_table, "h200/farm_workers"),
    (PAGE, "planar"): planar_table,
    (PAGE, "antennas in space"): space_table,
    (PAGE, "tuning in space"): tuning_table,
    (PAGE, "lattice on devices"): lattice_devices,
    (PAGE, "closed cavity"): cavity_table,
    (PAGE, "other solvers"): others_table,
}


def between(text: str, name: str, made: str) -> str:
    """Return a page's text with what stands between two of its comments replaced."""
    before, rest = text.split(f"<!-- measured: {name} -->\n", 1)
    return f"{before}<!-- measured: {name} -->\n{made}\n<!-- end -->{rest.split('<!-- end -->', 1)[1]}"


def write() -> None:
    """Write all tables."""
    for (path, name), make in BLOCKS.items():
        path.write_text(between(path.read_text("utf-8"), name, make()), "utf-8")


if __name__ == "__main__":
    write()
