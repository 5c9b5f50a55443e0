"""Where a study's antennas are to be solved, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antennaopt.farm.security import TlsFiles

if TYPE_CHECKING:
    from antennaopt.experiment import Cluster


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """What `[cluster]` and the command line say of the farm.

    Attributes:
        kind: `local`, `address`, `slurm` or `kubernetes`.
        workers: How many, or `auto`; on mixed hardware so many of each backend, `{"cuda": "auto", "cpu": 2}`.
        dispatch: How batches are dealt out: `greedy` or `assignment`.
        target_time: For how long `assignment` keeps a worker busy at a time, s.
        threads: Of a local worker: batches that it takes at a time, each on a stream of its own where it has a device;
            None for two of a device and one of a core.
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
        cls,
        table: Cluster,
        *,
        scheduler: str | None = None,
        tls: str | None = None,
        insecure: bool = False,
    ) -> ClusterSettings:
        """Put an experiment's table and what the command line says in its place together.

        Args:
            table: `[cluster]`.
            scheduler: Address of a running scheduler, whatever the table's kind.
            tls: Folder of certificates, in place of the table's.
            insecure: Whether connections to other machines may be open.
        """
        kind = "address" if scheduler else table.kind
        job = {"slurm": table.slurm, "kubernetes": table.kubernetes}.get(kind)
        return cls(
            kind=kind,
            workers=table.workers,
            dispatch=table.dispatch,
            target_time=table.target_time,
            threads=table.threads,
            least=table.workers_least,
            address=scheduler or table.address,
            listen=table.listen if kind in ("local", "slurm") else None,
            tls=TlsFiles.of(tls or (table.tls and table.tls.model_dump())),
            insecure=insecure,
            dashboard=table.dashboard,
            dashboard_hosts=table.dashboard_hosts,
            job=job and job.model_dump(),
        )

    @property
    def mixed(self) -> bool:
        """Whether there are workers of several backends, or whoever comes decides."""
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
