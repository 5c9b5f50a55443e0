"""`python steady_every_write.py kill ROOT`: as `every_write.py`, with a search without generations."""

import sys
from pathlib import Path

import cheap_lens
import every_write

if __name__ == "__main__":
    cheap_lens.SHORT |= {"algorithm": "steady_state"}
    every_write.import_all(Path(sys.argv[2]))
    every_write.every(Path(sys.argv[2]), tear=sys.argv[1] == "tear")
