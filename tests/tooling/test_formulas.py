"""Formulas on pages and in docstrings become MathML; what is not a formula stays as it was."""

import importlib.util
import re
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from markdown import Markdown

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("markdown_math", ROOT / "docs" / "markdown_math.py")
markdown_math = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(markdown_math)


def html(text):
    return Markdown(extensions=[markdown_math.MathExtension(), "fenced_code", "tables"]).convert(text)


def formulas(text):
    """Letters, numbers and signs of each formula, without their markup."""
    found = re.findall(r"<math .*?</math>", html(text), flags=re.DOTALL)
    return ["".join(fromstring(formula).itertext()) for formula in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("so $a_0 < b$ holds", ["a0<b"]),
        (r"two, $x$ and $\nu_-$.", ["x", "ν−"]),
        (r"a role :math:`\sigma_1` in a line", ["σ1"]),
        (":math:`x +\ny` over two lines", ["x+y"]),
        ("$$x^2$$", ["x2"]),
        ("$$\nx\n- y\n$$", ["x−y"]),
        (".. math:: x = y", ["x=y"]),
        (".. math::\n    a &= b,\\\\\n    c &= d", ["a=b,c=d"]),
        (r"| $\|x\|$ |" + "\n|---|\n| $y$ |", ["‖x‖", "y"]),
    ],
)
def test_a_formula_becomes_mathml(text, expected):
    assert formulas(text) == expected


def test_a_formula_of_its_own_is_displayed():
    assert 'display="block"' in html("$$x$$")
    assert 'display="block"' not in html("$x$")


def test_emphasis_marks_in_a_formula_are_left_to_the_formula():
    assert formulas("$a*b*c$ and $d_e f_g$") == ["a*b*c", "defg"]


@pytest.mark.parametrize("text", ["from $5 to $6", "`$x$`", "```\n$x$ :math:`y`\n```", r"\$x\$"])
def test_what_is_not_a_formula_stays(text):
    assert formulas(text) == []


@pytest.mark.parametrize(("latex", "named"), [(r"x \nonsense y", r"\\nonsense"), ("a & b", "&")])
def test_what_has_no_translation_is_refused_by_name(latex, named):
    with pytest.raises(ValueError, match=f"no MathML for {named} in the formula"):
        html(f"${latex}$")


def test_a_doctest_becomes_code():
    assert html("Text\n>>> 1 + 1\n2\n\nmore") == (
        '<p>Text</p>\n<pre><code class="language-pycon">&gt;&gt;&gt; 1 + 1\n2\n</code></pre>\n<p>more</p>'
    )


def test_a_doctest_within_a_fence_is_left_alone():
    assert html("```pycon\n>>> 1\n1\n\n```").count("<pre>") == 1


@pytest.mark.parametrize(
    "path", sorted((ROOT / "src").rglob("*.py")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_every_formula_of_a_docstring_has_a_translation(path):
    for latex in re.findall(markdown_math.ROLE, path.read_text()):
        assert markdown_math.mathml(latex).startswith("<math")
