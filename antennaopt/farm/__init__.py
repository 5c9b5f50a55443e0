"""The farm: solve batches on worker processes, here or on other machines.

What other packages use is imported when it is first asked for: workers import this package, and the command line needs
little of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antennaopt.farm.clusters import ClusterSettings, description
    from antennaopt.farm.dask_pool import DaskFarm
    from antennaopt.farm.farm import PoolFarm, SerialFarm
    from antennaopt.farm.hosts import serve_scheduler, serve_workers
    from antennaopt.farm.interface import Farm, ForwardingFarm
    from antennaopt.farm.security import issue, security_for

_HOMES = {
    "clusters": ("ClusterSettings", "description"),
    "dask_pool": ("DaskFarm",),
    "farm": ("PoolFarm", "SerialFarm"),
    "hosts": ("serve_scheduler", "serve_workers"),
    "interface": ("Farm", "ForwardingFarm"),
    "security": ("issue", "security_for"),
}

__all__ = [
    "ClusterSettings",
    "DaskFarm",
    "Farm",
    "ForwardingFarm",
    "PoolFarm",
    "SerialFarm",
    "description",
    "issue",
    "security_for",
    "serve_scheduler",
    "serve_workers",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
