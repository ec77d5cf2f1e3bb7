"""The sample of mutants holds faults that can be run: each changes one line, and Python reads it."""

import ast
import random
from pathlib import Path

import pytest
from benchmarks.mutants import PACKAGE, PARTS, runs_of, sites


@pytest.fixture(scope="module")
def mutants():
    return [*sites()]


def test_a_mutant_is_another_program_in_one_line(mutants):
    for mutant in random.Random(0).sample(mutants, 60):
        text = mutant.path.read_text()
        changed = mutant.applied(text)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text)), mutant
        numbers = [
            number
            for number, (one, other) in enumerate(zip(text.splitlines(), changed.splitlines(), strict=True), 1)
            if one != other
        ]
        assert numbers == [mutant.line]


def test_every_kind_of_fault_is_made_in_every_part(mutants):
    kinds = {"comparison", "arithmetic", "boolean", "negation", "constant", "early return", "continue"}
    assert {mutant.kind for mutant in mutants} == kinds
    assert {mutant.path.relative_to(PACKAGE).parts[0] for mutant in mutants} == {*PARTS}


def test_every_module_has_tests_to_kill_its_mutants(mutants):
    for path in {mutant.path for mutant in mutants}:
        (_, _, *nearest), _ = runs_of(path)
        assert nearest, path
        assert all(Path(folder).exists() for folder in nearest)
