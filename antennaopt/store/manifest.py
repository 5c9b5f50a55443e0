"""`manifest.json` and `resolved.json` of a run folder, and the provenance that the manifest records."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antennaopt.errors import ResumeRefusedError
from antennaopt.machine import installed, processor_name, read_regular
from antennaopt.store.schema import SCHEMA_VERSION, RunColumns

PACKAGES = (
    "antennaopt",
    "numpy",
    "numba",
    "scipy",
    "deap",
    "dask",
    "distributed",
    "pyarrow",
    "pandas",
    "pydantic",
    "cupy-cuda12x",
    "cupy-cuda13x",
)


@dataclass(frozen=True, kw_only=True)
class ExperimentRecord:
    """An experiment as its run folder keeps it.

    Attributes:
        name: Its name.
        source: Text of the experiment file as given.
        resolved: The experiment with every default written back, JSON-able.
        config_hash: SHA-256 of what decides the numbers, hexadecimal.
    """

    name: str
    source: str
    resolved: Mapping[str, Any]
    config_hash: str


def provenance() -> dict[str, Any]:
    """Return package versions, the source's git commit if there is one, Python and the machine, JSON-able."""
    return {
        "versions": package_versions(),
        "commit": source_commit(),
        "python": platform.python_version(),
        "machine": {
            "system": platform.platform(),
            "processor": processor_name(),
            "cores": os.cpu_count(),
        },
    }


def package_versions() -> dict[str, str]:
    """Return the versions of the packages that can decide a number or a file, those that are installed."""
    return installed(PACKAGES)


def source_commit() -> str | None:
    """Return the commit of the checkout that this code runs from, `+changes` added when it is modified, or None."""
    root = Path(__file__).resolve().parents[2]
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return None
    commit = _git(git, root, "rev-parse", "HEAD")
    if not commit:
        return None
    return commit + ("+changes" if _git(git, root, "status", "--porcelain", "--untracked-files=no") else "")


def _git(git: str, root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments, no shell
            [git, "-C", str(root), *arguments], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def read_manifest(path: Path) -> dict[str, Any]:
    """Return a run folder's manifest.

    Raises:
        ResumeRefusedError: It is no run folder, is damaged, or was written by a newer version.
    """
    manifest = read_object(path / "manifest.json")
    version = manifest.get("schema_version")
    if not isinstance(version, int) or not {"columns", "config_hash"} <= manifest.keys():
        raise ResumeRefusedError(f"{path / 'manifest.json'} is damaged; restore it from a copy")
    if version > SCHEMA_VERSION:
        raise ResumeRefusedError(
            f"{path} has schema version {version}, this program reads up to {SCHEMA_VERSION}; "
            "use the newer antennaopt that wrote it"
        )
    return manifest


def columns_of(path: Path, manifest: Mapping[str, Any]) -> RunColumns:
    """Return the columns that a run folder's manifest names.

    Raises:
        ResumeRefusedError: They are damaged.
    """
    try:
        columns = RunColumns.from_dict(manifest["columns"])
        columns.evals_schema(config_hash=str(manifest["config_hash"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        file = path / "manifest.json"
        raise ResumeRefusedError(f"{file} is damaged ({problem}); restore it from a copy") from problem
    return columns


def read_object(path: Path) -> dict[str, Any]:
    """Return the object that a JSON file of a run folder holds.

    Raises:
        ResumeRefusedError: It is missing or damaged.
    """
    try:
        value = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise ResumeRefusedError(f"{path.parent} is not a run folder ({path.name} is missing)") from None
    except (OSError, ValueError, RecursionError) as problem:
        raise ResumeRefusedError(f"{path} is damaged and cannot be read: {problem}") from problem
    if not isinstance(value, dict):
        raise ResumeRefusedError(f"{path} is damaged: it does not hold an object")
    return value


def read_source(path: Path) -> str:
    """Return the experiment file of a run folder, as given.

    Raises:
        ResumeRefusedError: It is missing or damaged.
    """
    try:
        return read_regular(path).decode().replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as problem:
        raise ResumeRefusedError(f"{path} cannot be read ({type(problem).__name__}); restore the run folder") from None


def pretty(value: Mapping[str, Any]) -> str:
    """Return an object as JSON for people, its keys sorted."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
