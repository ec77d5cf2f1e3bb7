"""Reference tables made from the models: `<!-- keys of Elements -->` on a page becomes the table of its keys.

A key is described by the string below it in its class: in `project._*` those of a project file, in `report._form` those
of a report.
"""

import ast
import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from pydantic import BaseModel

MARK = re.compile(r"<!-- (keys|names) of (\w+)(?: but (\w+(?:, \w+)*))? -->")
HOMES = [f"physupport.project.{name}" for name in ("_schema", "_streams", "_element_sections", "_region_sections")]
FORMS = "physupport.report._form"


@cache
def strings_below(module: str) -> Mapping[str, Mapping[str, str]]:
    """By class of a module, the string below each of its attributes."""
    tree = ast.parse(Path(str(import_module(module).__file__)).read_text(encoding="utf-8"))
    found: dict[str, dict[str, str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = {}
            for key, below in zip(node.body, node.body[1:], strict=False):
                match key, below:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                        found[node.name][name] = " ".join(text.split())
    return found


def cell(text: str) -> str:
    """A text as a cell of a table, whose bars are no borders."""
    return text.replace("|", "\\|")


def default_text(field: Any) -> str:  # noqa: ANN401  a field of pydantic
    """The default of a key as TOML writes it."""
    if field.is_required():
        return "required"
    value = field.default
    return "none" if value is None else f'`"{value}"`' if isinstance(value, str) else f"`{value}`".lower()


def key_rows(model: type[BaseModel], without: tuple[str, ...] = ()) -> list[tuple[str, str, str, str]]:
    """Of every key of a table its name, type, default and meaning; KeyError if one is not described."""
    rows = []
    for name, field in model.model_fields.items():
        if name not in without:
            homes = [home for home in model.__mro__ if home.__module__.startswith("physupport")]
            texts = (strings_below(home.__module__)[home.__name__].get(name) for home in homes)
            text = next(filter(None, texts), None)
            if text is None:
                raise KeyError(f"{model.__name__}.{name} has no string below it that says what it means")
            kind, _, meaning = text.partition(": ")
            rows.append((field.alias or name, kind, default_text(field), meaning))
    return rows


def model_named(name: str) -> type[BaseModel]:
    """The table of a project file whose class has this name."""
    (found,) = {getattr(import_module(home), name) for home in HOMES if name in vars(import_module(home))}
    return found


def table(kind: str, name: str, without: str | None) -> str:
    """The table that a mark stands for."""
    if kind == "names":
        rows = strings_below(FORMS)[name].items()
        return "\n".join(["| name | content |", "|---|---|", *(f"| `{key}` | {cell(text)} |" for key, text in rows)])
    lines = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for key, *cells in key_rows(model_named(name), tuple((without or "").split(", "))):
        lines.append(f"| `{key}` | {' | '.join(map(cell, cells))} |")
    return "\n".join(lines)


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with every mark replaced by its table."""
    return MARK.sub(lambda mark: table(*mark.groups()), markdown)
