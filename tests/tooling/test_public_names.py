"""The top level stays small, each of its names leads somewhere, and packages publish what somebody uses."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import physupport

PUBLIC = {
    "AnalysisProtocol", "Correspondence", "Interval", "Library", "MisuseError", "PhysicalSupport", "RegionRule",
    "RegionalMap", "Report", "Resolution", "StreamPlan", "__version__", "library_bank", "optimal_resolution", "plan",
}  # fmt: skip


ROOT, PACKAGE = Path(__file__).parents[2], Path(physupport.__file__).parent
PAGES = [
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "docs" / "examples").iterdir(),
    ROOT / "docs" / "equations.csv",
    ROOT / "README.md",
]
# Commands and studies are programs: they publish for the command line and for tests.
PROGRAMS = {"cli", "studies"}
FOLDERS = [path.parent.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*/__init__.py"))]
LIBRARIES = [PACKAGE / folder for folder in FOLDERS if folder.parts and folder.parts[0] not in PROGRAMS]


def listing(package):
    """The file that lists the public names of a package: its stub where names are loaded on demand."""
    stub = package / "__init__.pyi"
    return stub if stub.exists() else package / "__init__.py"


def homes(package):
    """The public names of a package with their modules, or None for subpackages."""
    nodes = ast.walk(ast.parse(listing(package).read_text()))
    lines = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 1]
    return {entry.name: line.module for line in lines for entry in line.names if entry.asname == entry.name}


def test_the_public_names_are_these():
    assert set(physupport.__all__) == PUBLIC


def test_the_top_level_stays_small():
    assert len(physupport.__all__) <= 15


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_public_name_is_the_object_of_its_home(name):
    home = importlib.import_module(f".{homes(PACKAGE)[name]}", "physupport")
    assert getattr(physupport, name) is getattr(home, name)
    assert name in dir(physupport)


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_every_package_has_what_it_publishes_where_it_says(folder):
    """Names are loaded when first asked for, so that a wrong one would only be found then."""
    package = importlib.import_module(".".join(("physupport", *folder.parts)))
    for name, home in homes(PACKAGE / folder).items():
        found = importlib.import_module(f"{package.__name__}.{home or name}")
        assert getattr(package, name) is (getattr(found, name) if home else found)
        assert name in dir(package)


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_a_name_that_a_package_has_not_is_refused(folder):
    name = ".".join(("physupport", *folder.parts))
    with pytest.raises(AttributeError, match=f"{name}.* attribute .?nonsense"):
        importlib.import_module(name).nonsense  # noqa: B018


def test_an_unknown_name_is_refused_by_name():
    with pytest.raises(AttributeError, match="physupport attribute nonsense"):
        physupport.nonsense  # noqa: B018


def names_used(path):
    """Names that a module imports, or reaches through a package that it imported."""
    nodes = [*ast.walk(ast.parse(path.read_text()))]
    imported = {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    return imported | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


@pytest.fixture(scope="module")
def uses():
    """The names that each module uses, and the words of all pages."""
    words = {word for page in PAGES for word in re.findall(r"\w+", page.read_text())}
    return {path: names_used(path) for path in PACKAGE.rglob("*.py*") if path.suffix in (".py", ".pyi")}, words


@pytest.mark.parametrize("package", LIBRARIES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_what_a_package_publishes_is_used_by_another_or_named_on_a_page(package, uses):
    modules, words = uses
    outside = set().union(*(names for path, names in modules.items() if package not in path.parents))
    assert modules[listing(package)] - outside - words == set()
