"""Text from elsewhere on a terminal: what a terminal would obey is shown instead."""

import unicodedata

# Control characters, invisible marks that turn the direction of text, halves of characters, and line separators.
_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def visible(text: str) -> str:
    r"""The text with every character that a terminal obeys or cannot print as an escape.

    >>> visible("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        each.encode("unicode_escape").decode("ascii") if unicodedata.category(each) in _OBEYED else each
        for each in text
    )
