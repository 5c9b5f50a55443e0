"""The table [cluster]: where antennas are solved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator

from antennaopt.experiment.fields import Count, Duration, EntryError, Table, below, refuse

_MOST = 100_000  # workers, or antennas of a batch


def _auto_or_count(value: Any) -> int | str:
    if value == "auto" or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST):
        return value
    raise EntryError(f'must be "auto" or a whole number from 1 to {_MOST}', value=value)


AutoOrCount = Annotated[int | Literal["auto"], PlainValidator(_auto_or_count)]


BACKENDS = ("cuda", "cpu")


def _workers(value: Any) -> int | str | dict[str, int | str]:
    """Read a number of workers, `auto`, or a table of both kinds."""
    if not isinstance(value, Mapping):
        return _auto_or_count(value)
    stranger = next((key for key in value if key not in BACKENDS), None)
    if stranger is not None or not value:
        raise EntryError('takes the keys cuda and cpu; write { cuda = "auto", cpu = 2 }', value=dict(value))
    found = {}
    for key, count in value.items():
        with below(key):
            found[key] = _auto_or_count(count)
    return found


Workers = Annotated[int | Literal["auto"] | dict[str, int | str], PlainValidator(_workers)]


def _matching(pattern: str, text: str) -> AfterValidator:
    """Accept text that needs no quoting in job scripts and specifications: no blanks, quotes or line ends."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise EntryError(f"must be {text}; correct it", value=value)
        return value

    return AfterValidator(check)


