"""Where a run's numbers come from: versions, source revision, machine."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

from antennaopt.installed import installed, processor_name

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
