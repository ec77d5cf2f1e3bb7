"""Tables made from the code: `<!-- keys of Elements -->` on a page becomes the table of these keys.

A key is described by the string below it in its class: in `project._*` those of a project file, in `report._form` those
of a report.
"""

import ast
import csv
import inspect
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from pydantic import BaseModel

import physupport
from physupport.cli import app
from physupport.responses import DETECTORS, KINDS

MARK = re.compile(r"<!-- (keys|names) of (\w+)(?: but (\w+(?:, \w+)*))? -->")
EQUATIONS = re.compile(r"<!-- equations from (.+) to (.+) -->")
LISTS = re.compile(r"<!-- table of (commands|parameters|detectors|packages|modules) -->")
PACKAGE = Path(physupport.__file__).parent
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


def rows_of_table(head: str, rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(map(cell, row))} |" for row in rows]
    return "\n".join([head, "|---" * (head.count("|") - 1) + "|", *lines])


def commands() -> str:
    """Every command with the first paragraph of its help."""
    rows = []
    for command in app.registered_commands:
        told = inspect.getdoc(command.callback) or ""
        name = command.name or str(getattr(command.callback, "__name__", ""))
        rows.append((f"`physupport {name}`", " ".join(told.split("\n\n")[0].split())))
    return rows_of_table("| command | does |", rows)


def parameters() -> str:
    """Every kind of parameter with its effect."""
    return rows_of_table("| parameter | a value v |", [(f"`{kind}`", effect) for kind, effect in KINDS.items()])


def detectors() -> str:
    """Every key of a detector with its defaults."""
    rows = []
    for key, text in strings_below("physupport.project._line_elements")["DetectorSpec"].items():
        usual = (repr(getattr(DETECTORS[kind], key)).replace("(", "[").replace(")", "]") for kind in DETECTORS)
        rows.append((f"`{key}`", *(f"`{each.replace(',]', ']')}`" for each in usual), text))
    return rows_of_table("| key | gamma | X-ray | meaning |", rows)


def layer_of(name: str) -> int:
    """The number of the layer of a package in the import contract, from top to bottom."""
    project = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text())
    (contract,) = (each for each in project["tool"]["importlinter"]["contracts"] if "layers" in each)
    return next(i for i, layer in enumerate(contract["layers"]) if name in layer.split(" | "))


def described(heading: str, paths: Mapping[str, Path]) -> str:
    """Modules with what they say of themselves, down the layers of the import contract."""
    names = sorted(paths, key=lambda name: (layer_of(name.split("/")[0]), name))
    told = {name: str(ast.get_docstring(ast.parse(paths[name].read_text(encoding="utf-8")))) for name in names}
    return rows_of_table(
        f"| {heading} | what it holds |", [(f"`{name}`", told[name].splitlines()[0]) for name in names]
    )


def packages() -> str:
    """Every package with what it says of itself."""
    inits = [path for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE]
    return described("package", {path.parent.relative_to(PACKAGE).as_posix(): path for path in inits})


def modules() -> str:
    """Every module beneath the packages with what it says of itself."""
    apart = ("__init__", "__main__")
    return described("module", {path.stem: path for path in PACKAGE.glob("*.py") if path.stem not in apart})


def equations(first: str, last: str) -> str:
    """Parts of the paper, each with its heading and every label, from equations.csv beside this file."""
    with (Path(__file__).parent / "equations.csv").open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    parts = list(dict.fromkeys(row[0] for row in rows))
    head = "| label | what it is | function | test |"
    tables = []
    for part in parts[parts.index(first) : parts.index(last) + 1]:
        lines = [(f"`{label}`", *cells) for name, label, *cells in rows if name == part]
        tables.append(f"### {part}\n\n{rows_of_table(head, lines)}\n")
    return "\n".join(tables)


MADE = {each.__name__: each for each in (commands, parameters, detectors, packages, modules)}


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with every mark replaced by its table."""
    markdown = MARK.sub(lambda mark: table(*mark.groups()), markdown)
    markdown = EQUATIONS.sub(lambda mark: equations(*mark.groups()), markdown)
    return LISTS.sub(lambda mark: MADE[mark[1]](), markdown)
