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

from antennaopt import errors

__version__ = "0.1.0"

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
    "Simulation",
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


_EARLIER = {"Outcome": "Simulation"}
"""Earlier names of what `simulate` and others return; both work."""


def __getattr__(name: str) -> Any:
    name = _EARLIER.get(name, name)
    if name in ("families", "metrics"):
        return import_module(f"antennaopt.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "errors" if hasattr(errors, name) else "experiment" if name == "Experiment" else "interface"
    return getattr(import_module(f"antennaopt.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
