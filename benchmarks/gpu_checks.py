"""compute-sanitizer over small problems by every kernel of every stencil; writes its errors as JSON.

    python benchmarks/gpu_checks.py --json results/benchmarks/h200/checks.json [--tool racecheck] [--stencil tmz ...]

Each kernel is a process of its own (benchmarks/gpu_small.py), some at a time. `errors` is keyed by stencil and kernel:
a number is what the tool counted, null that it ended otherwise (out of time, or the kernel differs from its oracle);
what it said is under `said` then. Other entries of the file stay as they are.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from gpu_small import STENCILS, kernels_of

TOOLS = ("memcheck", "racecheck")
_SMALL = Path(__file__).with_name("gpu_small.py")
_FOUND = 9  # exit code of a tool that found something
_COUNT = re.compile(r"(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: \d+ hazards? displayed \((\d+) error)")
_KEPT = 2000  # characters of what a tool said


def counted(code: int, said: str) -> int | None:
    """Errors that the tool counted; None if it did not end as one that counts."""
    found = _COUNT.findall(said)
    if not found or code not in (0, _FOUND):
        return None
    count = int("".join(found[-1]))
    return count if (count > 0) == (code == _FOUND) else None


def check(sanitizer: str, tool: str, stencil: str, kernel: str, until: float) -> tuple[int | None, str]:
    """Run one kernel under a tool: errors, and what was said."""
    step = [sys.executable, str(_SMALL), "--stencil", stencil, "--scheme", kernel]
    command = [sanitizer, "--tool", tool, "--error-exitcode", str(_FOUND), *step]
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            timeout=max(until - time.monotonic(), 0.1),
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"").decode(errors="replace") if isinstance(late.stdout, bytes) else late.stdout or ""
        return None, f"{said}\nout of time"
    return counted(done.returncode, done.stdout), done.stdout


def main() -> None:
    """Check, print one line a kernel, write; exit with 1 unless all counts are 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tool", action="append", choices=TOOLS)
    parser.add_argument("--stencil", action="append", choices=STENCILS)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=600.0, help="for all of it")
    parser.add_argument(
        "--sanitizer", default=shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    )
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    found: dict[str, Any] = (
        json.loads(options.json.read_text("utf-8")) if options.json and options.json.exists() else {}
    )
    clean = True
    for tool in options.tool or TOOLS:
        errors: dict[str, dict[str, int | None]] = {stencil: {} for stencil in options.stencil or STENCILS}
        said: dict[str, str] = {}
        command = f"compute-sanitizer --tool {tool} python benchmarks/gpu_small.py --stencil STENCIL --scheme KERNEL"
        found[tool] = {"command": command, "errors": errors, "said": said}
        with ThreadPoolExecutor(options.at_once) as pool:
            runs = {
                (stencil, kernel): pool.submit(check, options.sanitizer, tool, stencil, kernel, until)
                for stencil in errors
                for kernel in kernels_of(stencil)
            }
            for (stencil, kernel), run in runs.items():
                count, text = run.result()
                errors[stencil][kernel] = count
                print(f"{tool} {stencil} {kernel}: {'no count' if count is None else count}", flush=True)
                if count != 0:
                    clean = False
                    said[f"{stencil} {kernel}"] = text[-_KEPT:]
                if options.json:
                    options.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    sys.exit(not clean)


if __name__ == "__main__":
    main()
