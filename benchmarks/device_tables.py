"""Tables of what devices do: a study of many antennas, one for its yield, and one large lattice on several."""

from __future__ import annotations

from statistics import median

from stored_rows import cells, giga, percent, rows
from validation_tables import table

TARGETS = {(256, 2): 1.7, (256, 4): 3.0, (512, 2): 1.9, (512, 4): 3.7}
"""Least ratio to one device, by side and number of devices."""


def study_devices() -> str:
    """Return what the study of ten thousand takes on 1, 2 and 4 devices, by the antennas of a generation."""
    found = rows("h200/study_devices")
    alone = {(row["population"], row["commit"]): row["antennas_per_s"] for row in found if row["workers"] == 1}
    lines = []
    for row in found:
        search, driver = row["wall_seconds"]["search"], 1 - row["driver_share"]["wait"]
        one = alone.get((row["population"], row["commit"]))
        lines.append([
            f"{row['population']:,}", str(row["workers"]), f"{row['antennas_per_s']:.0f}",
            f"{row['antennas_per_s'] / one:.2f}" if one else "", giga(row["cell_steps_per_s"]),
            percent(row["worker_share"]["step"]), percent(1 - row["worker_share"]["idle"]), percent(driver),
            f"{1e6 * driver * search / row['antennas']:.0f}", row["commit"],
        ])  # fmt: skip
    return table([
        "antennas a generation", "devices", "antennas/s", "over one", "G cell-steps/s of a device while stepping",
        "stepping", "time with a batch", "driver's thread at work", "that, us an antenna", "commit",
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


def yield_rounds() -> str:
    """Return antennas a second of a yield study against the same search without samples, on a made-up device."""
    found, lines = rows("cpu/yield_rounds"), []
    for name, slowness in dict.fromkeys((row["name"], row["slowness"]) for row in found):
        own = [row for row in found if (row["name"], row["slowness"]) == (name, slowness)]
        plain, sampled = ([row for row in own if bool(row["samples"]) == taken] for taken in (False, True))
        shares = [one["antennas_per_s"] / other["antennas_per_s"] for one, other in zip(sampled, plain, strict=True)]
        rates = (f"{median(row['antennas_per_s'] for row in part):.0f}" for part in (plain, sampled))
        lines.append([
            name, f"{slowness:g}", *rates,
            f"{median(shares):.1%} ({min(shares):.1%} to {max(shares):.1%})",
            percent(median(row["stepping_share"] for row in sampled)),
            f"{sampled[0]['solves'] / sampled[0]['candidates']:.2f}",
        ])  # fmt: skip
    return table([
        "", "driver's time counted", "antennas/s without samples", "of the yield study", "share",
        "time in which it steps", "solves a candidate",
    ], lines)  # fmt: skip


def yield_share() -> str:
    """Return the antennas a second of a yield study on a device, and of the same search without samples."""
    lines = []
    stored = rows("h200/yield_share")
    for plain, study in zip(stored[::2], stored[1::2], strict=True):
        lines.append([
            plain["commit"], f"{plain['antennas_per_s']:.0f}", f"{study['antennas_per_s']:.0f}",
            f"{study['antennas_per_s'] / plain['antennas_per_s']:.1%}",
            f"{plain['stepping_fraction']:.0%}, {study['stepping_fraction']:.0%}",
            f"{study['solves_a_candidate']:.2f}",
        ])  # fmt: skip
    header = ["commit", "antennas/s without samples", "of the yield study", "share", "time in which they step"]
    return table([*header, "solves a candidate"], lines)


def yield_generation() -> str:
    """Return where the time of a generation of a yield study went on a device, before rounds overlapped."""
    (study,) = (row for row in rows("h100/yield_share") if row["samples"])
    lines = []
    for number, one in list(enumerate(study["generations_split"]))[-3:]:
        rounds = zip(one["copies"], one["rounds_s"], strict=True)
        lines.append([
            str(number), f"{one['candidates_s']:.2f} s", ", ".join(f"{copies} in {s:.2f} s" for copies, s in rounds),
            f"{one['seconds']:.2f} s",
        ])  # fmt: skip
    return table(["generation", "1,056 candidates", "rounds of copies", "all"], lines)
