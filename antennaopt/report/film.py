"""Film of the pulse in the antenna: `.gif` by Pillow, or `.mp4` by ffmpeg as a separate program.

Shown is E_x in the E plane over time, with sign, bodies outlined, time in ps.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import AsinhNorm
from numpy.typing import NDArray
from PIL import Image

from antennaopt.errors import ConfigurationError
from antennaopt.report.canvas import INK, colour_bar, dress, legible, new_figure
from antennaopt.report.field_data import Outlines
from antennaopt.report.simulation import METAL, draw_outlines, mirrored
from antennaopt.store.files import storing, write_atomically
from antennaopt.terminal import one_line

KINDS = ("mp4", "gif")
_GIF_HUNDREDTHS = 5  # between frames
_RATE = 20.0  # frames a second


def check_video(path: Path | str) -> str:
    """Return which of `KINDS` a file is to be, making sure that this machine can write it.

    Raises:
        ConfigurationError: The ending is not known, or it is .mp4 and there is no ffmpeg.
    """
    kind = Path(path).suffix.removeprefix(".").lower()
    if kind not in KINDS:
        raise ConfigurationError(f"{path} has no known ending for a film; use one of .mp4, .gif")
    if kind == "mp4" and ffmpeg() is None:
        raise ConfigurationError(
            f"{path} needs ffmpeg, which was not found; install antennaopt[video] or ffmpeg, or name a .gif"
        )
    return kind


def ffmpeg() -> str | None:
    """Return the path of the program, of the system or of the package imageio-ffmpeg; None when there is neither."""
    found = shutil.which("ffmpeg")
    if found is not None:
        return found
    try:
        import imageio_ffmpeg  # type: ignore[import-not-found]

        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        return None


def write_video(path: Path | str, frames: Iterable[NDArray[np.uint8]], palette: NDArray[np.uint8]) -> Path:
    """Write a film in one step; its folder is made when missing.

    Args:
        path: Target, .gif or .mp4.
        frames: Pictures, each (height, width, 3), all of one size; at least one.
        palette: Colours that a GIF is drawn with, (up to 256, 3); the same for all frames, so that nothing flickers.

    Raises:
        ConfigurationError: As `check_video`.
        StorageError: It cannot be written.
    """
    path = Path(path)
    kind = check_video(path)
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, storing(path):
        made = Path(folder) / f"film.{kind}"
        if kind == "gif":
            _write_gif(made, frames, palette)
        else:
            _write_mp4(made, frames)
        content = made.read_bytes()
    write_atomically(path, lambda file: file.write(content))
    return path


def _write_gif(path: Path, frames: Iterable[NDArray[np.uint8]], palette: NDArray[np.uint8]) -> None:
    colours = Image.new("P", (1, 1))
    colours.putpalette(palette.astype(np.uint8).tobytes())
    pictures = [Image.fromarray(frame).quantize(palette=colours, dither=Image.Dither.NONE) for frame in frames]
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=10 * _GIF_HUNDREDTHS, loop=0)


def _write_mp4(path: Path, frames: Iterable[NDArray[np.uint8]]) -> None:
    """Pipe frames to ffmpeg; the usual pixel format of players wants even numbers of pixels."""
    rest = iter(frames)
    first = next(rest)
    height, width = (size - size % 2 for size in first.shape[:2])
    command = [
        *(str(ffmpeg()), "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24"),
        *("-s", f"{width}x{height}", "-r", f"{_RATE:g}", "-i", "-", "-an"),
        *("-pix_fmt", "yuv420p", "-q:v", "3", "-movflags", "+faststart", str(path)),
    ]
    with tempfile.TemporaryFile() as log:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log) as program:  # noqa: S603
            if program.stdin is None:
                raise OSError("ffmpeg takes no input")
            try:
                for frame in chain((first,), rest):
                    program.stdin.write(np.ascontiguousarray(frame[:height, :width]).tobytes())
                program.stdin.close()
            except BrokenPipeError:
                pass  # it has ended; the log has the reason
        if program.returncode != 0:
            log.seek(0)
            words = log.read().decode(errors="replace").strip().splitlines()
            raise OSError(f"ffmpeg failed: {words[-1] if words else f'exit code {program.returncode}'}")


_STRONGEST_PERCENTILE = 99.8
"""Of the brightest frame: the field at metal edges is singular and would dim all the rest."""

_LINEAR = 0.02
"""Below this part of the strongest field the colours are linear, above it logarithmic, so that the pulse is seen in the
feed and after it has spread."""

_TICKS = (-1.0, -0.3, -0.1, -0.03, 0.0, 0.03, 0.1, 0.3, 1.0)
_PIXELS = 500  # along the longer side, about


def write_film(
    path: Path | str, film: Mapping[str, Any], *, title: str = "", watch: Callable[[int, int], None] | None = None
) -> Path:
    """Write the film of an antenna, `.mp4` or `.gif`.

    Args:
        path: Target; its ending chooses the format.
        film: `film` of an outcome of `evaluate(..., film=True)`.
        title: Above the picture.
        watch: Called after every frame with the number drawn and the number of all.

    Raises:
        ConfigurationError: The ending is not known, or ffmpeg is missing.
        StorageError: It cannot be written.
        ValueError: There are no frames.
    """
    check_video(path)
    if not len(film["time_s"]):
        raise ValueError("the film has no frames: the antenna was not stepped far enough")
    return write_video(path, frames_of(film, title=title, watch=watch), palette())


def frames_of(
    film: Mapping[str, Any], *, title: str = "", watch: Callable[[int, int], None] | None = None
) -> Iterator[NDArray[np.uint8]]:
    """Draw the frames one by one, each (height, width, 3); everything but field and time is drawn once.

    Args:
        film: As for `write_film`.
        title: As there.
        watch: As there.
    """
    r_mm, z_mm = 1e3 * np.asarray(film["r_m"]), 1e3 * np.asarray(film["z_m"])
    values, times = relative(film["e_x"]), np.asarray(film["time_s"])
    x_mm, _ = mirrored(r_mm, values[0])
    enlarged = Enlarger(np.isnan(values[0]))
    half_z, half_x = (z_mm[1] - z_mm[0]) / 2, (x_mm[1] - x_mm[0]) / 2
    extent = (z_mm[0] - half_z, z_mm[-1] + half_z, x_mm[0] - half_x, x_mm[-1] + half_x)
    height = float(np.clip(5.2 * (extent[3] - extent[2]) / (extent[1] - extent[0]) + 0.9, 2.4, 6.4))
    figure = new_figure(7.0, height)
    canvas = FigureCanvasAgg(figure)
    axes = dress(figure.add_subplot(), x_label="z (mm)", y_label="x (mm)")
    axes.set_title(one_line(title), fontsize=10, color=INK, loc="left", parse_math=False)
    axes.grid(visible=False)
    image = axes.imshow(np.zeros((2, 2, 3)), origin="lower", extent=extent, aspect="equal", interpolation="nearest")
    bodies = draw_outlines(axes, Outlines.of(film["outlines"]), dielectric=INK)
    scale = ScalarMappable(AsinhNorm(_LINEAR, vmin=-1.0, vmax=1.0), colormaps["RdBu_r"])
    bar = colour_bar(axes, scale, "E$_x$ in the E plane, relative to the strongest", extend="both")
    bar.set_ticks(_TICKS, labels=[f"{tick:g}".replace("-", "\u2212") for tick in _TICKS])
    bar.minorticks_off()
    box = {"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "boxstyle": "round,pad=0.3"}
    clock = axes.text(0.015, 0.965, "", transform=axes.transAxes, ha="left", va="top", fontsize=11, bbox=box, zorder=5)
    moving = (image, *bodies, clock)
    for artist in moving:
        artist.set_animated(True)
    with legible(figure):
        for _ in range(3):  # until the layout, which sets the size of the colour bar, has room for its name
            canvas.draw()
    ground = canvas.copy_from_bbox(figure.bbox)
    for count, (time, frame) in enumerate(zip(times, values, strict=True), start=1):
        half = coloured(enlarged(frame).T)
        image.set_data(np.concatenate([half[::-1], half]))
        clock.set_text(f"t = {1e12 * time:.0f} ps")
        canvas.restore_region(ground)
        for artist in moving:
            axes.draw_artist(artist)
        yield np.asarray(canvas.buffer_rgba())[..., :3].copy()
        if watch is not None:
            watch(count, len(times))


def relative(e_x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a film's field over the strongest, the largest of the frames' percentiles: one scale for all of them."""
    strongest = max(float(np.nanpercentile(np.abs(frame), _STRONGEST_PERCENTILE)) for frame in e_x)
    return e_x / np.float32(strongest or 1.0)


