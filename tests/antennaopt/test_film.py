"""Films as files: what is in them, and that nothing is drawn that is not there."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from config_files import WAVEGUIDE
from made_up_runs import lens_outlines
from PIL import Image

from antennaopt import cli
from antennaopt.errors import ConfigurationError, StorageError
from antennaopt.report import film as video
from antennaopt.report.film import Enlarger, coloured, frames_of, palette, relative, write_film


def film(frames: int = 5) -> dict:
    """A wave that runs along the axis, growing weaker; 0.5 mm cells around the lens of `made_up_runs`."""
    z_m, r_m = -22e-3 + 0.5e-3 * np.arange(110), 0.5e-3 * (np.arange(50) + 0.5)
    time_s = 4e-12 * (1 + np.arange(frames))
    z, r = np.meshgrid(z_m, r_m, indexing="ij")
    e_x = np.stack([np.sin(600 * z - 1.9e11 * time) / (1 + 200 * np.abs(z)) for time in time_s]).astype(np.float32)
    e_x[:, (z < 0) & (z > -20.4e-3) & (r > 3.6e-3) & (r < 4e-3)] = np.nan
    outlines = lens_outlines(r_m[-1], z_m[0], z_m[-1])
    return {"time_s": time_s, "r_m": r_m, "z_m": z_m, "e_x": e_x, "outlines": outlines}


def test_a_gif_holds_all_frames_and_loops(tmp_path):
    seen = []
    path = write_film(tmp_path / "deep" / "lens.gif", film(), title="Lens", watch=lambda *count: seen.append(count))
    with Image.open(path) as picture:
        assert picture.n_frames == 5 and picture.info["loop"] == 0
        assert picture.info["duration"] == 50
        first = np.asarray(picture.convert("RGB"))
        picture.seek(4)
        assert (np.asarray(picture.convert("RGB")) != first).any()
    assert seen == [(count, 5) for count in (1, 2, 3, 4, 5)]
    assert [one.name for one in path.parent.iterdir()] == ["lens.gif"]


def test_an_mp4_plays(tmp_path):
    """Decoded by ffmpeg: 5 frames; an odd number of pixels is cut to an even one."""
    program = video.ffmpeg()
    assert program is not None, "pip install -e '.[dev]' brings imageio-ffmpeg"
    frames = [np.full((41, 61, 3), 40 * count, np.uint8) for count in range(5)]
    path = video.write_video(tmp_path / "a.mp4", frames, palette())
    command = [program, "-loglevel", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    decoded = np.frombuffer(subprocess.run(command, capture_output=True, check=True).stdout, np.uint8)
    means = decoded.reshape(5, 40, 60, 3).mean(axis=(1, 2, 3))
    np.testing.assert_allclose(means, 40.0 * np.arange(5), atol=3)


def test_without_ffmpeg_the_way_out_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(video.shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ConfigurationError, match=r"install antennaopt\[video\] or ffmpeg, or name a \.gif"):
        write_film(tmp_path / "a.mp4", film())
    write_film(tmp_path / "a.gif", film(1))


def test_what_ffmpeg_says_when_it_fails_is_passed_on(tmp_path, monkeypatch):
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\necho 'no encoder for this' >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(video, "ffmpeg", lambda: str(program))
    with pytest.raises(StorageError, match="no encoder for this"):
        video.write_video(tmp_path / "a.mp4", [np.zeros((400, 400, 3), np.uint8)] * 20, palette())
    assert not (tmp_path / "a.mp4").exists()


def test_one_scale_for_all_frames():
    """Half the field gives the colour of half the field in every frame: the scale is that of the strongest one."""
    one = film(2)
    one["e_x"][1] = one["e_x"][0] / 2
    shown = relative(one["e_x"])
    np.testing.assert_allclose(shown[1], shown[0] / 2)
    assert 0.5 < np.nanmax(shown[0]) < 2.0


def test_colours_are_those_of_the_colour_bar():
    """Zero is white, the two signs are red and blue alike, and a hundredth of the strongest still has a colour."""
    red, white, blue, faint = coloured(np.array([1.0, 0.0, -1.0, 0.01], np.float32)).astype(int)
    assert red[0] > red[2] + 50 and blue[2] > blue[0] + 50
    assert white.min() > 240 and np.ptp(white) < 6
    assert faint[0] - faint[2] > 10


def test_time_geometry_and_title_stand_on_every_frame():
    """The clock's corner changes from frame to frame and the metal stays: grey where the tube's back wall is."""
    first, second = (frame.astype(int) for frame in list(frames_of(film(2), title="Lens")))
    grey = (np.abs(first - np.array([0x9A, 0xA1, 0xA9])).max(axis=2) <= 2).sum()
    assert grey > 100
    height, width = first.shape[:2]
    corner = np.s_[: height // 5, : width // 4]
    assert (first[corner] != second[corner]).any()
    assert frames_are_even_about_the_axis(first)


def frames_are_even_about_the_axis(frame) -> bool:
    """E_x is the same on both sides: rows mirrored about the middle of the drawn field agree where it is coloured."""
    coloured_rows = np.flatnonzero((np.ptp(frame[:, 120:380], axis=2) > 40).any(axis=1))
    low, high = coloured_rows[0], coloured_rows[-1]
    part = frame[low : high + 1, 200:340]
    return float(np.abs(part - part[::-1]).mean()) < 6.0


def test_no_text_is_cut_at_the_edge():
    """The layout takes three passes; after one the name of the colour bar stood beyond the right edge."""
    one = film(1)
    one |= {"r_m": one["r_m"][:36], "e_x": one["e_x"][:, :, :36]}
    (frame,) = frames_of(one, title="Lens")
    for edge in (frame[:2], frame[-2:], frame[:, :2], frame[:, -2:]):
        assert (edge == 255).all()


def test_nothing_shows_through_a_wall_of_one_cell():
    """Inside 1, outside 0: linear interpolation over the wall would put 0.5 next to it on both sides."""
    field = np.array([[1.0, 1.0, 1.0, np.nan, 0.0, 0.0]] * 4, np.float32)
    large = Enlarger(np.isnan(field))(field)
    factor = large.shape[1] // 6
    assert large.shape == (4 * factor, 6 * factor) and factor > 10
    assert (large[:, : 3 * factor] == 1.0).all()
    assert (large[:, 4 * factor :] == 0.0).all()
    ramp = np.add.outer(np.arange(5.0), 2 * np.arange(7.0)).astype(np.float32)
    large = Enlarger(np.zeros((5, 7), bool))(ramp)
    inner = np.diff(large[large.shape[0] // 2, large.shape[1] // 7 : -large.shape[1] // 7])
    np.testing.assert_allclose(inner, inner[0], rtol=1e-3)


def test_a_film_without_frames_is_refused(tmp_path):
    empty = film(1)
    empty |= {"time_s": empty["time_s"][:0], "e_x": empty["e_x"][:0]}
    with pytest.raises(ValueError, match="no frames"):
        write_film(tmp_path / "a.gif", empty)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--animate", "a.avi"], "--animate a.avi has no known ending; use one of .mp4, .gif"),
        (["--fields", "a.zarr"], "--fields a.zarr has no known ending; use one of .npz, .nc"),
        (["--plot", "a.bmp"], "--plot a.bmp has no known ending; use one of .png, .svg, .pdf"),
        (["--plot-frequency", "30 GHz"], "--plot-frequency goes with --plot"),
        (["--plot", "a.png", "--plot-frequency", "27 GHz"], "use one of solver.frequencies: 28.5 GHz, 30 GHz, 31.5"),
        (["--plot", "a.png", "--plot-frequency", "30 mm"], '--plot-frequency "30 mm"'),
        (["--animate", "file/a.gif"], "is not a folder"),
        (["--fields", "folder.npz"], "is a folder; name a file in it"),
    ],
)
def test_bad_names_are_refused_before_anything_is_solved(options, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("antennaopt.solve.evaluate.evaluate", lambda *_, **__: pytest.fail("solved"))
    (tmp_path / "guide.toml").write_text(WAVEGUIDE)
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.npz").mkdir()
    assert cli.main(["simulate", "guide.toml", *options]) in (2, 6)
    assert words in capsys.readouterr().err
