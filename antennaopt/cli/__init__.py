"""The command line. Each command is a file here; what it needs is imported when it runs."""

from antennaopt.cli.entry import main

__all__ = ["main"]
