"""Reports and maps as widgets of notebooks, where anywidget is installed."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from .._errors import Clause, MisuseError

# A fragment is shown as it is; a whole page in a frame of its own, from which it says its height and what was clicked.
_SCRIPT = """
function render({model, el}) {
  const html = model.get("html");
  if (!html.startsWith("<!doctype")) { el.innerHTML = html; return; }
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts";
  frame.style.cssText = "width: 100%; height: 40em; border: 0";
  frame.srcdoc = html;
  const hear = (event) => {
    if (event.source !== frame.contentWindow) return;
    if (event.data.height > 0) frame.style.height = event.data.height + "px";
    if (event.data.chosen >= 0) { model.set("chosen", event.data.chosen); model.save_changes(); }
  };
  addEventListener("message", hear);
  el.append(frame);
  return () => removeEventListener("message", hear);
}
export default {render};
"""


@cache
def _widget_class() -> Any | None:  # noqa: ANN401  a class of another package
    """The class of these widgets; None where anywidget is not installed."""
    try:
        base = import_module("anywidget").AnyWidget
        traits = import_module("traitlets")
    except ImportError:
        return None
    members = {
        "_esm": _SCRIPT,
        "html": traits.Unicode("").tag(sync=True),
        "chosen": traits.Int(-1).tag(sync=True),  # the signal of a map that was clicked last
    }
    return type("PhysupportWidget", (base,), members)


def has_widgets() -> bool:
    """True if anywidget is installed."""
    return _widget_class() is not None


def widget(html: str) -> Any:  # noqa: ANN401
    """A widget that shows a fragment or a page of HTML; its trait `chosen` is the number of the signal clicked last."""
    made = _widget_class()
    if made is None:
        raise MisuseError(
            "widget",
            "have anywidget",
            Clause("that package is not installed"),
            'pip install "physupport[notebook]" brings it.',
        )
    return made(html=html)


def widget_bundle(html: str, text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The forms that a notebook shows: the widget, the text beside it, and the HTML if it is no page."""
    data, _ = widget(html)._repr_mimebundle_(**options)
    return {**data, "text/plain": text} | ({} if html.startswith("<!doctype") else {"text/html": html})
