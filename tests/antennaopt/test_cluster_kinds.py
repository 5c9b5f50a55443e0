"""SLURM and Kubernetes without either: the job's script and the resource that they would be handed."""

import asyncio
import os
import shlex
import signal
import sys
import threading
from itertools import pairwise
from pathlib import Path

import dask.config
import pytest
import yaml
from config_files import LENS
from waiting import wait_until

from antennaopt.cli import main
from antennaopt.errors import ClusterError, ConfigurationError
from antennaopt.experiment import load_experiment
from antennaopt.farm.clusters import ClusterSettings, description, opener
from antennaopt.farm.security import issue
from antennaopt.farm.slurm import MOST_BARREN, SlurmWorkers, slurm_cluster, walltime
from antennaopt.farm.slurm_jobs import LOST_S, numbers_in_queue
from antennaopt.solve import device

EXAMPLES = Path(__file__).parents[2] / "experiments" / "cluster"
SLURM = """
[cluster]
kind = "slurm"
workers = 8
workers_least = 2
[cluster.slurm]
partition = "gpu"
account = "antennas"
qos = "long"
constraint = "nvlink&ib"
gpu = "h200"
cores = 8
memory = "64 GiB"
walltime = "36 h"
interface = "ib0"
"""
ADDRESS = """
[cluster]
kind = "address"
address = "tcp://127.0.0.1:8786"
"""
KUBERNETES = """
[cluster]
kind = "kubernetes"
workers = 4
[cluster.kubernetes]
image = "registry.example/antennaopt:0.1.0"
namespace = "antennas"
cores = 6
memory = "32 GiB"
node = "h200"
"""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates") / "farm"
    issue(folder)
    return folder


@pytest.fixture
def settings(tmp_path):
    def read(table, *overrides, **more):
        file = tmp_path / "lens.toml"
        file.write_text(LENS + table)
        return ClusterSettings.of(load_experiment(file, overrides).cluster, **more)

    return read


def options(line):
    words = shlex.split(line)
    return {one: other for one, other in pairwise(words) if one.startswith("--")}


def test_a_job_of_slurm_is_one_process_with_one_gpu(settings, certificates):
    script = description(settings(SLURM, tls=str(certificates)), backend="cuda").splitlines()
    directives = {line.removeprefix("#SBATCH ") for line in script if line.startswith("#SBATCH")}
    assert directives == {
        "-J antennaopt", "-p gpu", "-A antennas", "-n 1", "--cpus-per-task=8", "--mem=64G", "-t 1-12:00:00",
        "--qos=long", "--constraint=nvlink&ib", "--gpus-per-task=h200:1",
    }  # fmt: skip
    assert "export NUMBA_NUM_THREADS=1" in script
    worker = script[-1]
    assert worker.startswith(f"{sys.executable} -m distributed.cli.dask_worker tls://")
    given = options(worker)
    assert given["--nthreads"] == "3", "three batches at a time on a device"
    assert "--nworkers" not in given
    assert given["--preload"] == "antennaopt.farm.servers"
    assert given["--protocol"] == "tls://"
    assert given["--interface"] == "ib0"
    assert given["--worker-class"] == "antennaopt.farm.servers.SilentWorker", "which serves no HTTP"
    assert "export DASK_TEMPORARY_DIRECTORY=$(mktemp -d)" in script, "not a folder of all users of the node"
    assert given["--tls-key"] == str(certificates / "key.pem")
    assert worker.rindex("--memory-limit 0") > worker.index("--memory-limit "), "the last one counts"


def test_a_job_of_slurm_without_gpu_is_one_process_a_core(settings, certificates):
    script = description(settings(SLURM, tls=str(certificates)), backend="cpu")
    assert "--gpus" not in script
    given = options(script.splitlines()[-1])
    assert (given["--nworkers"], given["--nthreads"]) == ("8", "1")


def test_a_sites_own_lines_come_from_dasks_configuration(settings, certificates):
    import dask

    site = {"jobqueue.slurm.job-script-prologue": ["module load cuda/13"],
            "jobqueue.slurm.job-extra-directives": ["--exclusive"]}  # fmt: skip
    with dask.config.set(site):
        script = description(settings(SLURM, tls=str(certificates)), backend="cuda").splitlines()
    assert script.index("module load cuda/13") < script.index("export NUMBA_NUM_THREADS=1")
    assert "#SBATCH --exclusive" in script


