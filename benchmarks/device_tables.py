"""Tables of what several devices of one host do: a study of many antennas, and one large lattice."""

from __future__ import annotations

from stored_rows import cells, giga, percent, read, rows
from validation_tables import table

TARGETS = {(256, 2): 1.7, (256, 4): 3.0, (512, 2): 1.9, (512, 4): 3.7}
"""Least ratio to one device, by side and number of devices."""


def study_devices() -> str:
    """Return what the study of ten thousand takes on 1, 2 and 4 devices."""
    found = rows("h200/study_devices")
    lines = []
    for row in found:
        parts, busy = row["wall_seconds"], 1 - row["worker_share"]["idle"]
        lines.append([
            str(row["workers"]), f"{row['antennas_per_s']:.0f}",
            f"{row['antennas_per_s'] / found[0]['antennas_per_s']:.2f}", f"{parts['search']:.1f} s",
            f"{sum(parts.values()):.1f} s", giga(row["cell_steps_per_s"]), percent(busy),
        ])  # fmt: skip
    return table([
        f"devices, commit {read('h200/study_devices')['commit']}", "antennas/s", "over one", "nine generations",
        "whole command", "G cell-steps/s of a device while stepping",
        "time with a batch",
    ], lines)  # fmt: skip


def lattice_devices() -> str:
    """Return rates of one lattice on 1, 2 and 4 devices."""
    lines = []
    for row in (row for card in ("h200", "h100") for row in rows(f"{card}/devices") if row["devices"]):
        target = TARGETS.get((row["shape"][0], row["devices"]))
        ratio = row["ratio_to_one_device"]
        met = "" if target is None else f"{target}: {'reached' if ratio >= target else 'missed'}"
        lines.append([
            row["device"].split()[1], cells(row), str(row["devices"]), ", ".join(map(str, row["planes"])),
            f"{giga(row['cell_steps_per_s'])} (+-{row['spread']:.1%})", f"{ratio:.2f}", met,
            "equal" if row["same_bits"] else "**differ**",
        ])  # fmt: skip
    return table(["card", "cells", "devices", "planes of each", "G cell-steps/s", "over one", "target", "bits"], lines)
