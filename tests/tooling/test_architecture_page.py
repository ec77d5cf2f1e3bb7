"""The page on the architecture names the packages that there are, and each file that it tells to write works."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

import physupport

ROOT = Path(__file__).parents[2]
EXTENSIONS = ROOT / "docs" / "extensions"
PACKAGE = Path(physupport.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text()
FENCES = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
LAYERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]


def first_line(path):
    """What a module says of itself."""
    return ast.get_docstring(ast.parse(path.read_text())).splitlines()[0]


def table_under(heading, text=PAGE):
    """The rows of the table with this heading, as lists of cells."""
    _, _, rest = text.partition(f"| {heading} |")
    lines = rest.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.fixture(scope="module")
def tree(reference):
    """The page's table of packages, and that of modules beneath them."""
    assert "<!-- table of packages -->" in PAGE
    assert "<!-- table of modules -->" in PAGE
    return table_under("package", reference.packages()), table_under("module", reference.modules())


def in_layers(names):
    """The names by layer of the import contract, those of one layer in no order."""
    layers = [set(layer.split(" | ")) for layer in LAYERS]
    numbers = [next(i for i, layer in enumerate(layers) if name in layer) for name in names]
    return numbers == sorted(numbers)


def test_every_package_is_named_with_what_it_says_of_itself_and_no_other_is(tree):
    named = {name.strip("`"): sentence for name, sentence in tree[0]}
    inits = [path for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE]
    assert named == {path.parent.relative_to(PACKAGE).as_posix(): first_line(path) for path in inits}


def test_every_module_beneath_the_packages_is_named_with_what_it_says_of_itself(tree):
    named = {name.strip("`"): sentence for name, sentence in tree[1]}
    apart = ("__init__", "__main__")  # the package itself, and what starts the program
    assert named == {path.stem: first_line(path) for path in PACKAGE.glob("*.py") if path.stem not in apart}


def test_the_tables_go_down_the_layers_of_the_import_contract(tree):
    packages = [name.strip("`").split("/")[0] for name, _ in tree[0]]
    modules = [name.strip("`") for name, _ in tree[1]]
    assert in_layers(packages + modules)
    assert not in_layers(modules + packages)  # the order is looked at
    assert {*packages, *modules} == {name for layer in LAYERS for name in layer.split(" | ")}


@pytest.mark.parametrize("heading", ["from", "new"])
def test_the_objects_that_the_page_names_are_published(heading):
    names = re.findall(r"`((?:\w+\.)+\w+)`", "".join(cell for row in table_under(heading) for cell in row))
    assert names
    for name in names:
        package, _, member = name.rpartition(".")
        home = import_module("physupport.analysis") if package[0].isupper() else import_module(f"physupport.{package}")
        assert hasattr(getattr(home, package) if package[0].isupper() else home, member), name


@pytest.fixture
def folder(tmp_path):
    """All files that the page shows."""
    for path in EXTENSIONS.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    return tmp_path


def file_shown(text):
    """The name of the file that a fence includes."""
    return re.fullmatch(r'--8<-- "docs/extensions/(\S+)"\n', text)[1]


SHOWN = [(file_shown(text), output) for (_, text), (language, output) in pairwise(FENCES) if language == "text"]


def test_the_page_shows_every_file_of_the_extensions():
    shown = {file_shown(text) for language, text in FENCES if language != "text"}
    assert shown == {path.name for path in EXTENSIONS.iterdir() if path.is_file()}


def test_there_is_an_example_for_each_thing_that_can_be_new():
    kinds = [re.match(r"\[(\w+)\]", row[0])[1] for row in table_under("new")]
    assert kinds == ["law", "judge", "question", "reader", "response"]
    assert [name for name, _ in SHOWN] == [f"try_{kind}.py" for kind in kinds]


def test_the_cases_of_a_judge_are_made_with_those_of_all(tmp_path):
    """Whether the tests of the judge are loaded alone, or all cases with them."""
    home = tmp_path / "tests" / "judges"
    home.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "judges" / "cases.py", home)
    source = "from tests.judges.cases import scored\nCASES = {'mine': lambda: scored('mean', None)}\n"
    (home / "test_by_mine.py").write_text(source)
    alone = "from tests.judges.test_by_mine import CASES; print(*CASES)"
    together = "from tests.judges.cases import every_case; print('mine' in every_case(), len(every_case()) > 1)"
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{PACKAGE.parent}"}
    for statement, output in ((alone, "mine\n"), (together, "True True\n")):
        run = subprocess.run(
            [sys.executable, "-c", statement],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.stderr == ""
        assert run.stdout == output


@pytest.mark.slow
@pytest.mark.parametrize(("script", "output"), SHOWN, ids=[name for name, _ in SHOWN])
def test_the_one_file_of_an_extension_is_enough(script, output, folder):
    """In a process of its own: nothing is known there but the package and that file."""
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    run = subprocess.run(
        [sys.executable, script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert run.stderr == ""
    assert run.stdout == output
