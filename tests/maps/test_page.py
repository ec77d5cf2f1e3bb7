"""The example of the page on maps runs and shows what it says."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/maps.md"


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    exec(compile(code, str(PAGE), "exec"), {})
    labels, sentence, stored = capsys.readouterr().out.splitlines()
    assert labels.startswith("['SUPPORT_AMBIGUOUS'")
    assert labels.endswith("'FINE']")
    assert sentence.startswith("axis: line 3")
    assert stored.startswith("(20, 30, 2)")
