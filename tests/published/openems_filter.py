"""A program of its own for openEMS: solves the microstrip filter of a JSON file, on the lattice lines in it.

Run with the system's Python: `/usr/bin/python3 openems_filter.py filter.json result.json`.
"""

import tempfile

import numpy as np
from openems_program import ContinuousStructure, main, openEMS


def solve(given):
    low, high = given["band_hz"]
    program = openEMS(NrTS=given["steps"], EndCriteria=10 ** (given["decay_db"] / 10))
    program.SetGaussExcite((low + high) / 2, (high - low) / 2)
    program.SetBoundaryCond(["PML_8"] * 4 + ["PEC", "PML_8"])
    structure = ContinuousStructure()
    program.SetCSX(structure)
    mesh = structure.GetGrid()
    mesh.SetDeltaUnit(1.0)
    lines = given["lines_m"]
    for axis in "xyz":
        mesh.AddLine(axis, lines[axis])
    height = given["height_m"]
    substrate = structure.AddMaterial("substrate", epsilon=given["permittivity"])
    substrate.AddBox([lines["x"][0], lines["y"][0], 0.0], [lines["x"][-1], lines["y"][-1], height], priority=0)
    metal = structure.AddMetal("metal")
    (x0, x1), (y0, y1) = given["patch_m"]
    metal.AddBox([x0, y0, height], [x1, y1, height], priority=10)
    ports = []
    for number, one in enumerate(given["lines"]):
        start = [one["strip"][0], one["from"], height]
        stop = [one["strip"][1], one["to"], 0.0]
        ports.append(
            program.AddMSLPort(
                number + 1, metal, start, stop, "y", "z", -1 if number == 0 else 0,
                FeedShift=one["feed"], MeasPlaneShift=one["measured"], priority=10,
            )
        )  # fmt: skip
    folder = tempfile.mkdtemp()
    program.Run(folder, verbose=0, cleanup=True, numThreads=1)
    frequencies = np.array(given["frequencies_hz"])
    for port in ports:
        port.CalcPort(folder, frequencies)
    waves = [port.uf_ref / ports[0].uf_inc for port in ports]
    return {"s": [[[one.real, one.imag] for one in wave] for wave in waves]}


if __name__ == "__main__":
    main(solve)
