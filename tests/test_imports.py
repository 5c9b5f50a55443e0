"""Imports run downwards only, and each heavy library is known in one place: the rules of the design.

    errors <- grid <- scene, media, boundaries, waveforms <- sources, monitors <- backends <- simulation
    ports and farfield read records only; fdtd never imports antennaopt
    CuPy only in backends/cuda, Numba only in backends/cpu, DEAP only in evolution, Dask only in evaluation, PyArrow
    only in results, Matplotlib only in reports, pydantic only in config; objectives read metrics only

All import statements count, those inside functions and under TYPE_CHECKING too.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("fdtd", "antennaopt")

# Lower ranks may not import higher ones; within a rank only itself.
RANKS = (
    ("errors", "arrays", "cache_folder"),
    ("grid",),
    ("scene", "boundaries", "waveforms"),
    ("media", "conductors", "sources", "monitors"),
    ("rims", "ports", "farfield", "problem", "planar", "jacobi"),
    ("planar_bodies",),
    ("stencils",),
    ("tiling",),
    ("backends",),
    ("layout",),
    ("solutions", "planar_scattering"),
    ("simulation",),
)

HOMES = {
    "cupy": ("fdtd.backends.cuda",),
    "numba": ("fdtd.backends.cpu",),
    "deap": ("antennaopt.evolution",),
    "dask": ("antennaopt.evaluation",),
    "distributed": ("antennaopt.evaluation",),
    "dask_jobqueue": ("antennaopt.evaluation",),
    "dask_kubernetes": ("antennaopt.evaluation",),
    "bokeh": ("antennaopt.evaluation",),
    "prometheus_client": ("antennaopt.evaluation",),
    "cryptography": ("antennaopt.certificate_authority",),
    "pyarrow": ("antennaopt.results",),
    "matplotlib": ("antennaopt.reports",),
    "jinja2": ("antennaopt.reports",),
    "pydantic": ("antennaopt.config",),
    "meep": (),  # GPL: only the scripts that `export --format meep` writes import it, in a process of their own
}

EXTRA_MODULES = {"cupy-cuda12x": "cupy", "cupy-cuda13x": "cupy"}
"""Imported names of packages where these differ."""

# What a worker imports to evaluate must not bring in any of these, nor these parts of our own.
LIGHT = ("antennaopt.evaluation.evaluate", "antennaopt.evaluation.plan", "antennaopt.geometry", "fdtd")
HEAVY = ("pandas", "pyarrow", "matplotlib", "deap", "dask", "distributed", "pydantic", "jinja2", "click", "rich")


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(source: str, module: str, package: bool) -> Iterator[str]:
    """Every module named in an import statement; `from a import b` yields a.b, since b may be a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                stem = module.split(".") if package else module.split(".")[:-1]
                base = ".".join([*stem[: len(stem) - node.level + 1], *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


@lru_cache
def graph() -> dict[str, frozenset[str]]:
    """Modules of both packages and what each imports."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = module_name(path)
            found[name] = frozenset(imports(path.read_text("utf-8"), name, path.name == "__init__.py"))
    return found


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def rank(name: str) -> int | None:
    """Place of a module of fdtd in the order, or None for the package itself and for others."""
    parts = name.split(".")
    if parts[0] != "fdtd" or len(parts) < 2:
        return None
    return next((at for at, group in enumerate(RANKS) if parts[1] in group), None)


def test_every_solver_module_has_a_rank() -> None:
    """A new module must be given its place here."""
    assert [name for name in graph() if within(name, "fdtd") and name != "fdtd" and rank(name) is None] == []


def test_solver_imports_run_downwards() -> None:
    """From a rank only to lower ones, or within the same file or folder."""
    upward = []
    for name, imported in graph().items():
        own = rank(name)
        for target in imported:
            below = rank(target)
            same = name.split(".")[1:2] == target.split(".")[1:2]
            if own is not None and below is not None and not same and below >= own:
                upward.append(f"{name} -> {target}")
    assert upward == []


def test_solver_knows_no_optimiser() -> None:
    assert [name for name, imported in graph().items() for target in imported
            if within(name, "fdtd") and within(target, "antennaopt")] == []  # fmt: skip


def test_every_dependency_and_extra_is_imported() -> None:
    """One that nothing imports costs an installation and is trusted for nothing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [one for name, many in project["optional-dependencies"].items() if name != "dev" for one in many]
    names = [re.split(r"[\[>=<;]", one)[0].strip() for one in (*project["dependencies"], *extras)]
    imported = {target.split(".")[0] for targets in graph().values() for target in targets}
    unused = [one for one in names if EXTRA_MODULES.get(one, one).replace("-", "_") not in imported]
    assert unused == []


@pytest.mark.parametrize("reader", ["fdtd.ports", "fdtd.farfield"])
def test_ports_and_far_field_read_records_only(reader: str) -> None:
    """They know the lattice and the monitors that made the records, not how fields are stepped."""
    allowed = ("fdtd.errors", "fdtd.arrays", "fdtd.grid", "fdtd.monitors", reader)
    used = {target for name, targets in graph().items() if within(name, reader) for target in targets}
    assert [target for target in used if within(target, "fdtd") and not any(within(target, a) for a in allowed)] == []


@pytest.mark.parametrize("library", HOMES)
def test_library_is_known_in_one_place(library: str) -> None:
    strangers = [
        name
        for name, imported in graph().items()
        if any(within(target, library) for target in imported)
        and not any(within(name, home) for home in HOMES[library])
    ]
    assert strangers == []


def test_objectives_read_metrics_only() -> None:
    """Of our own, nothing but errors: outcomes are plain dicts."""
    used = {target for name, targets in graph().items() if within(name, "antennaopt.objectives") for target in targets}
    allowed = ("antennaopt.objectives", "antennaopt.errors", "fdtd.errors")
    ours = [target for target in used if any(within(target, package) for package in PACKAGES)]
    assert [target for target in ours if not any(within(target, home) for home in allowed)] == []


def test_reports_read_files_only() -> None:
    """No live objects: neither the search nor the solver nor the farm."""
    forbidden = ("antennaopt.evolution", "antennaopt.evaluation", "antennaopt.study", "fdtd")
    used = {target for name, targets in graph().items() if within(name, "antennaopt.reports") for target in targets}
    assert [target for target in used if any(within(target, one) for one in forbidden)] == []


@pytest.mark.parametrize(
    "package", ["geometry", "objectives", "evaluation", "evolution", "results", "exports", "config"]
)
def test_nothing_below_imports_the_command_line(package: str) -> None:
    """Evaluation <- evolution <- cli; results <- reports, exports."""
    above = {"cli", "study", "reports", "bench"}
    if package != "exports":
        above.add("exports")
    found = [
        f"{name} -> {target}"
        for name, imported in graph().items()
        for target in imported
        if within(name, f"antennaopt.{package}")
        and target.split(".")[0] == "antennaopt"
        and target.split(".")[1] in above
    ]
    assert found == []


def test_workers_stay_light() -> None:
    """All that evaluating imports, directly or through others, is NumPy, SciPy, Numba and ourselves."""
    todo, seen = [name for name in graph() if any(within(name, one) for one in LIGHT)], set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        parents = [name.rsplit(".", n)[0] for n in range(1, name.count(".") + 1)]
        for target in [*graph()[name], *parents]:
            module = target if target in graph() else target.rsplit(".", 1)[0]
            if module in graph():
                todo.append(module)
            assert not any(within(target, library) for library in HEAVY), f"{name} imports {target}"
    assert "fdtd.simulation" in seen


def test_the_walker_sees_every_form() -> None:
    """Relative, aliased, in functions: each counts."""
    source = "import a.b as c\nfrom . import d\nfrom ..e import f\ndef g():\n    from h.i import j\n"
    assert set(imports(source, "x.y.z", package=False)) == {"a.b", "x.y.d", "x.e.f", "h.i.j"}
    assert set(imports("from .w import v", "x.y", package=True)) == {"x.y.w.v"}
