"""A driver process for the fault tests: a whole run with real workers and a bowl in place of fields.

`python cheap_lens.py run ROOT` or `python cheap_lens.py resume FOLDER`; exits as the command line does.
"""

import sys
import time
from datetime import UTC, datetime
from functools import partial

from antennaopt.errors import AntennaoptError

EXPERIMENT = {
    "name": "cheap_lens",
    "seed": 3,
    "antenna": {
        "family": "shaped_lens",
        "feed": {"inner_radius": "3.6 mm", "outer_radius": "4.0 mm", "length": "20 mm"},
        "lens": {"permittivity": 2.53, "radii": {"count": 4, "min": "8 mm", "max": "20 mm"}},
    },
    "solver": {"frequencies": ["30 GHz"]},
    "evolution": {"population": 10, "generations": 4},
    "cluster": {"workers": 2, "batch_size": 1},
    "objective": [{"metric": "directivity_dbi", "at_least": 30.0}],
    "certificate": {"mode": "off"},
}
PLAN = {"nr": 100, "nz": 200, "sleep_s": 0.05}


def bowl(family, designs, plan, *, backend, fields=False):
    time.sleep(plan["sleep_s"] * len(designs))
    radii = [[1e3 * design[f"lens.radii.{place}"] for place in range(4)] for design in designs]
    misses = [sum((x - 12.0 - place) ** 2 for place, x in enumerate(one)) for one in radii]
    return [
        {"status": "ok", "error": None, "seconds": 0.0, "frequency_hz": [30e9], "directivity_dbi": [30.0 - miss / 20.0]}
        for miss in misses
    ]


def main(command, path):
    import cheap_lens  # workers find the function by the module's name, which is not __main__

    from antennaopt.config import Experiment
    from antennaopt.study import Lines, resume, run

    shared = {"evaluate": cheap_lens.bowl, "progress": Lines(), "report": False}
    go_on = partial(resume, path, **shared)
    if command == "run":
        now = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
        go_on = partial(run, Experiment.parse(EXPERIMENT), root=path, plan=PLAN, now=now, **shared)
    try:
        print(go_on().folder)
    except AntennaoptError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
