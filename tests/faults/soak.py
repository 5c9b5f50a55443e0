"""Random strikes at workers, schedulers and drivers; every run must end with the bits of the one left alone.

`python soak.py --seconds 1800 --log LOG.jsonl`. Rounds follow each other, every second one with a scheduler and workers
that another process runs; each is a run of 30 generations, with real processes, that gets SIGKILL, SIGSTOP,
SIGTERM and SIGINT until it is done, and resumed whenever its driver is gone. The log has a line for every strike, end
of a driver and comparison; the last one sums up. Exit code 0 when every round was equal.
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import bits
import psutil

HERE = Path(__file__).parent
EVOLUTION = {"population": 12, "generations": 30, "elites": 2}
SLEEP_S = 0.06
MOST_SESSIONS = 100
EXPECTED = {0, 5, 130, 143, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, -signal.SIGUSR1}
"""Of a driver; the last three of one that was struck while its interpreter began or ended."""

STRIKES = {
    ("worker", signal.SIGKILL): 10,
    ("worker", signal.SIGSTOP): 4,
    ("nanny", signal.SIGKILL): 1,
    ("scheduler", signal.SIGKILL): 2,
    ("scheduler", signal.SIGSTOP): 1,
    ("driver", signal.SIGSTOP): 2,
    ("driver", signal.SIGKILL): 2,
    ("driver", signal.SIGTERM): 1,
    ("driver", signal.SIGINT): 1,
}
"""How often one is chosen, against the others."""


class Log:
    def __init__(self, path):
        self.began = time.monotonic()
        self.file = path.open("w", encoding="utf-8") if path else None
        self.counts = Counter()

    def say(self, event, **more):
        self.counts[event] += 1
        line = json.dumps({"t": round(time.monotonic() - self.began, 1), "event": event, **more})
        for file in (self.file, sys.stdout):
            if file:
                print(line, file=file, flush=True)


class Fleet:
    """A scheduler and two workers by the program's own commands, started again whenever they are gone."""

    def __init__(self):
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler, self.workers, self.rest_until = None, [None, None], 0.0

    def tend(self):
        if time.monotonic() < self.rest_until:
            return
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.scheduler = self._start("scheduler", "--listen", self.address, "--dashboard-port", "0")
        for place, worker in enumerate(self.workers):
            if worker is None or worker.poll() is not None:
                about = ("--workers", "1", "--name", f"host-{place}", "--backend", "cpu", "--wait", "20")
                self.workers[place] = self._start("worker", self.address, *about)

    def _start(self, *arguments):
        return subprocess.Popen(
            [sys.executable, "-m", "antennaopt", *arguments],
            env={**os.environ, "PYTHONPATH": f"{HERE}:{HERE.parents[1]}", "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def close(self):
        for process in (*self.workers, self.scheduler):
            if process is not None:
                end(process)


def end(process):
    for one in [*children(process.pid), process]:
        with suppress(psutil.Error, ProcessLookupError):
            one.kill()
    process.wait()


def children(pid):
    with suppress(psutil.Error):
        return psutil.Process(pid).children(recursive=True)
    return []


def worker_processes(pid):
    """Those that solve, below a driver or a nanny."""
    found = []
    for child in children(pid):
        with suppress(psutil.Error):
            if "spawn_main" in " ".join(child.cmdline()):
                found.append(child.pid)
    return found


class Round:
    """One run, struck until it is done."""

    def __init__(self, number, chance, log, folder, *, remote):
        self.number, self.chance, self.log, self.root = number, chance, log, folder
        self.fleet = Fleet() if remote else None
        self.driver = None
        self.waking = []
        self.errors = folder / "stderr"

    def carry_out(self):
        quiet = self._quiet()
        try:
            for _ in range(MOST_SESSIONS):
                code = self._session()
                said = self.errors.read_text().splitlines()[-1:] if code == 5 else []
                self.log.say("driver_ended", round=self.number, code=code, **({"said": said[0]} if said else {}))
                if code not in EXPECTED:
                    raise AssertionError(f"exit code {code}: {self.errors.read_text()[-3000:]}")
                if code == 0:
                    break
            else:
                raise AssertionError(f"no end after {MOST_SESSIONS} sessions: {self.errors.read_text()[-3000:]}")
        finally:
            if self.fleet:
                self.fleet.close()
        bits.assert_equal(self._folder(), quiet)
        told = Counter(one["event"] for one in bits.events(self._folder()))
        told.pop("generation", None)
        self.log.say("equal", round=self.number, remote=self.fleet is not None, rows=len(bits.rows(quiet)), told=told)

    def _command(self, *arguments):
        return [sys.executable, str(HERE / "cheap_lens.py"), *arguments]

    def _quiet(self):
        plan = {"sleep_s": 0.0}
        done = subprocess.run(
            self._command("run", str(self.root / "quiet"), json.dumps(plan), *self._experiment(), "--serial"),
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return Path(done.stdout.strip().splitlines()[-1])

    def _experiment(self):
        return ["--evolution", json.dumps(EVOLUTION), "--seed", str(self.number)]

    def _folder(self):
        found = list((self.root / "run" / "cheap_lens").glob("*"))
        return found[0] if found else None

    def _session(self):
        """Begin the run or go on with it; strike until the driver is gone; return its exit code."""
        folder = self._folder()
        if folder is not None and not (folder / "manifest.json").exists():
            shutil.rmtree(folder)  # killed before there was a run
            folder = None
        if folder is None:
            command = self._command(
                "run", str(self.root / "run"), json.dumps({"sleep_s": SLEEP_S}), *self._experiment()
            )
        else:
            command = self._command("resume", str(folder))
        if self.fleet:
            command += ["--scheduler", self.fleet.address]
            self.fleet.tend()
        with self.errors.open("w") as errors:
            self.driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            if self.chance.random() < 0.7:  # else while it begins
                self._await_first_words()
            next_strike = time.monotonic() + self.chance.uniform(0.5, 8.0)
            while self.driver.poll() is None:
                time.sleep(0.05)
                self._wake()
                if self.fleet:
                    self.fleet.tend()
                if time.monotonic() >= next_strike:
                    self._strike()
                    next_strike = time.monotonic() + self.chance.uniform(0.2, 4.0)
        finally:
            end(self.driver)
        return self.driver.returncode

    def _await_first_words(self):
        """Wait until the driver is at work: on a busy machine none would be, were each struck after some seconds."""
        while self.driver.poll() is None and not self.errors.stat().st_size:
            time.sleep(0.05)
            if self.fleet:
                self.fleet.tend()

    def _strike(self):
        (what, number), pid = self.chance.choices(list(STRIKES), list(STRIKES.values()))[0], None
        if what == "driver":
            pid = self.driver.pid
        elif what == "worker":
            above = [one.pid for one in self.fleet.workers if one] if self.fleet else [self.driver.pid]
            found = [pid for one in above for pid in worker_processes(one)]
            pid = self.chance.choice(found) if found else None
        elif self.fleet:
            process = self.fleet.scheduler if what == "scheduler" else self.chance.choice(self.fleet.workers)
            pid = process.pid if process is not None and process.poll() is None else None
        elif what == "scheduler" and number == signal.SIGKILL:
            pid, number = self.driver.pid, signal.SIGUSR1  # it lives in the driver, which ends it on this signal
        if pid is None:
            return
        with suppress(ProcessLookupError):
            os.kill(pid, number)
            self.log.say("strike", round=self.number, what=what, signal=signal.Signals(number).name)
        if number == signal.SIGSTOP and (what != "worker" or self.fleet):
            self.waking.append((time.monotonic() + self.chance.uniform(0.5, 5.0), pid))
        if what == "scheduler" and self.fleet and number == signal.SIGKILL:
            self.fleet.rest_until = time.monotonic() + self.chance.choice([0.0, 2.0, 15.0])

    def _wake(self):
        due = [pid for at, pid in self.waking if at <= time.monotonic()]
        self.waking = [one for one in self.waking if one[1] not in due]
        for pid in due:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def commit():
    """Of this text, with `-dirty` when it was changed since."""
    said = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=HERE, capture_output=True, text=True)
    return said.stdout.strip()


def soak(seconds, *, seed=1, log_path=None, rounds=None):
    """Strike for so long, then finish the round; return how many rounds were equal."""
    log, chance = Log(log_path), random.Random(seed)
    log.say(
        "began",
        commit=commit(),
        seconds=seconds,
        seed=seed,
        cores=len(os.sched_getaffinity(0)),
        python=sys.version.split()[0],
    )
    done = 0
    while time.monotonic() - log.began < seconds and (rounds is None or done < rounds):
        with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as folder:
            one = Round(done + 1, chance, log, Path(folder), remote=done % 2 == 1)
            try:
                one.carry_out()
            except AssertionError as error:
                log.say("DIFFERENT", round=one.number, error=str(error)[-3000:])
                shutil.copytree(folder, f"{folder}-kept")
                return done, log.counts
        done += 1
    log.say("finished", rounds=done, counts=dict(log.counts))
    return done, log.counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path)
    given = parser.parse_args()
    _, counts = soak(given.seconds, seed=given.seed, log_path=given.log)
    sys.exit(1 if counts["DIFFERENT"] else 0)
