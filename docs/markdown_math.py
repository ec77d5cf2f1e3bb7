r"""How pages and docstrings are read: formulas become MathML, and doctests become code. No script, no network.

Formulas stand between dollars, ``$x$`` in a line and ``$$x$$`` as a paragraph of its own. Docstrings write the role
:math:`x` in a line and the directive ``.. math:: x`` as a paragraph. A formula that cannot be converted in full stops
the build.
"""

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.blockprocessors import BlockProcessor
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority

# A dollar opens a formula if no space follows it and closes one if no space precedes it, so prices stay prices.
DOLLARS = r"(?<![\\$])\$(?![\s$])(?P<latex>[^$]+?)(?<![\s\\])\$(?![\d$])"
ROLE = r":math:`(?P<latex>[^`]+)`"
DISPLAY = re.compile(r"\s*\$\$([^$]+)\$\$([.,;]?)\s*|\s*\.\. math::(.+)", re.DOTALL)

# Priorities in Python-Markdown: code spans have 190, escapes 180. A role must be read before its backticks look like
# code; dollars within code must stay, and backslashes within dollars too.
ABOVE_CODE, BELOW_CODE = 195, 185
ABOVE_FENCES, ABOVE_ALL_BLOCKS = 40, 200


def mathml(latex: str, display: str = "inline") -> str:
    """One formula as MathML; ValueError names a formula with a command that has no translation."""
    formula = " ".join(latex.split())
    markup = convert(formula, display=display)
    # The converter passes an unknown command or a stray & through as text, which would reach the reader as such.
    if unknown := re.search(r"\\[A-Za-z]+|&(?!#)", markup):
        raise ValueError(f"no MathML for {unknown.group()} in the formula {formula!r}")
    return markup


class InlineMath(InlineProcessor):
    """A formula within a line."""

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:
        """A placeholder, which keeps the formula from being read as Markdown, and where the formula stood."""
        return self.md.htmlStash.store(mathml(m["latex"])), m.start(), m.end()


class DisplayMath(BlockProcessor):
    """A formula that is a paragraph of its own, without blank lines in it."""

    def test(self, parent: Element, block: str) -> bool:
        """Whether the whole paragraph is one formula."""
        return DISPLAY.fullmatch(block) is not None

    def run(self, parent: Element, blocks: list[str]) -> None:
        """Put the formula in the place of its paragraph."""
        latex = DISPLAY.sub(r"\1\2\3", blocks.pop(0))
        if r"\\" in latex and r"\begin" not in latex:  # several lines, as in the directive of Sphinx
            latex = rf"\begin{{split}}{latex}\end{{split}}"
        markup = mathml(latex, display="block")
        SubElement(parent, "div", {"class": "formula"}).text = self.parser.md.htmlStash.store(markup)


def fenced_doctests(lines: list[str]) -> Iterator[str]:
    """The lines, with every doctest outside a fence put into one; left alone, ``>>>`` would be a quotation."""
    in_fence = in_doctest = False
    for line in lines:
        text = line.lstrip()
        if text.startswith("```") and not in_doctest:
            in_fence = not in_fence
        if text.startswith(">>> ") and not in_fence and not in_doctest:
            in_doctest = True
            yield from ("", "```pycon")
        elif in_doctest and not text:
            in_doctest = False
            yield "```"
        yield line
    if in_doctest:
        yield "```"


class Doctests(Preprocessor):
    """Doctests as code."""

    def run(self, lines: list[str]) -> list[str]:
        """The page with its doctests fenced."""
        return list(fenced_doctests(lines))


class MathExtension(Extension):
    """Formulas and doctests for Python-Markdown."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Register the four readers."""
        md.preprocessors.register(Doctests(md), "doctests", ABOVE_FENCES)
        md.parser.blockprocessors.register(DisplayMath(md.parser), "display-math", ABOVE_ALL_BLOCKS)
        md.inlinePatterns.register(InlineMath(ROLE, md), "math-role", ABOVE_CODE)
        md.inlinePatterns.register(InlineMath(DOLLARS, md), "math-dollars", BELOW_CODE)


@event_priority(100)  # before mkdocstrings takes the list for its docstrings
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the extension for pages and docstrings alike."""
    config.markdown_extensions.append(MathExtension())
    return config