@pytest.mark.parametrize("text", ["x\\ntouch here", "$(touch here)", "a b", "-p other", "a;b", "`b`", ""])
@pytest.mark.parametrize("entry", ["partition", "account", "qos", "constraint", "reservation", "gpu", "interface"])
def test_no_entry_of_a_file_writes_a_line_of_shell(settings, entry, text):
    with pytest.raises(ConfigurationError, match=rf"cluster\.slurm\.{entry}"):
        settings(SLURM, f'cluster.slurm.{entry}="{text}"')


def test_certificates_on_a_path_with_shell_in_it_are_refused(settings, tmp_path):
    folder = tmp_path / "a b; touch here"
    issue(folder)
    with pytest.raises(ConfigurationError, match="a job script cannot hold"):
        description(settings(SLURM, tls=str(folder)), backend="cpu")


@pytest.mark.parametrize("name", ["slurm", "kubernetes"])
def test_the_worked_examples_are_handed_in_with_a_gpu_each(name, certificates):
    experiment = load_experiment(EXAMPLES / f"{name}.toml")
    text = description(ClusterSettings.of(experiment.cluster, tls=str(certificates)), backend="cuda")
    assert "--gpus-per-task=h200:1" in text or "nvidia.com/gpu" in text


def test_spans_of_time_as_slurm_reads_them():
    assert [walltime(s) for s in (90.0, 3600.0, 90061.0)] == ["00:01:30", "01:00:00", "1-01:01:01"]


def test_a_pod_of_kubernetes_is_one_worker_with_one_gpu(settings, certificates):
    """Parsed from the text that `kubectl apply` gets; certificates of the secret, dashboards on loopback."""
    spec = yaml.safe_load(description(settings(KUBERNETES, tls=str(certificates)), backend="cuda"))
    assert (spec["kind"], spec["metadata"]["name"]) == ("DaskCluster", "antennaopt")
    worker, scheduler = (spec["spec"][role]["spec"] for role in ("worker", "scheduler"))
    assert spec["spec"]["worker"]["replicas"] == 4
    (container,) = worker["containers"]
    assert container["image"] == "registry.example/antennaopt:0.1.0"
    assert container["resources"]["limits"] == {"cpu": "6", "memory": "32Gi", "nvidia.com/gpu": "1"}
    assert " ".join(container["args"]) == (
        "antennaopt worker tls://antennaopt-scheduler:8786 --tls /etc/antennaopt-tls --backend cuda --workers 1 "
        "--name $(DASK_WORKER_NAME)"
    )
    assert worker["nodeSelector"] == {"antennaopt/pool": "h200"}
    (other,) = scheduler["containers"]
    assert other["args"][:4] == ["antennaopt", "scheduler", "--listen", "0.0.0.0:8786"]
    assert "nvidia.com/gpu" not in other["resources"]["limits"]
    assert "httpGet" not in str(scheduler), "the dashboard is on loopback, so the probe asks within the pod"
    for pod in (worker, scheduler):
        assert pod["volumes"] == [{"name": "tls", "secret": {"secretName": "antennaopt-tls", "defaultMode": 0o440}}]
        assert pod["containers"][0]["volumeMounts"][0]["readOnly"] is True


def test_pods_use_the_programs_own_commands(settings, certificates):
    """The command line accepts the command of the pods."""
    import click

    from antennaopt.cli.entry import commands

    spec = yaml.safe_load(description(settings(KUBERNETES, tls=str(certificates)), backend="cpu"))
    for role in ("worker", "scheduler"):
        _, name, *arguments = spec["spec"][role]["spec"]["containers"][0]["args"]
        command = commands.get_command(click.Context(commands), name)
        assert command.make_context(name, list(arguments)).params["tls"] == "/etc/antennaopt-tls"


@pytest.mark.parametrize("table", [SLURM, KUBERNETES], ids=["slurm", "kubernetes"])
def test_without_certificates_jobs_are_not_handed_in(settings, table):
    with pytest.raises(ConfigurationError, match="lets other machines in"):
        opener(settings(table), backend="cpu")()


