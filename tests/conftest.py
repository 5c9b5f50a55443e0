"""Figures that tests hand out: with `--validation FILE` they are kept for docs/validation.md."""

from __future__ import annotations

import ast
import base64
import gc
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# With more threads than free cores OpenBLAS's threads wait for each other in loops: eigenvalues of 144 x 144 took 0.9 s
# in place of 0.01 s on two busy cores. Read where NumPy is imported: here, in workers and in what they start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings
from required import required

settings.register_profile("no clock", deadline=None)
settings.load_profile("no clock")

Measured = Callable[..., float]


@pytest.fixture
def blank_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every figure of a report, but put a blank picture in its place: most of a report's time goes into these."""
    picture = "data:image/svg+xml;base64," + base64.b64encode(b"<svg></svg>").decode()
    monkeypatch.setattr("antennaopt.report.drawn.data_address", lambda figure: picture)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--validation", type=Path, metavar="FILE", help="write the figures that the tests measured (JSON)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """For the page a slow test that measures nothing need not run."""
    if config.getoption("--validation") is None:
        return
    idle = [item for item in items if item.get_closest_marker("slow") and "measured" not in _fixtures(item)]
    config.hook.pytest_deselected(items=idle)
    items[:] = [item for item in items if item not in idle]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for garbage once, at the end: a million objects stay.

    They are not frozen: a study that begins where something is frozen counts it, which takes 0.1 s for these.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.enable()


def _first_sentence(path: Path) -> str:
    """What a test file says it is about."""
    paragraph = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or path.stem).split("\n\n")[0]
    return " ".join(paragraph.split()).split(". ")[0].rstrip(".")


def _fixtures(item: pytest.Item) -> list[str]:
    return getattr(item, "fixturenames", [])


def pytest_configure(config: pytest.Config) -> None:
    required()  # a name that is not known is refused before anything runs
    sys.dont_write_bytecode = False  # hundreds of processes start in tests; without bytecode each compiles our text
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["ANTENNAOPT_CACHE"] = "off"  # nothing that a user has solved may reach a test, nor the other way round
    share_emulation_builds(config)
    path = config.getoption("--validation")
    if path is not None and not hasattr(config, "workerinput"):  # of several processes, the one that has all reports
        config.pluginmanager.register(Collector(path, config.rootpath), "validation-figures")


EMULATION_BUILDS = "FDTD_EMULATION_BUILDS"
KEPT_S = 14 * 86400


def share_emulation_builds(config: pytest.Config) -> None:
    """Keep compiled kernel texts of the emulation in pytest's cache, for all workers, their processes and later runs.

    A library's path is made of its text, the emulation, the flags and the compiler (tests/emulation/host_device.py).
    Those not used for `KEPT_S` are removed.
    """
    cache = getattr(config, "cache", None)
    if cache is None or EMULATION_BUILDS in os.environ:
        return
    builds = cache.mkdir("emulation")
    os.environ[EMULATION_BUILDS] = str(builds)
    before = time.time() - KEPT_S
    for folder in builds.iterdir():
        if folder.stat().st_mtime < before:
            shutil.rmtree(folder)
    for library in builds.glob("*/*.so"):
        if library.stat().st_mtime < before:
            library.unlink()


SAFE_PATH = os.environ.get("PYTHONSAFEPATH")


@pytest.fixture(autouse=True)
def own_path() -> Iterator[None]:
    """Unset what a farm sets in this process; scripts that later tests start would not find their own modules."""
    yield
    if SAFE_PATH is None:
        os.environ.pop("PYTHONSAFEPATH", None)
    else:
        os.environ["PYTHONSAFEPATH"] = SAFE_PATH


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Iterator[Measured]:
    """Hold one figure against its bound, and hand it out.

    `measured(name, value, unit="", at_most=None, at_least=None, **where)` fails the test when the value is on the
    wrong side, and returns it. `where` says at what resolution or place: figures of one name and test file make a
    curve over its first key, `measured("TE111", error, at_most=2e-3, cells_per_wavelength=20)`. Without a bound a
    figure is handed out only.
    """
    figures: list[dict[str, Any]] = []

    def hold(
        name: str,
        value: float,
        unit: str = "",
        *,
        at_most: float | None = None,
        at_least: float | None = None,
        **where: float | str,
    ) -> float:
        value = float(value)
        bounds = {"at_most": at_most, "at_least": at_least}
        figures.append(
            {"name": name, "value": float(f"{value:.6g}"), "unit": unit}
            | {key: float(bound) for key, bound in bounds.items() if bound is not None}
            | {"where": {key: at if isinstance(at, str) else float(at) for key, at in where.items()}}
        )
        place = "".join(f", {key} = {at}" for key, at in where.items())
        assert math.isfinite(value), f"{name}{place}: {value}"
        assert at_most is None or value <= at_most, f"{name}{place}: {value:.6g} {unit} is above {at_most:.6g}"
        assert at_least is None or value >= at_least, f"{name}{place}: {value:.6g} {unit} is below {at_least:.6g}"
        return value

    yield hold
    request.node.user_properties.append(("measured", figures))


class Collector:
    """Gathers the figures of every test, from worker processes too, and writes them at the end, file by file."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path, self.root = path, root
        self.figures: dict[str, list[dict[str, Any]]] = {}
        self.runs: dict[str, tuple[str, float]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
            self.runs[report.nodeid] = (report.outcome, report.duration)
        elif report.when == "teardown":
            found = [figure for key, figures in report.user_properties if key == "measured" for figure in figures]
            self.figures[report.nodeid] = found

    def pytest_sessionfinish(self) -> None:
        files = []
        for file in sorted({nodeid.partition("::")[0] for nodeid in self.runs}):
            ours = [nodeid for nodeid in sorted(self.runs) if nodeid.startswith(f"{file}::")]
            outcomes = [self.runs[nodeid][0] for nodeid in ours]
            about = {
                "file": file,
                "title": _first_sentence(self.root / file),
                "passed": outcomes.count("passed"),
                "failed": outcomes.count("failed"),
                "skipped": outcomes.count("skipped"),
                "seconds": round(sum(self.runs[nodeid][1] for nodeid in ours), 1),
            }
            rows = [
                json.dumps({"test": nodeid.partition("::")[2], **figure})
                for nodeid in ours
                for figure in self.figures.get(nodeid, ())
            ]
            head = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in about.items())
            files.append(f'{{{head}, "figures": [\n  ' + ",\n  ".join(rows) + "\n ]}")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("[\n " + ",\n ".join(files) + "\n]\n", "utf-8")
