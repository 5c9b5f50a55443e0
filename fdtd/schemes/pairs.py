"""Schemes by name, and the pairs of stencil and scheme that no plan can make work."""

from __future__ import annotations

from fdtd.errors import ConfigError, Unsuitable

SCHEMES = ("one_step", "trapezoidal", "skewed", "wavefront", "resident")

_NEVER = {
    ("bor", "skewed"): "antennas are stepped in batches, where time skewing is the wavefront, one block an antenna",
    ("tmz", "wavefront"): "it streams rows through a warp's registers, which cannot hold a planar cell's coefficients; "
    "use skewed, the same order of cells in shared memory",
    (
        "jacobi5",
        "wavefront",
    ): "it steps batches of antennas; a large lattice is streamed by skewed, many warps at a time",
}
_NEVER["tez", "wavefront"] = _NEVER["tmz", "wavefront"]


def check_pair(stencil: str, scheme: str) -> None:
    """Refuse what cannot work whatever the lattice and the device.

    Raises:
        ConfigError: There is no scheme of that name.
        Unsuitable: The pair cannot work.
    """
    if scheme not in SCHEMES:
        raise ConfigError(f"scheme = {scheme!r} is unknown (allowed: {', '.join(SCHEMES)})")
    if (stencil, scheme) in _NEVER:
        raise Unsuitable(f"{scheme} does not suit {stencil}: {_NEVER[stencil, scheme]}")
