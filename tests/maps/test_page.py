"""The example of the page on maps runs and shows what it says."""

import json
import re
from pathlib import Path

import numpy as np

from physupport.maps import MapProtocol, as_signals, map_signals, write_map_page

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


def test_signals_along_one_axis_are_shown_in_lines_with_what_both_layers_say(bank, tmp_path):
    rows, _ = bank.signals(np.repeat([0.0, 20.0], 125), seed=3)
    protocol = MapProtocol(bank.judge, bank.question, 0.1, 0.2)
    found, signals = map_signals(rows, protocol, tmp_path / "out"), as_signals(rows)
    write_map_page(tmp_path / "map.html", found, signals, judge=protocol.judge)
    page = (tmp_path / "map.html").read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert data["shape"] == [3, 100]
    assert len(data["places"]) == len(data["regions"][0]["first"]["labels"]) == 250
    for i in (0, 249):
        assert data["sentences"][i] == found.sentence((i,))
        assert data["over_map"][i] == found.sentence((i,), share=True)
    assert "prefers-color-scheme: dark" in page
