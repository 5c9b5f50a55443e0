"""Time the axisymmetric kernels of two checkouts against each other on one CUDA device, and compare their fields.

    python benchmarks/gpu_pairs.py prepare OLD_COMMIT        # with git, without a device: fills .pairs
    python benchmarks/gpu_pairs.py registers [--json FILE]   # without a device: NVRTC, for sm_90
    python benchmarks/gpu_pairs.py run [--json FILE]         # on the device: .pairs, CuPy, NumPy and SciPy are enough

`prepare` puts `fdtd` of both checkouts (the new one is the working tree) and the problems that each of them makes into
.pairs/old and .pairs/new. `run` starts one process a checkout. Both step the same batch from the same noise, in turns:
every round times old, new, new, old. A row of the table is one scheme, precision and lattice: rates, the ratio
new / old (median over rounds of the rounds' own ratios), half of the range of the ratios, registers and spilled bytes
of each kernel, and whether the fields of the first and the last antenna have the same bits at the end. `registers`
compares what the compiler makes of both sides: registers, stack, and whether the machine code is the same.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import pickle
import shutil
import statistics
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
ROOT = HERE.parents[1]
FOLDER = ROOT / ".pairs"
SIDES = ("old", "new")
SHAPES = ((256, 320), (124, 210))
BATCH = 264
STEPS = {(256, 320): 320, (124, 210): 480}  # of one timing: 20 to 200 ms; looks are every 160
SCHEMES: tuple[tuple[str, dict[str, int]], ...] = (
    ("one_step", {}), ("one_step", {"launches": 1}), ("wavefront", {}), ("trapezoidal", {}), ("resident", {}),
)  # fmt: skip
KERNELS = {
    ("one_step", 2): ("e_step", "h_step"), ("one_step", 1): ("whole_step",), ("wavefront", 2): ("wavefront",),
    ("trapezoidal", 2): ("trapezoidal",), ("resident", 2): ("resident",),
}  # fmt: skip
PRECISIONS = ("float32", "float64")
ALLOWED = 0.01  # change of a rate
REGISTERS = 2
COMPILERS = 7  # processes of each side


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("prepare")
    made.add_argument("commit")
    made.add_argument("--rounds", type=int, default=9)
    ran = commands.add_parser("run")
    ran.add_argument("--rounds", type=int, default=6, help="of two timings each; at most what was prepared for")
    listed = commands.add_parser("registers")
    for one in (ran, listed):
        one.add_argument("--json", type=Path)
        one.add_argument("--scheme", action="append", choices=sorted({name for name, _ in SCHEMES}))
        one.add_argument("--precision", action="append", choices=PRECISIONS)
    problems = commands.add_parser("problems")
    problems.add_argument("file", type=Path)
    problems.add_argument("rounds", type=int)
    commands.add_parser("serve")
    commands.add_parser("listing").add_argument("cases")
    chosen = parser.parse_args(arguments)
    if chosen.command == "prepare":
        prepare(chosen.commit, chosen.rounds)
    elif chosen.command == "problems":
        write_problems(chosen.file, chosen.rounds)
    elif chosen.command == "serve":
        serve()
    elif chosen.command == "listing":
        print(json.dumps([listing(case) for case in json.loads(chosen.cases)]))
    elif chosen.command == "registers":
        return registers(cases_of(chosen.scheme, chosen.precision), chosen.json)
    else:
        return run(chosen.rounds, cases_of(chosen.scheme, chosen.precision), chosen.json)
    return 0


def cases_of(schemes: Sequence[str] | None, precisions: Sequence[str] | None) -> list[dict[str, Any]]:
    """Every scheme in every precision on every lattice, or some."""
    return [
        {"scheme": scheme, "choice": choice, "precision": precision, "shape": list(shape)}
        for scheme, choice in SCHEMES
        if not schemes or scheme in schemes
        for precision in precisions or PRECISIONS
        for shape in SHAPES
    ]


def prepare(commit: str, rounds: int) -> None:
    """Fill .pairs with both checkouts and their problems."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    for side in SIDES:
        (FOLDER / side).mkdir(parents=True)
    archive = subprocess.Popen(["git", "archive", commit, "fdtd", "antennaopt"], cwd=ROOT, stdout=subprocess.PIPE)
    assert archive.stdout is not None
    with tarfile.open(fileobj=archive.stdout, mode="r|") as tar:
        tar.extractall(FOLDER / "old", filter="data")
    if archive.wait():
        raise SystemExit(f"git has no commit {commit}")
    for package in ("fdtd", "antennaopt"):
        shutil.copytree(ROOT / package, FOLDER / "new" / package, ignore=shutil.ignore_patterns("__pycache__"))
    for side in SIDES:
        _python(side, "problems", str(FOLDER / side / "problems"), str(rounds)).check_returncode()
        shutil.rmtree(FOLDER / side / "antennaopt")
    print(f"{FOLDER} holds both sides, {sum(f.stat().st_size for f in FOLDER.rglob('*') if f.is_file()) / 1e6:.1f} MB")


