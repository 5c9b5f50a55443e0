"""The command line: one file per command. A command imports its modules when it runs."""

from antennaopt.cli.entry import main

__all__ = ["main"]
