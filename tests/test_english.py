"""Plain English: pages, docstrings and identifiers are free of words that make people of things."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("antennaopt", "fdtd")
PEOPLE = re.compile(r"\b(somebody|nobody|whoever|whom)\b", re.IGNORECASE)
METAPHORS = frozenset(
    ("coroner", "crew", "hand", "flights", "reception", "telling", "parties", "hired", "somebody", "twin", "twins")
)
PHRASES = re.compile(
    r"\b(so many|anew|(?:is|are|was|were) wanted|held to|beside|crew|coroner|flights|reception|telling|parties|hired"
    r"|twins?)\b"
)
"""Of pages: they have plainer words, `n`, `again`, `target`, `next to`. What stands in backquotes is a name."""
QUOTED = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
PATH = re.compile(r"`((?:fdtd|antennaopt|tests|benchmarks|docs|experiments)/[\w./-]+)`")
OF_BEFORE = re.compile(r"^\|.*$", re.MULTILINE)
"""Tables of the records on the layout name places of before."""
STILL_FAILING: set[str] = set()
"""Files, as paths from the root, that are yet to be mended. It only ever shrinks; a file that passes is taken out."""


def sources() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def pages() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "docs").rglob("*.py"))]


def docstrings(tree: ast.AST) -> Iterator[str]:
    """Docstrings, and the strings below a constant or a field that document it."""
    for node in ast.walk(tree):
        statements = getattr(node, "body", None)
        for statement in statements if isinstance(statements, list) else []:
            value = getattr(statement, "value", None)
            text = getattr(value, "value", None)
            if isinstance(statement, ast.Expr) and isinstance(value, ast.Constant) and isinstance(text, str):
                yield text


def identifiers(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        for field in ("name", "id", "attr", "arg", "asname"):
            if isinstance(name := getattr(node, field, None), str):
                yield name


def words(identifier: str) -> set[str]:
    """`_ClosedHand` and `closed_hand` are made of the same words."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", identifier)}


def failing(texts: dict[str, str]) -> dict[str, list[str]]:
    """Words to replace, by file."""
    found = {}
    for name, text in texts.items():
        if name.endswith(".py") and not name.startswith("docs/"):
            tree = ast.parse(text)
            text = "\n".join(docstrings(tree))
            named = sorted({name for name in identifiers(tree) if words(name) & METAPHORS})
        else:
            named = PHRASES.findall(QUOTED.sub("", text)) if name.endswith(".md") else []
        if bad := [*PEOPLE.findall(text), *named]:
            found[name] = bad
    return found


def test_pages_docstrings_and_identifiers() -> None:
    texts = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in (*sources(), *pages())}
    assert len(texts) > 150
    found = failing(texts)
    assert {name: bad for name, bad in found.items() if name not in STILL_FAILING} == {}
    assert STILL_FAILING - found.keys() == set(), "mended; take it out of the list"
    names = [path for path in sources() if words(path.stem) & METAPHORS]
    assert names == []


def missing_paths(text: str) -> list[str]:
    """Paths of this repository that a page names and that are not there."""
    return [path for path in PATH.findall(text) if not (ROOT / path).exists()]


def test_paths_in_records_and_the_contributors_guide_exist() -> None:
    found = {}
    for page in (ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "decisions").glob("*.md"))):
        text = page.read_text("utf-8")
        if missing := missing_paths(OF_BEFORE.sub("", text) if page.name[:4] in ("0008", "0022") else text):
            found[page.name] = missing
    assert found == {}
    assert missing_paths("`fdtd/rims.py` is now `fdtd/axisymmetric/rims.py`") == ["fdtd/rims.py"]


def test_what_is_looked_for_is_found() -> None:
    bad = {
        "a/one.py": '"""Whoever comes first."""\n',
        "a/two.py": "class Closed_Hand:\n    x: int = 0\n",
        "a/three.py": "def f(hired):\n    '''Fine.'''\n    return somebody_must\n",
        "docs/four.md": "It is for nobody.",
        "docs/six.md": "`twin`: 280 G were wanted.",
        "docs/seven.md": "`beside`, ```anew```: by hand.",
        "a/five.py": "handle = 'nobody'  # nobody\nhandled = behind = 0\n",
    }
    assert failing(bad).keys() == bad.keys() - {"a/five.py", "docs/seven.md"}
    assert failing(bad)["a/three.py"] == ["hired", "somebody_must"]
