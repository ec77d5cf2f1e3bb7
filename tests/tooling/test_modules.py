"""A module binds each of its names once: a constant that is set again further down is another one above, too."""

import ast
from collections import Counter
from pathlib import Path

import pytest

import physupport

PACKAGE = Path(physupport.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))


def bound(tree):
    """Names that a module assigns or defines at its top level, as often as it does."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=targets):
                yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def bound_twice(text):
    return [name for name, count in Counter(bound(ast.parse(text))).items() if count > 1]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_name_is_bound_twice(path):
    assert bound_twice(path.read_text()) == []


def test_the_check_sees_a_constant_that_is_set_again():
    assert bound_twice("_A, _B = 1, 2\ndef f(): return _A\n_A = 3\n") == ["_A"]
