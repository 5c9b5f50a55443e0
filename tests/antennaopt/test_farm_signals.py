"""Signals to the driver: Ctrl-C in a terminal lets the workers finish, and a killed driver leaves no worker behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from waiting import SAFETY_S, wait_until

DRIVER = """
import signal, sys
sys.path.insert(0, sys.argv[1])
import farm_solvers
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm

if __name__ == "__main__":
    cluster = ClusterSettings(workers=2, dashboard=False)
    with DaskFarm(farm_solvers.solve, family="test", plan={"sleep_s": 0.5}, cluster=cluster) as farm:
        signal.signal(signal.SIGINT, lambda *_: farm.drain())
        statuses = []
        for key, outcome in farm.run([[(f"i{n}", {"x": float(n)})] for n in range(40)]):
            statuses.append((outcome["status"], outcome["attempt"]))
            print("solved", flush=True)
    print(sorted(set(statuses)), len(statuses), flush=True)
"""


@pytest.fixture
def driver(tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    process = subprocess.Popen(
        [sys.executable, str(script), str(Path(__file__).parent)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a process group of its own, as a terminal gives it
    )
    assert process.stdout.readline() == "solved\n"
    yield process
    process.kill()
    process.communicate()


def is_gone(process):
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_until_gone(processes):
    wait_until(lambda: all(map(is_gone, processes)), "the end of all workers")


def test_ctrl_c_drains_and_workers_finish_in_peace(driver):
    children = psutil.Process(driver.pid).children(recursive=True)
    os.killpg(driver.pid, signal.SIGINT)
    out, err = driver.communicate(timeout=SAFETY_S)
    last = out.splitlines()[-1]
    assert last.startswith("[('ok', 1)] "), out
    assert int(last.split()[-1]) < 40
    assert err == "", "nothing is said about it on the terminal"
    assert driver.returncode == 0
    wait_until_gone(children)


def test_a_killed_driver_takes_its_workers_along(driver):
    children = psutil.Process(driver.pid).children(recursive=True)
    assert len(children) >= 2
    driver.send_signal(signal.SIGKILL)
    wait_until_gone(children)
