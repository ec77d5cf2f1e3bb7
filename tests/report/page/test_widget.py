"""Reports and maps as widgets: what notebooks get with anywidget, and without it."""

import pytest
from tests.maps.test_alone import CASES

from physupport import MisuseError
from physupport.maps import MapProtocol, as_signals, map_signals
from physupport.report import _widget

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A map and its signals."""
    protocol, rows = CASES["fission"]()
    signals = as_signals(rows, repeats=1)
    return map_signals(signals, MapProtocol.of(protocol), tmp_path_factory.mktemp("map"), threads=1), signals


def test_a_map_is_a_widget_with_its_page_and_the_signal_that_was_clicked(shown):
    found, signals = shown
    bundle = found._repr_mimebundle_()
    assert VIEW in bundle
    assert "text/html" not in bundle  # a page with a script has no place among others
    assert bundle["text/plain"] == "\n".join(found.first_lines())
    made = found.widget(signals)
    assert made.html.startswith("<!doctype html>")
    assert found.first_lines()[0] in made.html
    assert made.chosen == -1


def test_a_report_is_a_widget_that_keeps_its_html_for_where_none_is_drawn():
    bundle = _widget.widget_bundle("<div>said</div>", "Report", {})
    assert VIEW in bundle
    assert bundle["text/html"] == "<div>said</div>"
    assert bundle["text/plain"] == "Report"


def test_without_anywidget_all_is_shown_as_before(shown, monkeypatch):
    found, _ = shown
    monkeypatch.setattr(_widget, "_widget_class", lambda: None)
    assert found._repr_mimebundle_() is None
    with pytest.raises(MisuseError, match=r"physupport\[notebook\]"):
        found.widget()
