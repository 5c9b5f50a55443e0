"""Moving pictures: `.gif` by Pillow, `.mp4` by ffmpeg as a program of its own."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from antennaopt.errors import ConfigurationError
from antennaopt.store.atomic import storing, write_atomically

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
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=said, stderr=said) as program:  # noqa: S603
            if program.stdin is None:
                raise OSError("ffmpeg takes no input")
            try:
                for frame in chain((first,), rest):
                    program.stdin.write(np.ascontiguousarray(frame[:height, :width]).tobytes())
                program.stdin.close()
            except BrokenPipeError:
                pass  # it has ended; it says why
        if program.returncode != 0:
            said.seek(0)
            words = said.read().decode(errors="replace").strip().splitlines()
            raise OSError(f"ffmpeg failed: {words[-1] if words else f'exit code {program.returncode}'}")
