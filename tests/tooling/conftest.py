"""Look up in the tree the names that pages mention."""

import ast
import importlib
import importlib.util
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def resolve():
    """The object at a dotted path of public names: the longest importable package, then attributes."""

    def resolved(path):
        parts = path.split(".")
        place = importlib.import_module(parts[0])
        for i, name in enumerate(parts[1:], 2):
            assert not name.startswith("_"), f"{path} is private"
            place = getattr(place, name) if hasattr(place, name) else importlib.import_module(".".join(parts[:i]))
        return place

    return resolved


@pytest.fixture(scope="session")
def reference():
    """The hook of the pages that makes tables from models."""
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def defined_in():
    """The names of the functions of a file."""

    @cache
    def names(path):
        tree = ast.parse((ROOT / path).read_text())
        return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}

    return names
