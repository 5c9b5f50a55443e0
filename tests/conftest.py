"""Figures that tests hand out: with `--validation FILE` they are kept for docs/validation.md."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Measured = Callable[..., float]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--validation", type=Path, metavar="FILE", help="write the figures that the tests measured (JSON)")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--validation")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Collector(path), "validation-figures")


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
            {"name": name, "value": value, "unit": unit}
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
    """Gathers the figures of every test, from worker processes too, and writes them at the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.figures: dict[str, list[dict[str, Any]]] = {}
        self.tests: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            file, _, test = report.nodeid.partition("::")
            self.tests.append({"file": file, "test": test, "outcome": report.outcome, "seconds": report.duration})
        elif report.when == "teardown":
            found = [figure for key, figures in report.user_properties if key == "measured" for figure in figures]
            self.figures[report.nodeid] = found

    def pytest_sessionfinish(self) -> None:
        tests = sorted(self.tests, key=lambda test: test["file"])
        for test in tests:
            test["seconds"] = round(test["seconds"], 3)
            test["figures"] = self.figures.get(f"{test['file']}::{test['test']}", [])
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(tests, indent=1) + "\n", "utf-8")
