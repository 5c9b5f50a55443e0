"""Workers as Kubernetes pods, through dask-kubernetes and its operator: one scheduler, and a GPU or some cores per pod.

Scheduler and workers are our own commands, under TLS with the certificates of a secret; the driver comes in through a
port that Kubernetes forwards to loopback, and shows certificates of the same authority.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distributed.core import rpc
from distributed.security import Security

from antennaopt.errors import ClusterError
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_client import within
from antennaopt.farm.local import QueuedWorkers
from antennaopt.farm.security import SCHEDULER_PORT, security_for_listening

START_S = 900.0
"""How long the first pod may take, its image and a node for it included."""

CLOSE_S = 10.0
"""How long what was half begun may take to end."""

TLS_FOLDER = "/etc/antennaopt-tls"
DASHBOARD_PORT = 8787
SCHEDULER_CORES, SCHEDULER_MEMORY = "1", "4Gi"
GROUP = 1000
"""Group of the pods' processes, which alone may read the certificates."""

ALIVE = f"import urllib.request; urllib.request.urlopen('http://127.0.0.1:{DASHBOARD_PORT}/health', timeout=5).read()"
"""Asked within the pod: the dashboard is on loopback there too."""


class KubernetesWorkers(QueuedWorkers):
    """A scheduler and workers in pods, which end with this object."""

    def __init__(self, settings: ClusterSettings, *, backend: str) -> None:
        """Ask for the pods and wait for the first worker.

        Args:
            settings: Of kind `kubernetes`.
            backend: With "cuda" every worker asks for a GPU.

        Raises:
            ConfigurationError: The pods would talk in the open.
            ClusterError: dask-kubernetes is missing, no cluster is configured, or no worker came in time.
        """
        self.where = "Kubernetes"
        spec = resource(settings, backend=backend)
        security = security_for_listening("the addresses of pods", settings.tls, insecure=settings.insecure)
        table = dict(settings.job or {})
        super().__init__(
            lambda: _started(spec, table.get("namespace"), security),
            most=settings.count,
            least=settings.least,
            dashboard=settings.dashboard,
            timeout_s=START_S,
            none_came=f"no pod of Kubernetes brought a worker within {START_S:g} s; look at `kubectl get pods` and at "
            "the logs of the scheduler's pod",
            not_begun="Kubernetes does not start the cluster",
        )

    def _dashboard(self) -> str | None:
        return self._cluster.dashboard_link

    @property
    def scheduler_is_gone(self) -> bool:
        """False: Kubernetes starts the scheduler's pod again, and Dask's client connects again."""
        return False


def resource(settings: ClusterSettings, *, backend: str) -> dict[str, Any]:
    """Return the DaskCluster resource.

    Args:
        settings: Of kind `kubernetes`.
        backend: With "cuda" a worker asks for one GPU, else it uses its cores.

    Raises:
        ConfigurationError: The pods would talk in the open.
        ClusterError: dask-kubernetes is missing.
    """
    make_cluster_spec = _package().make_cluster_spec
    table = dict(settings.job or {})
    security_for_listening("the addresses of pods", settings.tls, insecure=settings.insecure)
    open_ = settings.tls is None
    trust = ["--insecure"] if open_ else ["--tls", TLS_FOLDER]
    spec = make_cluster_spec(
        name=table["name"],
        image=table["image"],
        n_workers=settings.least or settings.count,
        resources=_amounts(table["cores"], table["memory"], table["gpu"] if backend == "cuda" else None),
        env={"HOME": "/tmp"},  # noqa: S108 - of the pod, for compiled kernels
        worker_command=["antennaopt", "worker"],
    )
    scheduler, worker = spec["spec"]["scheduler"]["spec"], spec["spec"]["worker"]["spec"]
    scheme = "tcp" if open_ else "tls"
    worker["containers"][0] |= {
        "args": [
            "antennaopt",
            "worker",
            f"{scheme}://{table['name']}-scheduler:{SCHEDULER_PORT}",
            *trust,
            *("--backend", backend),
            *("--workers", "1" if backend == "cuda" else str(table["cores"])),
            *("--name", "$(DASK_WORKER_NAME)"),
        ],
        "ports": [],
    }
    asked = {"exec": {"command": ["python3", "-c", ALIVE]}, "timeoutSeconds": 10}
    scheduler["containers"][0] |= {
        "args": [
            *("antennaopt", "scheduler", "--listen", f"0.0.0.0:{SCHEDULER_PORT}"),
            *trust,
            *("--dashboard-port", str(DASHBOARD_PORT)),
        ],
        "resources": _amounts(SCHEDULER_CORES, SCHEDULER_MEMORY, None),
        "readinessProbe": {**asked, "periodSeconds": 2},
        "livenessProbe": {**asked, "initialDelaySeconds": 30, "periodSeconds": 30},
    }
    for pod in (scheduler, worker):
        pod["containers"][0]["securityContext"] = {"allowPrivilegeEscalation": False}
        pod["securityContext"] = {"fsGroup": GROUP}
        if not open_:
            _mount_certificates(pod, table["secret"])
    if table.get("node"):
        worker["nodeSelector"] = {"antennaopt/pool": table["node"]}
    return spec


