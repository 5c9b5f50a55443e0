"""What the programs for openEMS share: its modules under the NumPy of today, and a JSON file in and out.

They run with the system's Python, apart from the project.
"""

import builtins
import json
import sys

import numpy as np

for name in ("float", "int", "complex", "bool"):  # openEMS 0.0.35 uses names that NumPy 1.24 removed
    if name not in np.__dict__:
        setattr(np, name, getattr(builtins, name))

from CSXCAD import ContinuousStructure  # noqa: E402
from openEMS import openEMS  # noqa: E402

__all__ = ["ContinuousStructure", "main", "openEMS"]


def main(solve):
    """Read the problem from the file of the first argument, and write what `solve` returns to that of the second."""
    with open(sys.argv[1]) as file:
        read = json.load(file)
    with open(sys.argv[2], "w") as file:
        json.dump(solve(read), file)
