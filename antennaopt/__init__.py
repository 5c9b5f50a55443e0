"""A genetic-algorithm antenna optimiser whose fitness function is an FDTD solver.

    import antennaopt as ao

    lens = ao.load("lens.toml")
    outcome = ao.simulate(lens, cell="0.3 mm")
    print(outcome.results[0].directivity_dbi)

Everything is imported when it is first used, so that `simulate` loads neither the search nor the farm.
"""

# pyright: reportUnsupportedDunderAll=false
from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    **dict.fromkeys(
        ("Antenna", "Outcome", "Run", "load", "open_run", "optimise", "plot", "simulate", "to_xarray"), "interface"
    ),
    **dict.fromkeys(
        (
            "AntennaoptError",
            "ClusterError",
            "ConfigurationError",
            "Interrupted",
            "ResumeRefusedError",
            "RunInUseError",
            "StorageError",
            "TooManyFailuresError",
        ),
        "errors",
    ),
    "Experiment": "experiment",
}

__all__ = [
    "Antenna",
    "AntennaoptError",
    "ClusterError",
    "ConfigurationError",
    "Experiment",
    "Interrupted",
    "Outcome",
    "ResumeRefusedError",
    "Run",
    "RunInUseError",
    "StorageError",
    "TooManyFailuresError",
    "families",
    "load",
    "metrics",
    "open_run",
    "optimise",
    "plot",
    "simulate",
    "to_xarray",
]


def __getattr__(name: str) -> Any:
    if name in ("families", "metrics"):
        return import_module(f"antennaopt.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"antennaopt.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
