"""The versions we declare, the lowest we test and those we pin agree."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TESTED_EXTRAS = ["plot", "io", "learn", "maps", "docs", "test"]


def pins(name):
    lines = [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")]
    requirements = [Requirement(line) for line in lines]
    names = [each.name.lower() for each in requirements]
    assert names == sorted(names)
    return {
        canonicalize_name(each.name): Version(re.fullmatch("==(.+)", str(each.specifier))[1]) for each in requirements
    }


def declared(extras):
    texts = [*PROJECT["dependencies"], *(text for extra in extras for text in PROJECT["optional-dependencies"][extra])]
    requirements = [Requirement(text) for text in texts]
    return {canonicalize_name(each.name): each.specifier for each in requirements if each.name != "physupport"}


def lower_bound(specifier):
    (only,) = specifier
    assert only.operator == ">="
    return Version(only.version)


def test_the_lowest_versions_are_exactly_the_declared_bounds():
    assert pins("constraints-lowest.txt") == {name: lower_bound(spec) for name, spec in declared(TESTED_EXTRAS).items()}


@pytest.mark.parametrize(("name", "specifier"), declared([*TESTED_EXTRAS, "dev"]).items())
def test_every_declared_package_is_pinned_at_an_allowed_version(name, specifier):
    assert pins("constraints.txt")[name] in specifier


def test_the_citation_names_the_version_of_the_package():
    version = re.search('__version__ = "(.+)"', (ROOT / "src/physupport/_version.py").read_text())[1]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()


def test_archives_carry_every_licence_and_notice_of_the_tree():
    found = {path.relative_to(ROOT).as_posix() for name in ("LICENSE*", "NOTICE*") for path in ROOT.glob(name)}
    found |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("NOTICE*")}
    assert {*PROJECT["license-files"]} == found
    notice = (ROOT / "src/physupport/project/data/NOTICE.md").read_text()
    data = [path.name for path in (ROOT / "src/physupport/project/data").glob("*.npz")]
    assert data
    assert all(f"`{name}`" in notice for name in data)
