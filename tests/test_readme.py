"""README's lines of Python run as they stand, and its links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def test_the_lines_of_python_run(tmp_path):
    """In a folder of their own."""
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    path = [str(ROOT), *(entry for entry in sys.path if entry.endswith("-packages"))]
    begin = f"import sys; sys.path[:0] = {path!r}\nimport matplotlib; matplotlib.use('agg')\n"
    done = subprocess.run([sys.executable, "-c", begin + code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"30 GHz: \d\d\.\d\d dBi, S11 -\d+\.\d\d dB\ntrusted\n", done.stdout)
    assert (tmp_path / "lens.png").stat().st_size > 10_000


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", README)
    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).exists()] == []
