"""How each role looks: the style sheet of pictures, which pages carry and plots read."""

import re
from functools import cache
from importlib.resources import files

SHEET = files(__package__).joinpath("picture.css").read_text(encoding="utf-8")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_DECLARATION = re.compile(r"([\w-]+): ([^;]+)")
_VARIABLE = re.compile(r"var\((--[\w-]+)\)")


@cache
def style_of(*classes: str) -> dict[str, str]:
    """The declarations of the sheet for an element of these classes, with the colours of light paper.

    Of two rules the one with more classes counts, of equal ones the later.

    >>> style_of("curve", "threshold")
    {'fill': 'none', 'stroke-width': '1.25', 'stroke-linejoin': 'round', 'stroke': '#b0261c'}
    """
    style: dict[str, str] = {}
    for names, declared in _rules():
        if names <= {*classes}:
            style |= declared
    return {key: style["color"] if value == "currentColor" else value for key, value in style.items()}


@cache
def _rules() -> list[tuple[frozenset[str], dict[str, str]]]:
    """The classes of every selector of classes and what it declares, those of the fewest classes first."""
    parts = [(selectors, dict(_DECLARATION.findall(body))) for selectors, body in _RULE.findall(SHEET)]
    colors = parts[0][1]
    rules = []
    for selectors, declared in parts[1:]:
        resolved = {key: _VARIABLE.sub(lambda match: colors[match[1]], value) for key, value in declared.items()}
        for selector in selectors.split(","):
            *_, last = selector.split()  # ancestors tell where on a page
            if last.startswith("."):
                rules.append((frozenset(last[1:].split(".")), resolved))
    return sorted(rules, key=lambda rule: len(rule[0]))
