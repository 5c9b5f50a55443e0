"""`antennaopt doctor`: what this machine can run."""

from __future__ import annotations

import platform
from importlib.util import find_spec
from typing import Any

import click

from antennaopt.cli.options import check_writable, json_option, write_json
from antennaopt.errors import ClusterError
from antennaopt.solve.device import usable_cores

TESTS = {"cpu": "cpu_test", "cuda": "self_test"}
"""Name of each backend's self-test in what is found."""

ADVICE = {"cpu": "please report it with the lines above", "cuda": "use --backend cpu"}

COMPARED = {
    "cpu": "one antenna within {:.1g} dB of the oracle's, solved again",
    "cuda": "three antennas within {:.1g} dB of the CPU's, one of them alone",
}


@click.command(short_help="Show what this machine can run.")
@click.option("--no-self-test", is_flag=True, help="Skip the self-tests; solve nothing.")
@click.option("--paces", is_flag=True, help="Measure the rates of the schemes on this device; takes a minute.")
@json_option
def doctor(no_self_test: bool, paces: bool, json_file: str | None) -> None:
    """Show Python, packages, cores, memory, CUDA devices and their schemes, and run self-tests.

    The CPU solves a small antenna, which must agree with the reference backend in NumPy. CPU kernels are compiled first
    if necessary. A device solves three antennas, which must agree with the CPU.

    Studies choose a scheme by the rates of an H200. --paces measures the rates of this device and keeps them in the
    cache folder, for this driver and these kernels. Studies then use them, and belong to another arithmetic class.

    \b
    Examples:
      antennaopt doctor
      antennaopt doctor --paces
    """  # noqa: D301 - \b is click's
    check_writable(json_file)
    found = examine()
    if not no_self_test:
        found["cpu_test"] = _self_test("cpu", against="reference", antennas=1)
        if found["devices"]:
            found["self_test"] = _self_test()
    if paces:
        found["paces"] = _paces(found)
    write_json(json_file, found)
    if json_file != "-":
        click.echo("\n".join(_lines(found)))
    for backend, name in TESTS.items():
        test = found.get(name)
        if test and not test["passed"]:
            raise ClusterError(f"backend {backend} fails its self-test: {_verdict(test, backend)}; {ADVICE[backend]}")


def examine() -> dict[str, Any]:
    """Return what is found, JSON-able."""
    from antennaopt.machine import processor_name
    from antennaopt.solve.capacity import memory_bytes
    from antennaopt.store.manifest import package_versions
    from fdtd.cache_folder import cache_folder

    packages = package_versions()
    cuda, devices = _cuda()
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": processor_name(),
        "cores": usable_cores(),
        "memory_bytes": memory_bytes(),
        "packages": packages,
        "cuda": cuda,
        "devices": devices,
        "dask": packages.get("distributed"),
        "cache_folder": str(cache_folder()),
        "backends": {
            "reference": (True, "NumPy, float64, slow: the oracle"),
            "cpu": (find_spec("numba") is not None, f"Numba {packages.get('numba', 'is not installed')}"),
            "cuda": (bool(devices), cuda),
        },
    }


def _cuda() -> tuple[str, list[dict[str, Any]]]:
    """Return the CUDA backend's software, or what is missing, and the devices with what each scheme can do."""
    from antennaopt.bench.support import support_matrix
    from fdtd.backends.cuda import present
    from fdtd.errors import DeviceError

    try:
        found = present.devices()
        version = present.driver_version()
    except DeviceError as error:
        return str(error), []
    devices = [
        {
            "name": one.name,
            "uuid": one.uuid,
            "compute_capability": one.limits.capability / 10,
            "memory_bytes": one.limits.memory_bytes,
            "multiprocessors": one.limits.multiprocessors,
            "shared_bytes": one.limits.shared_bytes,
            "schemes": [row for row in support_matrix(one.limits) if row["backend"] == "cuda"],
        }
        for one in found
    ]
    driver = f"driver for CUDA {version // 1000}.{version % 1000 // 10}"
    return f"{driver}, {present.cupy_package()}, {len(devices)} device{'s' if len(devices) > 1 else ''}", devices


def _paces(found: dict[str, Any]) -> dict[str, float]:
    """Measure the first device.

    Raises:
        ClusterError: There is no device, or the cache folder cannot be written.
    """
    from antennaopt.bench.paces import measure_paces

    if not found["devices"]:
        raise ClusterError(f"--paces needs a CUDA device: {found['cuda']}")
    try:
        return measure_paces()
    except OSError as error:
        raise ClusterError(f"--paces cannot keep what it measures in {found['cache_folder']} ({error})") from error


def _lines(found: dict[str, Any]) -> list[str]:
    memory = found["memory_bytes"]
    lines = [
        f"python     {found['python']}",
        f"system     {found['system']}",
        f"processor  {found['processor']}, {found['cores']} cores usable",
        f"memory     {memory / 2**30:.1f} GiB" if memory else "memory     unknown",
        f"caches     {found['cache_folder']}",
        "packages   " + ", ".join(f"{name} {version}" for name, version in found["packages"].items()),
    ]
    lines += [f"backend    {name}: {'yes' if able else 'no'}, {why}" for name, (able, why) in found["backends"].items()]
    for place, one in enumerate(found["devices"]):
        lines.append(
            f"device {place}   {one['name']}, compute capability {one['compute_capability']:.1f}, "
            f"{one['memory_bytes'] / 2**30:.1f} GiB, {one['multiprocessors']} multiprocessors"
        )
    for row in found["devices"][0]["schemes"] if found["devices"] else ():
        able = "yes" if row["works"] else f"no, {row['reason']}"
        lines.append(f"scheme     {row['stencil']} {row['scheme']}: {able}")
    for key, ratio in found.get("paces", {}).items():
        lines.append(f"pace       {key}: {ratio:.2f} of an H200's")
    for backend, name in TESTS.items():
        if name in found:
            lines.append(f"self-test  {backend}: {_verdict(found[name], backend)}")
    if not found["devices"]:
        lines.append("self-test  cuda: none, there is no device to test")
    return lines


def _self_test(*backend: str, **options: Any) -> dict[str, Any]:
    from antennaopt.bench.support import self_test

    try:
        return self_test(*backend, **options)
    except Exception as error:  # to find what is missing or broken is this command's task
        name = "" if type(error).__module__ == "fdtd.errors" else f"{type(error).__name__}: "
        return {"passed": False, "error": " ".join(f"{name}{error}".split())}


def _verdict(test: dict[str, Any], backend: str) -> str:
    """Return the result of a self-test in words."""
    if test.get("error"):
        return f"failed, {test['error']}"
    if test["worst_db"] is None:
        return "failed, the antennas are not solved"
    alone = "the same to the bit" if test["repeats"] else "not the same to the bit"
    return (
        f"{'passed' if test['passed'] else 'failed'} in {test['seconds']:.1f} s: "
        f"{COMPARED[backend].format(test['worst_db'])} {alone}"
    )
