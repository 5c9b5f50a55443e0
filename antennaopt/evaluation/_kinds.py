"""The kinds of cluster, each by the name that an experiment file gives it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from antennaopt.evaluation._cluster import LocalWorkers, RemoteScheduler
from antennaopt.evaluation._devices import enough_devices
from antennaopt.evaluation._security import host_and_port, security_for, security_for_listening
from antennaopt.evaluation.cluster_settings import ClusterSettings
from antennaopt.evaluation.room import BATCHES_AT_A_TIME


def opener(
    settings: ClusterSettings,
    *,
    backend: str,
    dashboard: bool = True,
    connect_timeout_s: float = 10.0,
    worker_timeout_s: float = 60.0,
) -> Callable[[], Any]:
    """Return what opens a cluster, now and whenever it has to be opened again.

    Args:
        settings: Where.
        backend: What solves there; with "cuda" a worker is a process with a device of its own.
        dashboard: Whether local workers come with Dask's dashboard (on loopback).
        connect_timeout_s: How long a scheduler may take to answer.
        worker_timeout_s: How long to wait for the first worker.

    Raises:
        ConfigurationError: Others could come in, or listen, and nothing prevents it.
        ClusterError: Fewer devices than workers, or a package for this kind is missing.
        DeviceError: No device.
    """
    if settings.kind == "address":
        address = str(settings.address)
        security = security_for(address, settings.tls, insecure=settings.insecure)
        return partial(
            RemoteScheduler,
            address,
            security=security,
            connect_timeout_s=connect_timeout_s,
            worker_timeout_s=worker_timeout_s,
        )
    if settings.kind == "slurm":
        from antennaopt.evaluation._slurm import SlurmWorkers

        return partial(SlurmWorkers, settings, backend=backend, dashboard=dashboard)
    if settings.kind == "kubernetes":
        from antennaopt.evaluation._kubernetes import KubernetesWorkers

        return partial(KubernetesWorkers, settings, backend=backend)
    host, _ = host_and_port(settings.listen)
    security = security_for_listening(host, settings.tls, insecure=settings.insecure)
    devices = enough_devices(settings.most) if backend == "cuda" else ()
    return partial(
        LocalWorkers,
        settings.most,
        devices=devices,
        threads=BATCHES_AT_A_TIME if devices else 1,
        dashboard=dashboard,
        timeout_s=worker_timeout_s,
        listen=settings.listen,
        security=security,
    )
