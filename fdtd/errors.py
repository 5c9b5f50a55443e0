"""Errors that the solver raises; a message names the field, the value with its unit, what is allowed and what to do."""


class FdtdError(Exception):
    """Base of every error that the solver raises on purpose."""


class ConfigError(FdtdError, ValueError):
    """A setting or a geometry that the solver cannot accept; the message gives what would be accepted."""


class TooClose(ConfigError):  # noqa: N818 - what edges are
    """Edges of metal stand too close together for the cells.

    Attributes:
        axis: Along which, 0 or 1 for x or y.
        places: Of the two edges, m; the second may be the image of one in a symmetry plane.
        cells: What there must be between them, at least, in cells.
    """

    def __init__(self, message: str, *, axis: int, places: tuple[float, float], cells: float) -> None:
        super().__init__(message)
        self.axis, self.places, self.cells = axis, places, cells


class Unsuitable(FdtdError):  # noqa: N818 - a statement of fact about a pair, not a fault
    """This scheme or backend cannot run this stencil, for the reason given. Nothing falls back silently."""


class DeviceError(FdtdError):
    """There is no device that the backend can use, or it has too little memory."""


class OutOfMemory(DeviceError):  # noqa: N818 - as MemoryError
    """The device has too little memory for a batch; a smaller one may fit."""


class KernelBuildError(FdtdError):
    """A compute kernel did not compile."""
