"""Errors that end a command, each with its exit code."""


class AntennaoptError(Exception):
    """Base of all errors for users; printed as one line, without a traceback."""

    exit_code = 1


class ConfigurationError(AntennaoptError):
    """Wrong usage, or a rejected experiment file."""

    exit_code = 2


class RunInUseError(AntennaoptError):
    """Another process is writing to this run folder."""

    exit_code = 3


class ResumeRefusedError(AntennaoptError):
    """The run folder cannot be resumed: damaged, of another version, or its physics has changed."""

    exit_code = 4


class ClusterError(AntennaoptError):
    """No scheduler, no worker, or no device to run on."""

    exit_code = 5


class StorageError(AntennaoptError):
    """The disk is full or the folder cannot be written."""

    exit_code = 6


class TooManyFailuresError(AntennaoptError):
    """Too many evaluations failed for the search to continue."""

    exit_code = 7


class Interrupted(AntennaoptError):  # noqa: N818 - what happened, not a fault
    """The user or the system stopped the program; the work is saved and `antennaopt resume` continues.

    Attributes:
        exit_code: 129 after SIGHUP, 130 after Ctrl-C (SIGINT), 143 after SIGTERM.
    """

    def __init__(self, message: str, *, exit_code: int = 130) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class ReaderGone(AntennaoptError):  # noqa: N818 - what happened, not a fault
    """The reader of stdout has ended, as `head` does; the command ends without a message."""

    exit_code = 141
