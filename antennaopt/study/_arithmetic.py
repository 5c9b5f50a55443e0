"""The arithmetic class of a run: within one, the same experiment gives the same bits; in another it may not.

Backend, precision, scheme, device and tile, the processor that computes where no device does, and the versions of the
packages that can change a bit. It stands in the manifest; a resume in another class says so and drops the claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from antennaopt.machine import installed, processor_name

PACKAGES = ("antennaopt", "numpy", "numba", "scipy", "deap", "cupy-cuda12x", "cupy-cuda13x")
"""Whose version can change a bit of a result."""

OF_DEVICE = ("scheme", "tile", "device")


def arithmetic_class(backend: str, precision: str | None, device: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what decides the bits besides the experiment, JSON-able.

    Args:
        backend: What solves.
        precision: As in the experiment.
        device: What the farm knows of its devices, None without.
    """
    known = device or {}
    return {
        "backend": backend,
        "precision": precision,
        **{name: known.get(name) for name in OF_DEVICE},
        "processor": None if device else processor_name(),
        "versions": installed(PACKAGES),
    }


def solving_backends(farm: Any, backend: str) -> str:
    """Return what a farm's workers solve with: `cpu+cuda` on mixed hardware, which is of no one class."""
    return "+".join(getattr(farm, "backends", ())) or backend


def is_mixed(farm: Any) -> bool:
    """Whether a farm's workers solve with several backends."""
    return len(getattr(farm, "backends", ())) > 1


def recorded_class(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's arithmetic class; of one begun with an earlier version, what its manifest tells of it.

    What is no table there tells nothing: the class then differs from any other, and a resume says so.
    """
    if isinstance(manifest.get("arithmetic"), dict):
        return manifest["arithmetic"]
    device, versions, machine = (_table(manifest, name) for name in ("device", "versions", "machine"))
    return {
        "backend": manifest.get("backend"),
        "precision": manifest.get("precision"),
        **{name: device.get(name) for name in OF_DEVICE},
        "processor": None if device else machine.get("processor"),
        "versions": {name: versions[name] for name in PACKAGES if name in versions},
    }


def class_changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what differs between two classes, each as `numpy 2.4.6 -> 2.5.0`; nothing when bits are the same."""
    before, after = ({**one, **_table(one, "versions")} for one in (then, now))
    names = [name for name in dict.fromkeys((*before, *after)) if name != "versions"]
    return [
        f"{name} {before.get(name) or 'none'} -> {after.get(name) or 'none'}"
        for name in names
        if before.get(name) != after.get(name)
    ]


def _table(of: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = of.get(name)
    return dict(value) if isinstance(value, Mapping) else {}