def write_problems(file: Path, rounds: int) -> None:
    """Pickle the problems of the checkout on the path, by lattice."""
    from antennaopt.bench.problems import full_problem

    posed = {shape: full_problem("bor", shape, (2 * rounds + 2) * STEPS[shape], 1) for shape in SHAPES}
    file.write_bytes(pickle.dumps(posed))


def _environment(side: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(FOLDER / side), os.environ.get("PYTHONPATH", "")])}


def _python(side: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, str(HERE), *arguments], env=_environment(side), cwd=FOLDER, check=False)


class Side:
    """The process of one checkout; a request and its answer are one line of JSON each."""

    def __init__(self, name: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE), "serve"], env=_environment(name), cwd=FOLDER, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(self, what: str, **arguments: Any) -> None:
        """Send a request."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"what": what, **arguments}) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        """Wait for the answer to the last request."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a side has ended; its error stands above")
        return json.loads(line)

    def end(self) -> None:
        """Close the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def both(sides: Sequence[Side], what: str, **arguments: Any) -> list[Any]:
    """Ask both sides at the same time."""
    for side in sides:
        side.ask(what, **arguments)
    return [side.answer() for side in sides]


def run(rounds: int, cases: Sequence[dict[str, Any]], file: Path | None) -> int:
    """Time all pairs and print the table; 1 if one of them is not within the limits."""
    start = time.perf_counter()
    sides = [Side(name) for name in SIDES]
    both(sides, "compile", cases=cases)
    print(f"compiled after {time.perf_counter() - start:.0f} s", flush=True)
    print(
        "scheme, launches, precision, lattice: old and new G cell-steps/s, new/old, half range, registers, spills, bits"
    )
    rows = []
    for case in cases:
        ready = both(sides, "start", case=case)
        if any("refused" in one for one in ready):
            print(case, ready, flush=True)
            continue
        row = {**case, "batch": BATCH, **_timed(sides, STEPS[tuple(case["shape"])], rounds, ready)}
        rows.append(row)
        print(_line(row), flush=True)
    for side in sides:
        side.end()
    missed = [row for row in rows if not row["passed"]]
    print(f"{len(rows) - len(missed)} of {len(rows)} pairs within limits, {time.perf_counter() - start:.0f} s in all")
    if file:
        file.write_text(json.dumps(rows, indent=1))
    return 1 if missed else 0


def _timed(sides: Sequence[Side], steps: int, rounds: int, ready: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One row: both sides in turns, old first in even rounds."""
    seconds: list[list[float]] = [[], []]
    for side in sides:  # wakes the clock, and fills what first launches fill
        side.ask("time", steps=steps)
        side.answer()
    for n in range(rounds):
        for which in (0, 1, 1, 0) if n % 2 == 0 else (1, 0, 0, 1):
            sides[which].ask("time", steps=steps)
            seconds[which].append(sides[which].answer())
    old, new = ([(a + b) / 2 for a, b in zip(one[::2], one[1::2], strict=True)] for one in seconds)
    ratios = sorted(a / b for a, b in zip(old, new, strict=True))
    ratio = statistics.median(ratios)
    digests = both(sides, "finish")
    registers = [one["kernels"] for one in ready]
    close = all(registers[1][name]["registers"] <= registers[0][name]["registers"] + REGISTERS for name in registers[0])
    return {
        "steps": steps, "rounds": rounds,
        "old": ready[0]["cells"] * steps / statistics.median(old),
        "new": ready[1]["cells"] * steps / statistics.median(new),
        "ratio": ratio, "spread": (ratios[-1] - ratios[0]) / 2, "ratios": ratios,
        "registers_old": registers[0], "registers_new": registers[1], "same_bits": digests[0] == digests[1],
        "passed": ratio >= 1 - ALLOWED and close and digests[0] == digests[1],
    }  # fmt: skip


def _line(row: dict[str, Any]) -> str:
    kernels = ", ".join(
        f"{name} {one['registers']}/{row['registers_new'][name]['registers']}"
        f" ({one['spilled']}/{row['registers_new'][name]['spilled']})"
        for name, one in row["registers_old"].items()
    )
    shape = "x".join(map(str, row["shape"]))
    return (
        f"{row['scheme']:12} {row['choice'].get('launches', 2)} {row['precision']} {shape:8} {row['old'] / 1e9:7.2f} "
        f"{row['new'] / 1e9:7.2f}  {row['ratio']:.4f} +- {row['spread']:.4f}  {kernels}  "
        f"{'same' if row['same_bits'] else 'OTHER'} bits{'' if row['passed'] else '  NOT WITHIN LIMITS'}"
    )


def _posed() -> dict[tuple[int, int], Any]:
    """The problems of the checkout on the path."""
    return pickle.loads((Path(os.environ["PYTHONPATH"].split(os.pathsep)[0]) / "problems").read_bytes())