def resource_text(settings: ClusterSettings, *, backend: str) -> str:
    """Return the resource in YAML, as `kubectl apply` takes it."""
    import yaml

    return yaml.safe_dump(resource(settings, backend=backend), sort_keys=False)


def _amounts(cores: Any, memory: str, gpu: str | None) -> dict[str, Any]:
    limits = {"cpu": str(cores), "memory": _binary(memory), **({gpu: "1"} if gpu else {})}
    return {"limits": limits, "requests": dict(limits)}


def _binary(memory: str) -> str:
    """Write an amount of memory as Kubernetes does: `16 GB` is 16G, `16 GiB` is 16Gi."""
    return memory.replace(" ", "").removesuffix("B")


def _mount_certificates(pod: dict[str, Any], secret: str) -> None:
    pod["volumes"] = [{"name": "tls", "secret": {"secretName": secret, "defaultMode": 0o440}}]
    pod["containers"][0]["volumeMounts"] = [{"name": "tls", "mountPath": TLS_FOLDER, "readOnly": True}]


def _started(spec: Mapping[str, Any], namespace: str | None, security: Security | None) -> Any:
    """Create the resource and connect to its scheduler.

    Raises:
        ClusterError: There is no cluster, or it does not take the resource.
    """
    package = _package()
    from dask_kubernetes.operator.kubecluster.kubecluster import DaskCluster, wait_for_service
    from dask_kubernetes.operator.networking import get_scheduler_address, wait_for_scheduler

    class KubeCluster(package.KubeCluster):
        """As dask-kubernetes has it, but that its connection to the scheduler is under TLS."""

        async def _create_cluster(self) -> None:
            if security is None:
                await super()._create_cluster()
                return
            self.shutdown_on_close = True
            service = f"{self.name}-scheduler"
            cluster = await DaskCluster(self._custom_cluster_spec, namespace=self.namespace)
            await cluster.create()
            await self._wait_for_controller()
            await wait_for_scheduler(self.name, self.namespace, timeout=self._resource_timeout)
            await wait_for_service(service, self.namespace)
            address = await self._get_scheduler_address()
            self.scheduler_comm = rpc(
                f"tls://{address.partition('://')[2]}", connection_args=security.get_connection_args("client")
            )
            page = await get_scheduler_address(service, self.namespace, port_name="http-dashboard")
            self.forwarded_dashboard_port = page.rpartition(":")[2]

    KubeCluster.security = security
    try:
        return KubeCluster(custom_cluster_spec=dict(spec), namespace=namespace, quiet=True)
    except Exception as problem:  # of several libraries, each with its own
        for one in list(KubeCluster._instances):
            if isinstance(one, KubeCluster):  # else the package tries to end it when this program does
                within(CLOSE_S, one.close)
                one.shutdown_on_close = False
        raise ClusterError(
            f"Kubernetes does not take the cluster ({type(problem).__name__}: {problem}); does `kubectl get pods` "
            "work, and is the operator of dask-kubernetes installed there?"
        ) from problem


def _package() -> Any:
    try:
        import dask_kubernetes.operator as package
    except ImportError:
        raise ClusterError(
            'cluster.kind = "kubernetes" needs dask-kubernetes, which is not installed; '
            "pip install 'antennaopt[kubernetes]'"
        ) from None
    return package