@pytest.mark.parametrize(("kind", "module"), [(SLURM, "dask_jobqueue.slurm"), (KUBERNETES, "dask_kubernetes.operator")])
def test_a_missing_package_is_named_with_its_command(settings, monkeypatch, kind, module, certificates):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ClusterError, match=r"pip install 'antennaopt\[(slurm|kubernetes)\]'"):
        description(settings(kind, tls=str(certificates)), backend="cpu")


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("echo 'sbatch: error: invalid partition specified: gpu' >&2; exit 1", "invalid partition specified: gpu"),
        ("echo Welcome", "sbatch gave no number of a job: Welcome"),
        (None, "no sbatch on this machine"),
    ],
    ids=["refused", "without a number", "missing"],
)
def test_slurms_own_words_are_told_at_once(settings, certificates, tmp_path, monkeypatch, program, says):
    """Not after the hour that a job may wait in the queue, for then this test ends first. Ctrl-C is the program's."""
    monkeypatch.setenv("PATH", str(tmp_path))
    if program:
        (tmp_path / "sbatch").write_text(f"#!/bin/sh\n{program}\n")
        (tmp_path / "sbatch").chmod(0o755)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(ClusterError, match=f"SLURM takes no job: .*{says}"):
        opener(settings(SLURM, "cluster.slurm.interface=lo", tls=str(certificates)), backend="cpu")()
    assert signal.getsignal(signal.SIGINT) is handler, "dask-jobqueue sets its own when it is imported"


QUEUE = {
    "sbatch": 'echo $$ >> {0}/handed_in; echo "Submitted batch job $$"',
    "scancel": 'echo "$*" >> {0}/cancelled',
    "squeue": 'case "$*" in "--me --noheader --format=%A") cat {0}/queued;; *--name=*) cat {0}/"${{4#--name=}}";; esac',
}
"""Programs of a queue whose jobs are not started, by name."""


@pytest.fixture
def queue(tmp_path, monkeypatch):
    """Folder of such a queue: `handed_in`, `cancelled` and `queued` have numbers of jobs."""
    for name, text in QUEUE.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text.format(tmp_path)}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


@pytest.fixture
def jobs(settings, certificates, queue):
    """Two jobs of eight processes each, handed in."""
    cluster = slurm_cluster(settings(SLURM, "cluster.slurm.interface=lo", tls=str(certificates)), backend="cpu")
    wait_until(lambda: len(cluster.workers) == 2, "two jobs")
    yield cluster
    cluster.close()


def within(cluster, function, *arguments):
    """Call a function in the cluster's own thread."""

    async def call():
        return function(*arguments)

    return cluster.sync(call)


def test_jobs_that_end_are_replaced(jobs, queue):
    """One at its wall time, with eight processes; the other waits in the queue. The new one has a name of its own."""
    first, second = sorted(jobs.workers)
    gone, waiting = (jobs.workers[name].job_id for name in (first, second))
    began = max(job.begun_at for job in jobs.workers.values())
    assert within(jobs, jobs.note_workers, {f"{first}-{place}" for place in range(8)}, began)
    assert not within(jobs, jobs.note_workers, {f"{first}1-0"}, began), "another job's"
    assert not jobs.without_worker(began + LOST_S - 1.0)
    idle = jobs.without_worker(began + LOST_S + 1.0)
    assert len(idle) == 2
    assert [job.job_id for job in within(jobs, jobs.forget_ended, idle, {waiting})] == [gone]
    jobs.scale(jobs=2)
    wait_until(lambda: len(jobs.workers) == 2, "another job")
    assert (queue / "handed_in").read_text().count("\n") == 3
    assert second in jobs.workers
    assert first not in jobs.workers
    wait_until(lambda: (queue / "cancelled").exists(), "a job that ended is cancelled, should some of it be left")


def test_jobs_that_wait_are_cancelled_before_those_that_run(jobs):
    """A worker of a job with eight processes has the job's name and a number, by which Dask does not know the job."""
    jobs.scale(jobs=6)
    wait_until(lambda: len(jobs.workers) == 6, "six jobs")
    running = sorted(jobs.workers)[3:5]

    def shrink():
        jobs.scheduler_info["workers"] |= {f"tcp://{name}": {"name": f"{name}-3"} for name in running}
        jobs.scale(jobs=2)

    within(jobs, shrink)
    wait_until(lambda: len(jobs.workers) == 2, "two jobs")
    assert sorted(jobs.workers) == running


