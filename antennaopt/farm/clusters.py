"""Clusters: settings of each kind, and the function that opens a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from antennaopt.farm.security import (
    TlsFiles,
    host_and_port,
    is_loopback,
    security_for,
    security_for_listening,
    throwaway,
)
from antennaopt.solve.capacity import BATCHES_AT_A_TIME
from antennaopt.solve.device import check_processes, enough_devices, processes_a_device, usable_cores

if TYPE_CHECKING:
    from antennaopt.experiment import Cluster


SAME = ("workers", "dispatch", "target_time", "threads", "dashboard", "dashboard_hosts")
"""Entries of `[cluster]` that are taken as they are."""

NO_DEVICE = "none"
"""In place of a device's UUID, where workers on cores shall see none of those that there are."""


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """Settings of the farm from `[cluster]` and the command line.

    Attributes:
        kind: `local`, `address`, `slurm` or `kubernetes`.
        workers: Number of workers, or `auto`; on mixed hardware one for each backend, `{"cuda": "auto", "cpu": 2}`.
        dispatch: How batches are dealt out: `greedy` or `assignment`.
        target_time: For how long `assignment` keeps a worker busy at a time, s.
        threads: Of a local worker: batches that it takes at a time, each on a stream of its own where it has a device;
            None for three of a device and one of a core.
        least: Of `slurm` and `kubernetes`: how many there are at least; as many as `workers` when None.
        address: Of the scheduler of kind `address`.
        listen: Host, with or without a port, where our own scheduler listens; loopback when None.
        tls: Certificates.
        insecure: Whether connections to other machines may be open.
        dashboard: Whether our own scheduler serves one, on loopback.
        dashboard_hosts: Names, in addition to this machine's loopback, under which it answers.
        job: The table `[cluster.slurm]` or `[cluster.kubernetes]`.
    """

    kind: str = "local"
    workers: int | str | Mapping[str, int | str] = "auto"
    dispatch: str = "greedy"
    target_time: float = 10.0
    threads: int | None = None
    least: int | None = None
    address: str | None = None
    listen: str | None = None
    tls: TlsFiles | None = None
    insecure: bool = False
    dashboard: bool = True
    dashboard_hosts: tuple[str, ...] = ()
    job: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls, table: Cluster, *, scheduler: str | None = None, tls: str | None = None, insecure: bool = False
    ) -> ClusterSettings:
        """Return the settings of an experiment's table, or of the command line in its place.

        Args:
            table: `[cluster]`.
            scheduler: Address of a running scheduler, whatever the table's kind.
            tls: Folder of certificates, in place of the table's.
            insecure: Whether connections to other machines may be open.
        """
        kind = "address" if scheduler else table.kind
        job = {"slurm": table.slurm, "kubernetes": table.kubernetes}.get(kind)
        return cls(
            **{name: getattr(table, name) for name in SAME},
            kind=kind,
            least=table.workers_least,
            address=scheduler or table.address,
            listen=table.listen if kind in ("local", "slurm") else None,
            tls=TlsFiles.of(tls or (table.tls and table.tls.model_dump())),
            insecure=insecure,
            job=job and job.model_dump(),
        )

    @property
    def mixed(self) -> bool:
        """Whether workers of several backends may come: each is asked what it solves with."""
        return isinstance(self.workers, Mapping)

    @property
    def backends(self) -> tuple[str, ...]:
        """Backends that `workers` names; none where it is a number."""
        return tuple(self.workers) if isinstance(self.workers, Mapping) else ()

    @property
    def most(self) -> int | None:
        """Workers at most, None for as many as this machine has cores or devices."""
        if isinstance(self.workers, Mapping):
            counts = list(self.workers.values())
            return None if "auto" in counts else sum(int(count) for count in counts)
        return None if self.workers == "auto" else int(self.workers)

    @property
    def count(self) -> int:
        """Workers as a number, where the kind asks for one."""
        return self.most or 1

    def of_backend(self, backend: str) -> int | None:
        """Return how many workers of a backend there shall be; None for as many as this machine has."""
        asked = self.workers.get(backend, 0) if isinstance(self.workers, Mapping) else self.workers
        return None if asked == "auto" else int(asked)


def opener(
    settings: ClusterSettings,
    *,
    backend: str,
    plan: Mapping[str, Any] | None = None,
    connect_timeout_s: float = 10.0,
    worker_timeout_s: float = 60.0,
) -> Callable[[], Any]:
    """Return a function that opens a cluster, now and whenever it has to be opened again.

    Args:
        settings: Which cluster.
        backend: What solves there; with "cuda" a worker is a process with a device.
        plan: Of the study. Where `workers` is `auto`, as many processes of this machine share a device as
            `antennaopt.solve.device.processes_a_device` says; one without a plan.
        connect_timeout_s: How long a scheduler may take to answer.
        worker_timeout_s: How long to wait for the first worker.

    Raises:
        ConfigurationError: Others could come in, or listen, and nothing prevents it.
        ClusterError: Fewer devices than workers, too many processes, or a package for this kind is missing.
        DeviceError: No device.
    """
    if settings.kind == "address":
        from antennaopt.farm.remote import RemoteScheduler

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

        return partial(SlurmWorkers, settings, backend=backend)
    if settings.kind == "kubernetes":
        from antennaopt.farm.kubernetes import KubernetesWorkers

        return partial(KubernetesWorkers, settings, backend=backend)
    from antennaopt.farm.local import LocalWorkers

    host, _ = host_and_port(settings.listen)
    security = security_for_listening(host, settings.tls, insecure=settings.insecure)
    if security is None and is_loopback(host):  # every user of this machine reaches loopback
        security = throwaway()
    asked = settings.of_backend("cuda")
    devices = enough_devices(asked) if (backend == "cuda" or settings.mixed) and asked != 0 else ()
    if settings.workers == "auto" and devices:
        devices *= processes_a_device(plan or {}, len(devices))
    on_cores = (settings.of_backend("cpu") or usable_cores()) if settings.mixed and "cpu" in settings.backends else 0
    count = len(devices) + on_cores if settings.mixed else settings.most
    check_processes(count)
    return partial(
        LocalWorkers,
        count,
        devices=devices or ((NO_DEVICE,) if settings.mixed else ()),
        threads=settings.threads or (BATCHES_AT_A_TIME if devices else 1),
        dashboard=settings.dashboard,
        dashboard_hosts=settings.dashboard_hosts,
        timeout_s=worker_timeout_s,
        listen=settings.listen,
        security=security,
    )


def description(settings: ClusterSettings, *, backend: str) -> str | None:
    """Return what a queue would be given: a job's script or a resource in YAML; None for kinds that have no queue.

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
