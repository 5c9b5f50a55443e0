"""Runs killed at each of their writes while generations share files: a script, see `every_write.py`.

`python compaction.py kill ROOT`. Files of `evals/` and `patterns/` are shared from the second generation on and hold
two generations each, so that five generations add to a file, fill it and begin another. Each run that was killed is
copied as it is, for readers to look at, and resumed. Prints a line of JSON a run: the strike, the operation, the exit
codes, the folder, the copy.
"""

import shutil
import sys
from pathlib import Path

import cheap_lens
import every_write

from antennaopt.store import generations

GENERATIONS = 5


def main():
    generations.SINGLE, generations.MOST_ROWS = 1, 10
    cheap_lens.SHORT["generations"] = GENERATIONS
    top = Path(sys.argv[2])
    every_write.import_all(top)
    for number in range(1, 10**4):
        root = top / f"{number:04d}"
        root.mkdir()
        code = every_write.struck(root, number, lambda: every_write.begin(root))  # noqa: B023 - called at once
        folder = every_write.run_folder(root)
        seen = again = None
        if folder is not None and code != 0:
            seen = shutil.copytree(folder, top / f"seen-{number:04d}")
            again = every_write.in_child(lambda: every_write.resume(folder))  # noqa: B023
        every_write.say(
            number=number, at=every_write.last_strike(root), code=code, resumed=again, folder=folder, seen=seen
        )
        if code == 0:
            return


if __name__ == "__main__":
    main()
