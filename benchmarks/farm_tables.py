"""Tables of docs/performance.md about farms: costs of a run without solving, whole commands, workers, devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from stored_rows import cells, giga, percent, read, rows
from validation_tables import table


def workers_table(name: str) -> str:
    """Return rates of `bench farm`, by workers and policy."""
    lines = [
        [
            cells(row), row["combination"], row["policy"], f"{row['antennas_per_s']:.3g} (+-{row['spread']:.0%})",
            percent(row["stepping_share"]), "best" if row["best"] else "",
        ]
        for row in rows(name)
    ]  # fmt: skip
    return table(["cells", "workers x threads", "policy", "antennas/s", "stepping", ""], lines)


def overhead_table() -> str:
    """Return the costs of a run without solving."""
    nothing, asleep = (
        next(row for row in rows("cpu/farm_overhead") if row["case"] == case)
        for case in ("nothing is stepped", "stepping")
    )
    lines = [
        ["evaluations/s, nothing to solve", "at least 4,000", f"{nothing['evaluations_per_s']:,.0f}"],
        [
            f"what the processor time of an evaluation allows: {nothing['driver_us']:.0f} us driver, "
            f"{nothing['workers_us']:.0f} us workers", "", f"{nothing['allowed_per_s']:,.0f}/s",
        ],
        [
            "seconds a generation that stepping does not hide, workers asleep as if a device stepped", "at most 0.13",
            f"{asleep['seconds_beside']:.3f}",
        ],
        [
            f"growth of the driver's memory, {nothing['evaluations']:,} evaluations, from a tenth of them on",
            "at most 10 %",
            f"{nothing['memory_growth']:.1%}",
        ],
    ]  # fmt: skip
    return table(["", "goal", f"{nothing['device']}, {nothing['workers']} workers"], lines)


def compared_table() -> str:
    """Return the rates of earlier commits and of another machine, each run by itself."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in rows("cpu/farm_overhead"):
        if "evaluations_per_s" in row:
            runs = found.setdefault((row["commit"][:7], row.get("reply", "94 kB")), {})
            runs.setdefault(row["machine"], []).append(f"{row['evaluations_per_s']:,.0f}")
    machines = sorted({machine for runs in found.values() for machine in runs})
    lines = [
        [f"`{commit}`", reply, *(", ".join(runs.get(machine, ())) for machine in machines)]
        for (commit, reply), runs in found.items()
    ]
    return table(["commit", "patterns of a batch", *machines], lines)


def _rate(row: Mapping[str, Any]) -> str:
    """Return antennas a second, with the spread where there was more than one generation."""
    spread = f" (+-{row['spread']:.1%})" if len(row["generation_seconds"]) > 1 else ""
    return f"{row['antennas_per_s']:.0f}{spread}"


def devices_table() -> str:
    """Return rates of whole studies on several devices of a host."""
    lines = []
    for name in ("farm", "farm_resident", "farm_two_devices", "farm_four_devices_2112", "farm_four_devices_8448"):
        found = read(f"h200/{name}")
        commit = found.get("commit", "older")
        for row in found["results"]:
            beside = row.get("seconds_beside_busiest")
            lines.append([
                f"[{commit}](../results/benchmarks/h200/{name}.json), `{row.get('scheme', 'wavefront')}`",
                str(row["workers"]), _rate(row), f"{row['ratio']:.2f}",
                percent(row["stepping_share"]) if "stepping_share" in row else "",
                f"{beside[1]:.2f}" if beside else "",
                "equal" if not found["rows_that_differ_by_column"].get(str(row["workers"])) else "one figure differs",
            ])  # fmt: skip
    header = [
        "commit, scheme",
        "devices",
        "antennas/s",
        "over one",
        "stepping",
        "s of the second generation not stepped",
    ]
    return table([*header, "rows and patterns"], lines)


def generation_table() -> str:
    """Return the parts of a generation's seconds on one device and on two."""
    one, two = (read("h200/farm_two_devices")["of_a_generation_s"][count] for count in ("1", "2"))
    lines = [
        [name.replace("_", " "), *(f"{value:.2f}" for value in (first, first / 2, second, second - first / 2))]
        for name in two for first, second in [(one.get(name, 0.0), two[name])]
    ]  # fmt: skip
    return table(["s of a generation", "one device", "half of it", "two devices", "lost"], lines)


def gaps_table() -> str:
    """Return the parts of a generation in which a device does not step, before and after, by sizes of batches."""
    lines = [
        [
            row["code"],
            str(row["processes"]),
            sizes_text(row["sizes"]),
            *(f"{row[name]:.0f}" for name in ("wall", "stepped")),
            percent(row["share"]),
            *(f"{ms:.0f}" for ms in (row["bred"] + row["returned"], row["prepared"], row["transformed"])),
            f"{row['wall_over_before'] - 1:+.0%}",
        ]
        for row in rows("h200/study_gaps")
        if row["case"] == "generation"
    ]
    heads = ["", "processes", "antennas a batch", "ms", "stepped, ms", "share", "no batch, ms"]
    return table([*heads, "first prepared, ms", "last transformed, ms", "time"], lines)


def sizes_text(sizes: Sequence[int]) -> str:
    """Return sizes of batches, equal ones that follow each other as a product."""
    counted = [(size, len(list(alike))) for size, alike in groupby(sizes)]
    return ", ".join(str(size) if count == 1 else f"{count} x {size}" for size, count in counted)


def commands_table() -> str:
    """Return the wall time of whole commands, before and after."""
    lines = [
        [
            row["code"],
            str(row["processes"]),
            *(f"{row[name]:.1f}" for name in ("wall_seconds", "start", "search_seconds", "finish")),
        ]
        for row in rows("h200/study_gaps")
        if row["case"] == "command"
    ]
    return table(["", "processes", "whole, s", "until workers are there", "search", "after certificates"], lines)


def whole_studies(name: str) -> str:
    """Return what the study takes by the rows of a file: `bench study`, then whole commands."""
    lines = []
    for row in rows(name):
        split = "wall_seconds" in row
        seconds = row["wall_seconds"]["search"] if split else row["search_seconds"]
        lines.append([
            f"`{row['command'].split(' --backend')[0].split()[1]}`, {row['antennas']:,} antennas, "
            f"kernels {row['kernels']}",
            f"{row['antennas_per_s']:.0f}" if split else f"{row['antennas'] / seconds:.0f}",
            f"{row['steps']:.0f}" if split else "",
            giga(row["cell_steps_per_s"]),
            percent(row["worker_share"]["step"] if split else row["stepping_fraction"]),
            f"{seconds:.1f}",
            f"{sum(row['wall_seconds'].values()) if split else row['whole_seconds']:.1f}",
            row["commit"],
        ])  # fmt: skip
    heads = ["", "antennas/s", "steps", "G cell-steps/s", "stepping", "search, s", "whole, s", "commit"]
    return table(heads, lines)
