"""The kinds of cluster, each by the name that an experiment file gives it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from antennaopt.farm.cores import usable_cores
from antennaopt.farm.devices import enough_devices
from antennaopt.farm.local import LocalWorkers
from antennaopt.farm.remote import RemoteScheduler
from antennaopt.farm.security import host_and_port, is_loopback, security_for, security_for_listening, throwaway
from antennaopt.farm.settings import ClusterSettings
from antennaopt.solve.room import BATCHES_AT_A_TIME

NO_DEVICE = "none"
"""In place of a device's UUID, where workers on cores shall see none of those that there are."""


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
    dashboard = dashboard and settings.dashboard
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
        from antennaopt.farm.slurm import SlurmWorkers

        return partial(SlurmWorkers, settings, backend=backend, dashboard=dashboard)
    if settings.kind == "kubernetes":
        from antennaopt.farm.kubernetes import KubernetesWorkers

        return partial(KubernetesWorkers, settings, backend=backend, dashboard=dashboard)
    host, _ = host_and_port(settings.listen)
    security = security_for_listening(host, settings.tls, insecure=settings.insecure)
    if security is None and is_loopback(host):  # every user of this machine reaches loopback
        security = throwaway()
    asked = settings.of_backend("cuda")
    devices = enough_devices(asked) if (backend == "cuda" or settings.mixed) and asked != 0 else ()
    on_cores = (settings.of_backend("cpu") or usable_cores()) if settings.mixed and "cpu" in settings.backends else 0
    return partial(
        LocalWorkers,
        len(devices) + on_cores if settings.mixed else settings.most,
        devices=devices or ((NO_DEVICE,) if settings.mixed else ()),
        threads=settings.threads or (BATCHES_AT_A_TIME if devices else 1),
        dashboard=dashboard,
        dashboard_hosts=settings.dashboard_hosts,
        timeout_s=worker_timeout_s,
        listen=settings.listen,
        security=security,
    )


def description(settings: ClusterSettings, *, backend: str) -> str | None:
    """Return what a queue would be handed: a job's script or a resource in YAML; None for kinds that have no queue.

    Raises:
        ConfigurationError: Other machines could come in without certificates.
        ClusterError: The package for this kind is missing.
    """
    if settings.kind == "slurm":
        from antennaopt.farm.slurm import job_script

        return job_script(settings, backend=backend)
    if settings.kind == "kubernetes":
        from antennaopt.farm.kubernetes import resource_text

        return resource_text(settings, backend=backend)
    return None
