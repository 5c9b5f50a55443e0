"""Limits of a TOML text that hold before it is parsed: time and stack that a parser takes grow with its depth."""

from __future__ import annotations

import re

MOST_PARTS = 16
MOST_NESTED = 16

_STRING = r'"(?:[^"\\\n]++|\\.)*+"?|' + r"'[^'\n]*+'?"
_PART = rf"(?:{_STRING}|[^\s.=,\[\]{{}}\"'#]++)"
TOKEN = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:""")?'  # texts of several lines
    r"|'''(?:[^']++|'(?!''))*+(?:''')?"
    r"|\#[^\n]*+"
    rf"|(?P<dotted>(?:{_PART}[ \t]*+\.[ \t]*+){{{MOST_PARTS}}})"
    rf"|{_PART}"
    r"|(?P<open>[\[{])|(?P<close>[\]}])",
    re.DOTALL,
)
"""What is looked at, and whole texts and comments, in which nothing is. It never goes back: linear in the length."""


def too_deep(text: str) -> str | None:
    """Return what is too deep in a TOML text, or None; reads on from the file's name.

    Args:
        text: Need not be valid.
    """
    depth = 0
    for token in TOKEN.finditer(text):
        if token["open"]:
            depth += 1
        elif token["close"]:
            depth = max(depth - 1, 0)
        if token["dotted"]:
            return f"line {_line(text, token)} has a dotted key of more than {MOST_PARTS} parts; write fewer"
        if depth > MOST_NESTED:
            return f"line {_line(text, token)} nests lists or tables more than {MOST_NESTED} deep; write fewer levels"
    return None


def _line(text: str, token: re.Match[str]) -> int:
    return text.count("\n", 0, token.start()) + 1