def registers(cases: Sequence[dict[str, Any]], file: Path | None) -> int:
    """Compile both sides for sm_90 and print the table; 1 if one needs more registers than it may."""
    made = [
        subprocess.Popen(
            [sys.executable, str(HERE), "listing", json.dumps(cases)], env=_environment(side), stdout=subprocess.PIPE
        )
        for side in SIDES
    ]
    old, new = (json.loads(one.communicate()[0]) for one in made)
    print(
        "| scheme | launches | precision | lattice | kernel | registers | stack, bytes | code, bytes | machine code |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    rows, missed = [], 0
    for case, before, after in zip(cases, old, new, strict=True):
        for kernel, was in before.items():
            now = after[kernel]
            shape = "x".join(map(str, case["shape"]))
            rows.append({**case, "kernel": kernel, "old": was, "new": now})
            missed += now["registers"] > was["registers"] + REGISTERS
            print(
                f"| {case['scheme']} | {case['choice'].get('launches', 2)} | {case['precision']} | {shape} | {kernel} "
                f"| {was['registers']} -> {now['registers']} | {was['stack']} -> {now['stack']} | {was['code']} -> "
                f"{now['code']} | {'same' if was['digest'] == now['digest'] else 'other'} |"
            )
    if file:
        file.write_text(json.dumps(rows, indent=1))
    return 1 if missed else 0


def listing(case: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What the compiler makes of every function of a case's text; nothing where the scheme refuses the case."""
    sys.path.append(str(ROOT / "tests" / "compilation"))
    try:
        from fdtd.schemes.machine import HOPPER
    except ImportError:  # before the cut of the scheme modules
        from fdtd.schemes.limits import HOPPER  # pyright: ignore[reportMissingImports]
    from cubin import functions_of
    from nvrtc import compile_for  # pyright: ignore[reportMissingImports]

    from fdtd.backends.cuda.marching import kernel_texts
    from fdtd.errors import Unsuitable

    posed = _posed()[tuple(case["shape"])]
    try:
        text = kernel_texts(posed, HOPPER, case["scheme"], steps=1, precision=case["precision"], **case["choice"])[0]
    except Unsuitable:
        return {}
    return functions_of(compile_for(text, "sm_90", "--extra-device-vectorization"))


def compile_one(text: str) -> None:
    """Leave a text's machine code in CuPy's cache."""
    from fdtd.backends.cuda.device import CudaDevice

    CudaDevice().program(text)


def serve() -> None:
    """Answer requests with the checkout on the path; everything printed goes to the error stream."""
    import cupy  # pyright: ignore[reportMissingImports]

    from fdtd.backends.cuda import device as here
    from fdtd.backends.cuda.marching import kernel_texts, marching
    from fdtd.errors import FdtdError

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    posed = _posed()
    device, ready, begin, end = here(), None, cupy.cuda.Event(), cupy.cuda.Event()
    programs: list[Any] = []
    compiled = device.program

    def noted(text: str, place: int = 0) -> Any:
        programs.append(compiled(text, place))
        return programs[-1]

    device.program = noted
    for line in sys.stdin:
        asked = json.loads(line)
        answer: Any = True
        if asked["what"] == "compile":
            texts: dict[str, None] = {}
            for case in asked["cases"]:
                with contextlib.suppress(FdtdError):  # comes again when it is started
                    found = kernel_texts(
                        posed[tuple(case["shape"])], device.limits, case["scheme"], steps=1,
                        precision=case["precision"], copies=BATCH, **case["choice"],
                    )  # fmt: skip
                    texts |= dict.fromkeys(found)
            with ProcessPoolExecutor(COMPILERS, mp_context=get_context("spawn")) as pool:
                list(pool.map(compile_one, texts))
        elif asked["what"] == "start":
            case = asked["case"]
            programs.clear()
            try:
                ready = marching(
                    posed[tuple(case["shape"])], device, case["scheme"], precision=case["precision"], copies=BATCH,
                    **case["choice"],
                )  # fmt: skip
                names = KERNELS[case["scheme"], case["choice"].get("launches", 2)]
                found = {name: programs[0].attributes(name) for name in names}
                answer = {
                    "cells": ready.cells,
                    "kernels": {
                        name: {"registers": one["num_regs"], "spilled": one["local_size_bytes"]}
                        for name, one in found.items()
                    },
                }
            except FdtdError as error:
                answer = {"refused": str(error)[:300]}
        elif asked["what"] == "time":
            assert ready is not None
            cupy.cuda.Device().synchronize()
            begin.record()
            ready.advance(asked["steps"])
            end.record()
            end.synchronize()
            answer = cupy.cuda.get_elapsed_time(begin, end) / 1e3
        elif asked["what"] == "finish":
            assert ready is not None
            answer = hashlib.sha256(ready.fields()[[0, -1]].tobytes()).hexdigest()
            ready = None
            programs.clear()
            cupy.get_default_memory_pool().free_all_blocks()
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    sys.exit(main())