def test_jobs_are_counted_in_the_thread_that_changes_them(jobs, monkeypatch):
    """In the driver's, a job that is forgotten or a worker that comes meanwhile would end the run with an exception."""
    workers = SlurmWorkers.__new__(SlurmWorkers)
    workers._cluster, workers._each, workers._least, workers._most = jobs, 8, 1, 4
    threads = []
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "scale", lambda jobs: threads.append((jobs, threading.get_ident())))
        workers.scale(24)
        assert [(3, within(jobs, threading.get_ident))] == threads


def test_where_the_queue_cannot_be_read_only_jobs_that_had_a_worker_have_ended(jobs, queue):
    first, second = sorted(jobs.workers)
    (queue / "queued").write_text("7\n8\n")
    assert jobs.sync(numbers_in_queue) == {"7", "8"}
    (queue / "queued").unlink()
    assert jobs.sync(numbers_in_queue) is None
    assert within(jobs, jobs.note_workers, {f"{second}-3"}, 0.0)
    assert [job.name for job in within(jobs, jobs.forget_ended, list(jobs.workers.values()), None)] == [second]
    assert first in jobs.workers


def test_a_job_that_slurm_queues_again_keeps_its_place(jobs, queue):
    """After a node's end or a preemption. Dask cancelled it an hour after its worker went, and nothing replaced it."""
    first = min(jobs.workers)

    async def go():
        with dask.config.set({"distributed.deploy.lost-worker-timeout": "0s"}):
            jobs.scheduler_info["workers"]["tcp://1"] = {"name": first}
            jobs._update_worker_status("remove", "tcp://1")
        await asyncio.sleep(0.01)  # what is due at once is done before

    jobs.sync(go)
    assert first in jobs.workers
    assert not (queue / "cancelled").exists()


def test_a_refused_job_is_handed_in_again(jobs, queue):
    """SLURM's controller may be away for a while, or the user's jobs too many."""
    program = (queue / "sbatch").read_text()
    (queue / "sbatch").write_text("#!/bin/sh\necho 'sbatch: error: Slurm controller not responding' >&2; exit 1\n")
    jobs.scale(jobs=3)
    wait_until(lambda: len(jobs.workers) == 3, "a job that is refused")
    assert "controller not responding" in jobs.entries.refused[-1]
    (queue / "sbatch").write_text(program)
    idle = jobs.without_worker(max(job.begun_at for job in jobs.workers.values()) + LOST_S + 1.0)
    ended = within(jobs, jobs.forget_ended, idle, {job.job_id for job in idle})
    assert [job.refused_at is not None for job in ended] == [True]
    jobs.scale(jobs=3)
    wait_until(lambda: len(jobs.workers) == 3 and all(job.job_id for job in jobs.workers.values()), "it is taken")


SILENT = """#!/bin/sh
# Takes a job without its number, or fails after that; the queue knows it by its name.
echo $$ > {0}/"${{1#--job-name=}}"
echo $$ >> {0}/handed_in
echo '{1}' >&2
exit {2}
"""


@pytest.mark.parametrize(("says", "code"), [("", 0), ("sbatch: error: Socket timed out on send/recv operation", 1)])
def test_a_job_that_is_taken_without_a_number_is_found_by_its_name(jobs, queue, says, code):
    (queue / "sbatch").write_text(SILENT.format(queue, says, code))
    jobs.scale(jobs=3)
    wait_until(lambda: len(jobs.workers) == 3 and all(job.job_id for job in jobs.workers.values()), "three jobs")
    assert (queue / "handed_in").read_text().split()[-1] in {job.job_id for job in jobs.workers.values()}
    assert not jobs.entries.refused


def test_a_job_that_slurm_lists_late_is_cancelled_before_another_is_handed_in(jobs, queue):
    """Neither sbatch nor squeue reached the controller, which has the job all the same."""
    (queue / "sbatch").write_text(
        f"#!/bin/sh\necho $1 > {queue}/own; echo 'sbatch: error: Socket timed out' >&2; exit 1\n"
    )
    jobs.scale(jobs=3)
    wait_until(lambda: jobs.entries.refused, "a job without a number")
    assert not jobs.entries.unclear
    within(jobs, jobs.forget_ended, [job for job in jobs.workers.values() if job.refused_at is not None], None)
    own = (queue / "own").read_text().strip().removeprefix("--job-name=")
    wait_until(lambda: (queue / "cancelled").exists(), "its end")
    assert (queue / "cancelled").read_text() == f"--me --name={own}\n"


