"""A program of its own for openEMS: solves sheets, slabs and cylinders of a JSON file, on the lattice lines in it.

Run with the system's Python: `/usr/bin/python3 openems_patch.py patch.json result.json`.
"""

import tempfile

import numpy as np
from openems_program import ContinuousStructure, main, openEMS


def solve(given):
    low, high = given["band_hz"]
    program = openEMS(NrTS=given["steps"], EndCriteria=10 ** (given["decay_db"] / 10))
    program.SetGaussExcite((low + high) / 2, given["width_hz"])
    program.SetBoundaryCond(["PML_8"] * 6)
    structure = ContinuousStructure()
    program.SetCSX(structure)
    mesh = structure.GetGrid()
    mesh.SetDeltaUnit(1.0)
    for axis in "xyz":
        mesh.AddLine(axis, given["lines_m"][axis])
    for number, slab in enumerate(given["slabs"]):
        structure.AddMaterial(f"slab_{number}", epsilon=slab["permittivity"]).AddBox(*slab["box_m"], priority=0)
    for number, rod in enumerate(given["rods"]):
        filled = structure.AddMaterial(f"rod_{number}", epsilon=rod["permittivity"])
        filled.AddCylinder(*rod["axis_m"], rod["radius_m"], priority=1)
    metal = structure.AddMetal("metal")
    for sheet in given["sheets_m"]:
        metal.AddBox(*sheet, priority=10)
    port = program.AddLumpedPort(1, 50, *given["port_m"], "z", 1.0, priority=5)
    box = program.CreateNF2FFBox()
    folder = tempfile.mkdtemp()
    program.Run(folder, verbose=0, cleanup=True, numThreads=1)
    frequencies = np.array(given["frequencies_hz"])
    port.CalcPort(folder, frequencies)
    s11 = port.uf_ref / port.uf_inc
    far = box.CalcNF2FF(folder, given["pattern_hz"], np.arange(0, 181, 3.0), np.arange(0, 360, 5.0))
    return {
        "s11": [[one.real, one.imag] for one in s11],
        "directivity": [float(one) for one in far.Dmax],
        "radiated": [float(one) for one in far.Prad],
        "accepted": np.interp(given["pattern_hz"], frequencies, port.P_acc).tolist(),
    }


if __name__ == "__main__":
    main(solve)
