"""What some tests need and not every machine has; `ANTENNAOPT_REQUIRE=hosts,mount` makes the lack of it a failure."""

import os
from typing import NoReturn

import pytest

VARIABLE = "ANTENNAOPT_REQUIRE"

NEEDS = {
    "hosts": "network namespaces with virtual Ethernet between them: root and iproute2",
    "mount": "a file system of its own: root, and a kernel that lets it mount a tmpfs",
    "accounts": "a second account of this machine: root, which may start a process as any",
    "meep": "Meep in the system's Python: Debian's python3-meep",
    "openems": "openEMS in the system's Python: Debian's python3-openems",
    "build123d": "build123d, of the extra step",
    "atheris": "atheris, of the extra dev: Linux on x86-64, Python 3.11 to 3.13",
}
"""What may be lacking, by the name that the variable takes."""


def required(text: str | None = None) -> frozenset[str]:
    """Return what may not be lacking.

    Args:
        text: Names by comma; the variable's when None.

    Raises:
        pytest.UsageError: A name is not known.
    """
    given = os.environ.get(VARIABLE, "") if text is None else text
    names = frozenset(name.strip() for name in given.split(",") if name.strip())
    unknown = sorted(names - NEEDS.keys())
    if unknown:
        raise pytest.UsageError(f"{VARIABLE} names {', '.join(unknown)}; it takes {', '.join(NEEDS)}, by comma")
    return names


def skip_without(need: str, why: str) -> NoReturn:
    """Skip a test that lacks something, or fail it where that is required.

    Args:
        need: One of `NEEDS`.
        why: What was tried and what came of it.
    """
    assert need in NEEDS, need
    if need in required():
        pytest.fail(f"{VARIABLE} requires {need} ({NEEDS[need]}): {why}", pytrace=False)
    pytest.skip(why)
