"""Where a study's antennas are to be solved, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from antennaopt.evaluation._security import TlsFiles


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """What `[cluster]` and the command line say of the farm.

    Attributes:
        kind: `local`, `address`, `slurm` or `kubernetes`.
        workers: How many, or `auto`.
        least: Of `slurm` and `kubernetes`: how many there are at least; as many as `workers` when None.
        address: Of the scheduler of kind `address`.
        listen: Host, with or without a port, where our own scheduler listens; loopback when None.
        tls: Certificates.
        insecure: Whether connections to other machines may be open.
        job: The table `[cluster.slurm]` or `[cluster.kubernetes]`.
    """

    kind: str = "local"
    workers: int | str = "auto"
    least: int | None = None
    address: str | None = None
    listen: str | None = None
    tls: TlsFiles | None = None
    insecure: bool = False
    job: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls,
        table: Mapping[str, Any],
        *,
        scheduler: str | None = None,
        tls: str | None = None,
        insecure: bool = False,
    ) -> ClusterSettings:
        """Put an experiment's table and what the command line says in its place together.

        Args:
            table: `[cluster]`, resolved.
            scheduler: Address of a running scheduler, whatever the table's kind.
            tls: Folder of certificates, in place of the table's.
            insecure: Whether connections to other machines may be open.
        """
        kind = "address" if scheduler else str(table.get("kind", "local"))
        return cls(
            kind=kind,
            workers=table.get("workers", "auto"),
            least=table.get("workers_least"),
            address=scheduler or table.get("address"),
            listen=table.get("listen") if kind in ("local", "slurm") else None,
            tls=TlsFiles.of(tls or table.get("tls")),
            insecure=insecure,
            job=table.get(kind),
        )

    @property
    def most(self) -> int | None:
        """Workers at most, None for as many as this machine has cores or devices."""
        return None if self.workers == "auto" else int(self.workers)
