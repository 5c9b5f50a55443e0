"""Imports run downwards only, and each heavy library is known in one place: the rules of the design.

    fdtd: lattice <- scene, media <- problem, ports, far field <- schemes <- backends <- simulation; never antennaopt
    antennaopt: metrics <- figures <- families <- experiment <- solve <- search, store <- farm, report <- run <- bench
        <- cli
    CuPy only in backends/cuda, Numba only in backends/cpu, DEAP only in search, Dask only in the Dask files of farm,
    PyArrow only in store, Matplotlib only in report, pydantic only in experiment; objectives read metrics, figures only

All import statements count, those inside functions and under TYPE_CHECKING too.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("fdtd", "antennaopt")

# Lower ranks may not import higher ones; within a rank only itself.
RANKS = {
    "fdtd": (
        ("errors", "arrays", "cache_folder", "side_by_side"),
        ("stencils", "checks"),
        ("axisymmetric.grid", "axisymmetric.polygons", "axisymmetric.settings", "axisymmetric.wedges", "yee.grid"),
        ("axisymmetric.scene", "cpml", "waveforms", "yee.scene", "yee.lines", "yee.ringing"),
        ("axisymmetric.media", "axisymmetric.conductors", "axisymmetric.monitors"),
        ("yee.media", "yee.layers", "yee.stairs", "yee.symmetry", "yee.edges"),
        ("axisymmetric.rim_media", "axisymmetric.rim_windows"),
        (
            "axisymmetric.rims",
            "axisymmetric.ports",
            "axisymmetric.problem",
            "farfield",
            "planar.problem",
            "yee.problem",
            "yee.mesh",
        ),
        ("axisymmetric.near_fields", "planar.bodies", "planar.coefficients", "yee.ports", "yee.spectrum"),
        ("yee.surface", "yee.sphere"),
        ("schemes",),
        ("backends",),
        ("axisymmetric.layout",),
        ("axisymmetric.modes", "yee.waveguide", "yee.microstrip"),
        ("axisymmetric.solution",),
        ("axisymmetric.solutions", "planar.scattering", "yee.simulation"),
        ("yee.circuit",),
        ("axisymmetric.simulation",),
        ("axisymmetric.rehearsal",),
    ),
    "antennaopt": (
        ("errors",),
        ("quantities", "unchecked", "machine", "registry", "terminal", "settings", "sent"),
        ("metrics",),
        ("figures",),
        ("search.standing",),
        ("families", "search.objectives"),
        ("experiment",),
        ("solve",),
        ("search", "store"),
        ("timeline",),
        ("farm", "report"),
        ("run",),
        ("interface",),
        ("bench",),
        ("cli",),
    ),
}

# The pool on Dask, the clusters and the processes that it runs on. Farm, retries, dispatch, batches and exit causes
# know the interface of `antennaopt.farm.interface` only; a worker's task asks Dask for its own address.
DASK_FILES = tuple(
    f"antennaopt.farm.{name}"
    for name in (
        *("dask_pool", "dask_tasks", "dask_client", "local", "remote", "slurm", "slurm_jobs", "kubernetes"),
        *("hosts", "servers", "dashboard", "security", "task"),
    )
)

HOMES = {
    "cupy": ("fdtd.backends.cuda",),
    "numba": ("fdtd.backends.cpu",),
    "deap": ("antennaopt.search",),
    "moocore": ("antennaopt.search",),
    "dask": ("antennaopt.farm",),
    "distributed": ("antennaopt.farm",),
    "dask_jobqueue": ("antennaopt.farm",),
    "dask_kubernetes": ("antennaopt.farm",),
    "bokeh": ("antennaopt.farm",),
    "prometheus_client": ("antennaopt.farm",),
    "cryptography": ("antennaopt.farm.security",),
    "pyarrow": ("antennaopt.store",),
    "matplotlib": ("antennaopt.report",),
    "jinja2": ("antennaopt.report",),
    "shapely": ("antennaopt.report.geometry", "antennaopt.families.making"),
    "trimesh": ("antennaopt.report.geometry",),
    "gerber_writer": ("antennaopt.report.gerber",),
    "build123d": ("antennaopt.report.geometry", "antennaopt.report.board_step"),
    "pydantic": ("antennaopt.experiment",),
    "meep": (),  # GPL: only the scripts that `export --format meep` writes import it, in a process of their own
}

EXTRA_MODULES = {"cupy-cuda12x": "cupy", "cupy-cuda13x": "cupy"}
"""Imported names of packages where these differ."""

# What a worker imports to evaluate must not bring in any of these, nor these parts of our own.
LIGHT = ("antennaopt.solve.evaluate", "antennaopt.solve.plan", "antennaopt.families", "fdtd")
HEAVY = ("pandas", "pyarrow", "matplotlib", "deap", "dask", "distributed", "pydantic", "jinja2", "click", "rich",
         "shapely", "trimesh", "ezdxf")  # fmt: skip
ON_DEMAND = {"antennaopt.families.making": "shapely"}  # inside functions: only experiments with [limits] need it


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


def rank(name: str) -> tuple[int, str] | None:
    """Place of a module in its package's order, and the entry that holds it; None for the packages themselves."""
    package, _, inside = name.partition(".")
    entries = [
        (entry, at) for at, group in enumerate(RANKS.get(package, ())) for entry in group if within(inside, entry)
    ]
    return max(((at, entry) for entry, at in entries), key=lambda found: len(found[1]), default=None)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_has_a_rank(package: str) -> None:
    """A new module must be given its place here."""
    free = {package, "antennaopt.__main__", "fdtd.axisymmetric", "fdtd.planar", "fdtd.yee"}
    assert [name for name in graph() if within(name, package) and name not in free and rank(name) is None] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_run_downwards(package: str) -> None:
    """From a rank only to lower ones, or within the same file or folder."""
    upward = []
    for name, imported in graph().items():
        own = rank(name)
        for target in imported:
            below = rank(target)
            if (
                within(name, package)
                and within(target, package)
                and own
                and below
                and own != below
                and below[0] >= own[0]
            ):
                upward.append(f"{name} -> {target}")
    assert upward == []