Name = Annotated[
    str, _matching(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}", "letters, digits, dots, hyphens, underscores, plus signs")
]
Names = Annotated[str, _matching(r"[A-Za-z0-9][A-Za-z0-9._+,|&-]{0,199}", "names with , | & between them")]
Memory = Annotated[str, _matching(r"[1-9][0-9]*(\.[0-9]+)? ?(MB|GB|TB|MiB|GiB|TiB)", 'an amount such as "32 GB"')]
Label = Annotated[
    str, _matching(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", "up to 63 lower-case letters, digits and hyphens")
]
HostName = Annotated[
    str, _matching(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?", 'the name of a host, such as "node1.example.org"')
]
Image = Annotated[str, _matching(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,299}", "the name of a container image")]


class Slurm(Table):
    """A job of SLURM: one worker process with one GPU, or one process a core.

    Further needs of a site (modules to load, directives) are in dask-jobqueue's own configuration.

    Attributes:
        partition: Which.
        account: Account that is charged.
        qos: Quality of service.
        constraint: Features that nodes must have.
        reservation: Which.
        gpu: Kind of GPU that a job requests, in SLURM's words; any when None.
        cores: Cores of a job.
        memory: Of a job.
        walltime: s, of a job; a job that ends is followed by another.
        interface: Network interface by which jobs reach the scheduler.
    """

    partition: Name | None = None
    account: Name | None = None
    qos: Name | None = None
    constraint: Names | None = None
    reservation: Name | None = None
    gpu: Name | None = None
    cores: Count = 4
    memory: Memory = "16 GB"
    walltime: Duration = 3600.0
    interface: Name | None = None


class Kubernetes(Table):
    """Pods of Kubernetes: one scheduler, and workers with one GPU or `cores` cores each.

    Attributes:
        image: Container image with this program.
        namespace: Which; the current context's when None.
        name: Of the DaskCluster resource.
        secret: Secret with the certificates, of `ca.pem`, `certificate.pem` and `key.pem`.
        gpu: Name of the resource that is a GPU.
        cores: Of a worker.
        memory: Of a worker.
        node: Value of the node label `antennaopt/pool` that workers ask for; none when None.
    """

    image: Image = Field(examples=['"registry.example/antennaopt:0.1.0"'])
    namespace: Label | None = None
    name: Label = "antennaopt"
    secret: Label = "antennaopt-tls"  # noqa: S105 - a name
    gpu: Image = "nvidia.com/gpu"
    cores: Count = 4
    memory: Memory = "16 GB"
    node: Label | None = None


class Tls(Table):
    """Certificates; a folder of `antennaopt tls` is short for the table.

    Attributes:
        ca: File of the authority.
        certificate: File of our certificate.
        key: File of its key.
    """

    ca: str
    certificate: str
    key: str


def _folder(value: Any) -> Any:
    """Read the name of a folder as its three files."""
    if isinstance(value, str):
        if not value:
            raise EntryError("names no folder; write the one that `antennaopt tls` made", value=value)
        return {
            "ca": f"{value}/ca.pem",
            "certificate": f"{value}/certificate.pem",
            "key": f"{value}/key.pem",
        }
    return value


TlsOrFolder = Annotated[Tls, BeforeValidator(_folder)]


class Cluster(Table):
    """Where antennas are solved.

    Attributes:
        kind: `local` starts workers here; `address` uses a running scheduler; `slurm` and `kubernetes` start workers
            there.
        workers: How many, or `auto`: one a core or one a device of this machine; on mixed hardware a number of each,
            `{ cuda = "auto", cpu = 2 }`.
        dispatch: How batches are dealt out. `greedy`: the next to a free worker. `assignment`: each worker's speed
            is measured, and it gets what should keep it busy for `target_time`.
        target_time: s.
        threads: Of a worker of kind `local`: batches that it takes at a time, each on a stream of its own where it has
            a device, which steps two of them at the same time; three of a device and one of a core when None.
        workers_least: Of `slurm` and `kubernetes`: workers that a run begins with and always keeps; the
            others are there while there is work for them. All when None.
        address: Of the scheduler, `tls://host:8786`.
        listen: Host, with or without a port, where the scheduler of `local` and `slurm` listens.
        tls: Certificates.
        dashboard: Whether the run's own scheduler serves one, on loopback.
        dashboard_hosts: Names under which it answers, in addition to localhost, 127.0.0.1 and [::1].
        batch_size: Antennas a task, or `auto`.
        cache: Whether the evaluation cache may be used; the environment or the command line name its folder.
        slurm: What a job of kind `slurm` requests.
        kubernetes: What the pods of kind `kubernetes` ask for.
    """

    kind: Literal["local", "address", "slurm", "kubernetes"] = "local"
    workers: Workers = "auto"
    dispatch: Literal["greedy", "assignment"] = "greedy"
    target_time: Duration = 10.0
    threads: Count | None = None
    workers_least: Count | None = None
    address: str | None = None
    listen: str | None = None
    tls: TlsOrFolder | None = None
    dashboard: bool = True
    dashboard_hosts: tuple[HostName, ...] = ()
    batch_size: AutoOrCount = "auto"
    cache: bool = True
    slurm: Slurm | None = None
    kubernetes: Kubernetes | None = None

    def destination(self, scheduler: str | None = None) -> str | None:
        """Return where the workers of a run are, and its own address, in one line; None for this machine alone.

        Args:
            scheduler: Address from the command line, in place of the table's kind.
        """
        if scheduler is not None:
            return f"scheduler {scheduler} (--scheduler)"
        listening = f", scheduler listens on {self.listen}" if self.listen else ""
        if self.kind == "address":
            return f"scheduler {self.address} (cluster.address)"
        if self.slurm is not None and self.kind == "slurm":
            return f"SLURM, partition {self.slurm.partition or 'of the site'}{listening}"
        if self.kubernetes is not None and self.kind == "kubernetes":
            namespace = self.kubernetes.namespace or "of the current context"
            return f"Kubernetes, namespace {namespace}, image {self.kubernetes.image}"
        return f"local workers{listening}" if listening else None


ELSEWHERE = {
    "address": "whose scheduler runs already (`antennaopt scheduler --no-dashboard` serves none)",
    "kubernetes": "where the dashboard, on loopback of the scheduler's pod, tells whether that is alive",
}
"""Kinds whose scheduler this program does not start itself: why they take no `dashboard = false`."""


def check_cluster(cluster: Cluster) -> None:
    """Refuse entries that do not go together.

    Raises:
        ConfigurationError: Two do not.
    """
    kind = cluster.kind
    belongs = {
        "address": ("address",),
        "listen": ("local", "slurm"),
        "threads": ("local",),
        "dashboard_hosts": ("local", "slurm"),
        "workers_least": ("slurm", "kubernetes"),
    }
    if kind == "address" and not cluster.address:
        refuse('cluster.address is missing (cluster.kind is "address"); add address = "tls://host:8786"')
    if isinstance(cluster.workers, dict) and kind in ("slurm", "kubernetes"):
        refuse(f'cluster.workers with cuda and cpu does not go with cluster.kind = "{kind}"; write a number')
    if kind in ("slurm", "kubernetes"):
        if getattr(cluster, kind) is None:
            refuse(f'cluster.{kind} is missing (cluster.kind is "{kind}"); add a table [cluster.{kind}]')
        if cluster.workers == "auto":
            refuse(f'cluster.workers = "auto" does not say how many of {kind}; write a number')
        if isinstance(cluster.workers, int) and (cluster.workers_least or 0) > cluster.workers:
            refuse(f"cluster.workers_least = {cluster.workers_least} is more than cluster.workers; lower it")
    if not cluster.dashboard and kind in ELSEWHERE:
        refuse(f'cluster.dashboard = false does not go with cluster.kind = "{kind}", {ELSEWHERE[kind]}; leave it out')
    for entry, kinds in belongs.items():
        value = getattr(cluster, entry)
        if value not in (None, ()) and kind not in kinds:
            shown = f' = "{value}"' if isinstance(value, str) else f" = {value}" if isinstance(value, int) else ""
            wanted = " or ".join(f'"{one}"' for one in kinds)
            refuse(f'cluster.{entry}{shown} does not go with cluster.kind = "{kind}"; set kind = {wanted}')