def test_a_job_that_slurm_may_have_taken_is_not_handed_in_twice(jobs, queue):
    """It has no number, and the queue cannot be read."""
    (queue / "sbatch").write_text("#!/bin/sh\ntrue\n")
    jobs.scale(jobs=3)
    wait_until(lambda: jobs.entries.refused, "a job without a number")
    workers = SlurmWorkers.__new__(SlurmWorkers)
    workers._cluster, workers._barren = jobs, 0
    with pytest.raises(ClusterError, match=r"it printed nothing; .*scancel --me --name=antennaopt-\w{12}.*resume"):
        workers.mend()


def test_jobs_that_all_end_without_a_worker_end_the_run():
    """Else each minute another would be handed in, all night."""
    workers = SlurmWorkers.__new__(SlurmWorkers)
    workers._barren = MOST_BARREN
    with pytest.raises(ClusterError, match=r"5 jobs of SLURM in a row ended without.*slurm-NUMBER\.out.*resume"):
        workers.mend()


def test_an_interface_that_is_not_there_is_named(settings, certificates):
    with pytest.raises(ClusterError, match=r"cluster\.slurm\.interface.*'nowhere0' is not a valid network interface"):
        opener(settings(SLURM, "cluster.slurm.interface=nowhere0", tls=str(certificates)), backend="cpu")()


@pytest.mark.parametrize("workers", ["1000", "{ cpu = 1000 }"])
def test_a_thousand_processes_on_this_machine_are_refused(settings, monkeypatch, workers):
    """They took all memory. Sixty-four are few enough for any machine, and more for one with many cores."""
    for cores, most in ((2, 64), (100, 400)):
        monkeypatch.setattr(device, "usable_cores", lambda cores=cores: cores)
        with pytest.raises(ClusterError, match=rf"cluster\.workers = 1000 are too many .*{cores} cores.*<= {most}"):
            opener(settings("", f"cluster.workers={workers}"), backend="cpu")
    monkeypatch.setattr(device, "usable_cores", lambda: 250)
    opener(settings("", f"cluster.workers={workers}"), backend="cpu")


def test_a_thousand_workers_of_a_host_are_refused(capsys, monkeypatch):
    monkeypatch.setattr(device, "usable_cores", lambda: 2)
    assert main(["worker", "tcp://127.0.0.1:1", "--workers", "1000", "--backend", "cpu", "--wait", "1"]) == 5
    said = capsys.readouterr().err
    assert "--workers 1000 are too many processes for the 2 cores of this machine (must be <= 64)" in said


def test_no_kubernetes_is_one_line(settings, certificates, monkeypatch, capfd):
    """And nothing tries, at the program's end, to remove what was never made."""
    from dask_kubernetes.operator.kubecluster import kubecluster

    monkeypatch.setenv("KUBECONFIG", os.devnull)
    with pytest.raises(ClusterError, match="does `kubectl get pods` work"):
        opener(settings(KUBERNETES, tls=str(certificates)), backend="cpu")()
    kubecluster.reap_clusters()
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("table", "changes", "says"),
    [
        (SLURM, ["cluster.workers=auto"], "does not say how many"),
        (SLURM, ["cluster.dashboard=maybe"], 'cluster.dashboard = "maybe" must be true or false, without quotes'),
        (SLURM, ["cluster.workers_least=9"], "is more than cluster.workers"),
        (SLURM, ["cluster.kind=kubernetes"], "cluster.kubernetes is missing"),
        (SLURM, ["cluster.kind=local"], "cluster.workers_least = 2 does not go with"),
        (KUBERNETES, ["cluster.listen=0.0.0.0"], "cluster.listen"),
        (KUBERNETES, ["cluster.dashboard=false"], 'dashboard = false does not go with cluster.kind = "kubernetes"'),
        (ADDRESS, ["cluster.dashboard=false"], 'go with cluster.kind = "address", whose scheduler runs already'),
        (KUBERNETES, ["cluster.kubernetes.memory=lots"], 'an amount such as "32 GB"'),
        (KUBERNETES, ["cluster.kubernetes.namespace=A_B"], "lower-case letters"),
        (KUBERNETES, ["cluster.tls="], "names no folder"),
    ],
)
def test_entries_that_do_not_go_together(settings, table, changes, says):
    with pytest.raises(ConfigurationError, match=says):
        settings(table, *changes)
