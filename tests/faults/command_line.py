"""The program's own command line with a bowl in place of fields: `python command_line.py run lens.toml ...`.

With `SERIAL=1` in the environment there are no workers; `PATIENCE_S` is how long a scheduler or all workers may be
gone, `SLEEP_S` how long an antenna takes.
"""

import os
import sys
from functools import partial

import cheap_lens

from antennaopt.cli import main
from antennaopt.farm.dask_pool import DaskFarm
from antennaopt.run import start as study

if __name__ == "__main__":
    more = {"evaluate": cheap_lens.bowl, "report": False}
    if "SERIAL" in os.environ:
        more["farm"] = cheap_lens.serial
    if "PATIENCE_S" in os.environ:
        DaskFarm.__init__.__kwdefaults__["worker_timeout_s"] = float(os.environ["PATIENCE_S"])
    run, plan = study.run, cheap_lens.PLAN | {"sleep_s": float(os.environ.get("SLEEP_S", "0"))}
    study.run = lambda experiment, **given: run(experiment, **{**given, **more, "plan": plan, "now": cheap_lens.NOW})
    study.resume = partial(study.resume, **more)
    sys.exit(main(sys.argv[1:]))
