"""`antennaopt doctor`: what this machine can run."""

from __future__ import annotations

import json
import platform
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from antennaopt.cli.machine import memory_bytes, usable_cores
from antennaopt.cli.options import check_writable, json_option, write_out


@click.command(short_help="Show what this machine can run.")
@json_option
def doctor(json_file: str | None) -> None:
    """Show Python, packages, cores, memory and which backends can run here.

    \b
    Example:
      antennaopt doctor
    """  # noqa: D301 - \b is click's
    check_writable(json_file)
    found = examine()
    if json_file is not None:
        write_out(json_file, json.dumps(found, indent=1) + "\n")
    if json_file == "-":
        return
    memory = found["memory_bytes"]
    click.echo(f"python     {found['python']}")
    click.echo(f"system     {found['system']}")
    click.echo(f"processor  {found['processor']}, {found['cores']} cores usable")
    click.echo(f"memory     {memory / 2**30:.1f} GiB" if memory else "memory     unknown")
    click.echo("packages   " + ", ".join(f"{name} {version}" for name, version in found["packages"].items()))
    click.echo(f"cuda       {found['cuda']}")
    for name, (able, why) in found["backends"].items():
        click.echo(f"backend    {name}: {'yes' if able else 'no'}, {why}")


def examine() -> dict[str, Any]:
    """Return what is found, JSON-able."""
    from antennaopt.results.versions import package_versions, processor_name

    packages = package_versions()
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": processor_name(),
        "cores": usable_cores(),
        "memory_bytes": memory_bytes(),
        "packages": packages,
        "cuda": _cuda(),
        "dask": packages.get("distributed"),
        "backends": {
            "reference": (True, "NumPy, float64, slow: the oracle"),
            "cpu": (find_spec("numba") is not None, f"Numba {packages.get('numba', 'is not installed')}"),
            "cuda": (False, "not available in this version"),
        },
    }


def _cuda() -> str:
    driver = Path("/proc/driver/nvidia/version")
    has_driver = driver.exists() or shutil.which("nvidia-smi") is not None
    has_cupy = find_spec("cupy") is not None
    if not has_driver:
        return "no NVIDIA driver" + (", CuPy is installed" if has_cupy else "")
    return "NVIDIA driver found, " + (
        "CuPy is installed" if has_cupy else "CuPy is not installed (extra cuda12 or cuda13)"
    )