def coloured(values: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return the colours of a frame, (..., 3): the colour bar's, by a table, which is what makes drawing quick."""
    table = np.round(255 * colormaps["RdBu_r"](np.linspace(0.0, 1.0, 256))[:, :3]).astype(np.uint8)
    place = 0.5 + 0.5 * np.arcsinh(values / np.float32(_LINEAR)) / np.float32(np.arcsinh(1.0 / _LINEAR))
    return table[np.clip(256 * place, 0, 255).astype(np.uint8)]


class Enlarger:
    """Fields on a finer grid, linear between their points; points in conductors take no part.

    So nothing shows through a wall, however thin, and nothing fades towards one.
    """

    def __init__(self, conducting: NDArray[np.bool_]) -> None:
        """Take where there is no field, shape (nz, nr)."""
        self._open = ~conducting
        factor = max(round(_PIXELS / max(conducting.shape)), 1)
        self._along_z, self._along_r = (_linear(size, factor) for size in conducting.shape)
        self._weight = self._along_z @ self._open.astype(np.float32) @ self._along_r.T

    def __call__(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return a frame, (nz, nr), finer by a whole number both ways; zero inside conductors."""
        total = self._along_z @ np.where(self._open, values, 0.0) @ self._along_r.T
        return np.divide(total, self._weight, out=np.zeros_like(total), where=self._weight > 1e-6)


def _linear(size: int, factor: int) -> NDArray[np.float32]:
    """Weights that interpolate `size` cells' middles at the middles of `factor` times as many, constant at the ends."""
    place = np.clip((np.arange(size * factor) + 0.5) / factor - 0.5, 0.0, size - 1.0)
    return np.maximum(1.0 - np.abs(place[:, None] - np.arange(size)), 0.0).astype(np.float32)


def palette() -> NDArray[np.uint8]:
    """Return the colours of a film: the scale's, greys for text and lines, the metal's."""
    scale = colormaps["RdBu_r"](np.linspace(0.0, 1.0, 95))[:, :3]
    greys = np.repeat(np.linspace(0.0, 1.0, 32)[:, None], 3, axis=1)
    metal = np.array([[int(METAL[at : at + 2], 16) / 255 for at in (1, 3, 5)]])
    return np.round(255 * np.concatenate([scale, greys, metal])).astype(np.uint8)