def test_solver_knows_no_optimiser() -> None:
    assert [name for name, imported in graph().items() for target in imported
            if within(name, "fdtd") and within(target, "antennaopt")] == []  # fmt: skip


def test_every_dependency_and_extra_is_imported() -> None:
    """One that nothing imports costs an installation and is trusted for nothing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    tools = ("dev", "docs")  # programs that are run, not imported
    extras = [one for name, many in project["optional-dependencies"].items() if name not in tools for one in many]
    names = [re.split(r"[\[>=<;]", one)[0].strip() for one in (*project["dependencies"], *extras)]
    imported = {target.split(".")[0] for targets in graph().values() for target in targets}
    unused = [one for one in names if EXTRA_MODULES.get(one, one).replace("-", "_") not in imported]
    assert unused == []


@pytest.mark.parametrize("reader", ["fdtd.axisymmetric.ports", "fdtd.farfield"])
def test_ports_and_far_field_read_records_only(reader: str) -> None:
    """They know the lattice and the monitors that made the records, not how fields are stepped."""
    allowed = ("fdtd.errors", "fdtd.arrays", "fdtd.axisymmetric.grid", "fdtd.axisymmetric.monitors", reader)
    allowed += ("fdtd.yee.grid",)
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
    """Of our own, nothing but errors, the tables of metrics and figures, and the numbers of a batch."""
    goals = ("antennaopt.search.objectives", "antennaopt.search.standing")
    used = {
        target for name, targets in graph().items() if any(within(name, one) for one in goals) for target in targets
    }
    tables = ("antennaopt.metrics", "antennaopt.figures", "antennaopt.sent")
    allowed = (*goals, *tables, "antennaopt.errors", "fdtd.errors")
    ours = [target for target in used if any(within(target, package) for package in PACKAGES)]
    assert [target for target in ours if not any(within(target, home) for home in allowed)] == []


def test_reports_read_files_only() -> None:
    """No live objects: neither the search nor the solver nor the farm; only what certificates and goals say of data."""
    forbidden = ("antennaopt.search", "antennaopt.solve", "antennaopt.run", "antennaopt.farm", "fdtd")
    allowed = ("antennaopt.search.objectives", "antennaopt.solve.certificate")
    allowed += ("antennaopt.solve.cuts", "antennaopt.solve.modes", "fdtd.farfield")  # functions of stored results
    allowed += ("antennaopt.solve.lattices",)  # and of a stored plan
    allowed += ("antennaopt.search.fronts",)
    pages = [name for name in graph() if within(name, "antennaopt.report")]
    pages.remove("antennaopt.report.meep")  # writes the solver's layout as another program's
    used = {target for name in pages for target in graph()[name]}
    strangers = [target for target in used if any(within(target, one) for one in forbidden)]
    assert [target for target in strangers if not any(within(target, one) for one in allowed)] == []


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
            heavy = [library for library in HEAVY if within(target, library) and ON_DEMAND.get(name) != library]
            assert heavy == [], f"{name} imports {target}"
    assert "fdtd.axisymmetric.simulation" in seen


def test_families_load_no_interpolation() -> None:
    """SciPy's takes 0.15 s of every process that starts, and the families whose curves need it load it then."""
    code = "import antennaopt.farm.task, antennaopt.experiment, sys; print('scipy.interpolate' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False"]


def test_the_walker_sees_every_form() -> None:
    """Relative, aliased, in functions: each counts."""
    source = "import a.b as c\nfrom . import d\nfrom ..e import f\ndef g():\n    from h.i import j\n"
    assert set(imports(source, "x.y.z", package=False)) == {"a.b", "x.y.d", "x.e.f", "h.i.j"}
    assert set(imports("from .w import v", "x.y", package=True)) == {"x.y.w.v"}
