"""The example on the page about asking runs and prints what it says."""

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "asking.md"


def test_the_example_prints_what_the_page_says():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    expected = re.findall(r"^print.*\n# (.*)$", code, flags=re.MULTILINE)
    assert printed.getvalue().splitlines() == expected
