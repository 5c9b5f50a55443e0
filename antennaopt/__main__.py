"""`python -m antennaopt`."""

import sys

from antennaopt.cli import main

if __name__ == "__main__":
    sys.exit(main())
