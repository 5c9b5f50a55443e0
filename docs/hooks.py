"""Hooks of the documentation's site (mkdocs.yml): gallery, root pages, links out of docs, equations.

- Each script of docs/gallery is executed, and becomes a page with its text, code, printed lines and pictures.
- CONTRIBUTING.md and CHANGELOG.md become pages; every decision record gets its place in the navigation.
- A link to a file outside docs becomes that file's path, or a link where `repo_url` is set. A file that does not exist
  is a warning, and so an error of `make docs`. MkDocs checks the links inside docs.
- Equations between dollar signs become MathML, so that a page needs no other host.
"""

from __future__ import annotations

import ast
import logging
import os
import posixpath
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
LINK = re.compile(r"(?<![`\\])(!?)\[((?:[^][]|\[[^][]*\])*)\]\(([^)\s]+)\)")
MATHS = re.compile(r'<(span|div) class="arithmatex">(?:\\\(|\\\[)(.*?)(?:\\\)|\\\])</\1>', re.DOTALL)
log = logging.getLogger("mkdocs.hooks.antennaopt")


def on_config(config: Any) -> Any:
    """Fill in the navigation: gallery scripts and decision records, in the order of their names."""
    scripts = sorted((ROOT / "docs/gallery").glob("*.py"))
    records = sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))
    lists = {
        "GALLERY": [f"gallery/{script.stem}.md" for script in scripts],
        "DECISIONS": [f"decisions/{record.name}" for record in records],
    }
    config.nav = [
        {title: lists.get(part, part) if isinstance(part, str) else part for title, part in entry.items()}
        if isinstance(entry, dict)
        else entry
        for entry in config.nav
    ]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not files of docs."""
    for name, source in PAGES.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text("utf-8")))
    for script in sorted((ROOT / "docs/gallery").glob("*.py")):
        text, pictures = executed(script)
        files.append(File.generated(config, f"gallery/{script.stem}.md", content=text))
        for picture in pictures:
            files.append(File.generated(config, f"gallery/{picture.name}", content=picture.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Mend the links of a page that lead out of docs."""
    source = PAGES.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def mended(link: re.Match[str]) -> str:
        mark, text, target = link.groups()
        if re.match(r"[a-z]+:|#", target):
            return link[0]
        path, hash_, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if path in PAGES.values():
            path = f"docs/{next(name for name, root in PAGES.items() if root == path)}"
        elif not path.startswith("docs/") and not (ROOT / path).exists():
            log.warning("%s links to %s, which does not exist", source, path)
        if (ROOT / path).is_dir() and path.startswith("docs/"):
            path = f"{path}/{sorted((ROOT / path).glob('*.md'))[0].name}"
        if path.startswith("docs/"):
            inside = posixpath.relpath(path, posixpath.dirname(f"docs/{page.file.src_uri}"))
            return f"{mark}[{text}]({inside}{hash_}{anchor})"
        if config.repo_url:
            return f"{mark}[{text}]({config.repo_url.rstrip('/')}/blob/main/{path})"
        return text if text.strip("`") == path else f"{text} (`{path}`)"

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if part.startswith("```") else LINK.sub(mended, part) for part in parts)


def on_page_content(html: str, **_: Any) -> str:
    """Write equations as MathML, which browsers draw by themselves."""

    def drawn(found: re.Match[str]) -> str:
        text = found[2].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        return convert(text.strip(), display="block" if found[1] == "div" else "inline")

    return MATHS.sub(drawn, html)


def executed(script: Path) -> tuple[str, list[Path]]:
    """Execute a gallery script in a folder of its own.

    Args:
        script: Python in cells that begin with `# %%`; comments after that line are the cell's text. Its docstring
            opens the page. It saves its pictures as PNG files in the working folder.

    Returns:
        The page, and the pictures, in the order of their names; a picture stands below the cell that names its file.
    """
    folder = ROOT / "build/gallery" / script.stem
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": paths}
    done = subprocess.run(  # noqa: S603 -- a script of this repository
        [sys.executable, str(script)], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    if done.returncode:
        log.warning("docs/gallery/%s failed: %s", script.name, done.stderr.strip()[-2000:])
    text = script.read_text("utf-8")
    opening = ast.get_docstring(ast.parse(text)) or script.stem
    title, _, about = opening.partition("\n")
    page = [f"# {title.rstrip('.')}", about.strip()]
    pictures = {picture.name: picture for picture in sorted(folder.glob("*.png"))}
    for cell in re.split(r"^# %%.*\n", text, flags=re.MULTILINE)[1:]:
        comment = re.match(r"(?:#.*\n)*", cell)
        words = "" if comment is None else comment[0]
        code = cell[len(words) :].strip()
        page.append("\n".join(line.removeprefix("#").removeprefix(" ") for line in words.splitlines()))
        if code:
            page.append(f"```python\n{code}\n```")
        page += [f"![{name.removesuffix('.png')}]({name})" for name in pictures if name in code]
    printed = done.stdout.strip("\n")
    if printed:
        page += ["It prints:", f"```\n{printed}\n```"]
    page.append(f"The whole script is `docs/gallery/{script.name}`.")
    return "\n\n".join(part for part in page if part) + "\n", list(pictures.values())
