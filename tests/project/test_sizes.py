"""The size of a bank is known before anything of it is made: one too large is one message, at once and cheap."""

import time
import tracemalloc

import numpy as np
import pytest

from physupport import MisuseError
from physupport.banks import (
    Library,
    all_supports,
    bank_regions,
    library_bank,
    product_grid,
    region_supports,
    table_regions,
)
from physupport.project import assemble, load_project
from physupport.questions import RegionalMap, RegionRule
from physupport.responses import Parameter, settings_grid

OPTIONAL = "".join(f'\n[regions.R{i}]\nstrength = 1.0\npresence = "optional"\n' for i in range(30))
ROWS = "".join(f"r{i},R{i},0.5\n" for i in range(30))
MANY = "{ from = 1.0, to = 2.0, count = 10000 }"
SETTINGS = """
[parameters.gain]
values = { from = 0.0, to = 0.1, count = 3000 }
[parameters.offset]
values = { from = 0.0, to = 0.1, count = 3000 }
"""


def refused(call):
    """The message, after little work and within 100 MB."""
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(MisuseError) as caught:
        call()
    took, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6
    assert took < 5.0  # of the processor; a second without tracing memory
    return str(caught.value)


def test_thirty_optional_regions(write):
    path = write(more=OPTIONAL)
    elements = path.parent / "elements.csv"
    elements.write_text(elements.read_text() + ROWS)
    message = refused(lambda: assemble(load_project(path)))
    assert message.startswith("project.toml must describe at most 200,000,000 explanations, not ")


def test_thousands_of_elements_at_once(write):
    path = write(more="\n[regions.many]\nstrength = 1.0\ncount = 10000\n")
    elements = path.parent / "elements.csv"
    elements.write_text(elements.read_text() + "".join(f"m{i},many,{i}\n" for i in range(20_000)))
    message = refused(lambda: assemble(load_project(path)))
    assert "at most 200,000,000 explanations, not 1," in message
    assert "or more. Fewer elements" in message


def test_two_grids_of_strengths(write):
    path = write(("strength = 2.0", f"strength = {MANY}"), ("strength = 2.0", f"strength = {MANY}"))
    assert "at most 200,000,000 explanations" in refused(lambda: assemble(load_project(path)))
    library = Library(["a", "b"], ["A", "B"], [[0.0], [0.0]], np.eye(2))
    grids = dict.fromkeys("AB", np.linspace(1.0, 2.0, 10_000))
    message = refused(lambda: library_bank(library, ["AB"], grids))
    assert message.startswith("supports must number at most 1,048,576, with their strengths, not 100,000,000.")


def test_nine_million_settings(write):
    assert "at most" in refused(lambda: assemble(load_project(write(more=SETTINGS))))
    grid = np.linspace(0.0, 0.1, 3000)
    parameters = [Parameter("gain", grid), Parameter("offset", grid)]
    message = refused(lambda: settings_grid(np.ones((8, 2)), [[0.0], [1.0]], parameters))
    assert "parameters must give at most 67,108,864 numbers" in message
    assert "9,000,000 settings of 8 x 2" in message
    assert "must number fewer than" in refused(lambda: product_grid(p=grid + 0.1, noise=grid + 0.1))


def test_supports_and_explanations_without_a_project():
    names = [f"R{i}" for i in range(40)]
    assert "supports must number at most" in refused(lambda: region_supports([], names))
    assert "supports must number at most" in refused(lambda: all_supports(40, 20))
    ids = [f"{region}{i}" for region in "ABC" for i in range(10_000)]
    columns = np.broadcast_to(np.eye(2)[:, :1], (2, len(ids)))
    library = Library(ids, [name[0] for name in ids], np.arange(len(ids))[:, None], columns)
    bank = library_bank(library, ["ABC"], dict.fromkeys("ABC", 1.0))
    assert bank.size == 10**12
    assert "explanations that are asked about must number fewer than" in refused(lambda: bank_regions(bank))


def test_what_is_allowed_is_counted_as_the_bank_counts_it(write):
    """The number worked out beforehand is that of the bank."""
    changes = ("strength = 2.0", "strength = [1.0, 2.0]"), ("noise = 0.5", "noise = [0.5, 0.6, 0.7]")
    for more in ("", "\n[supports]\nmax_active = 1\n", '\n[supports]\nlist = [["A"], ["A", "B"]]\n'):
        assembled = assemble(load_project(write(*changes, more=more)))
        with pytest.MonkeyPatch.context() as patch:
            for limit, is_allowed in ((assembled.bank.size, True), (assembled.bank.size - 1, False)):
                patch.setattr("physupport.project._supports.MOST_EXPLANATIONS", limit)
                if is_allowed:
                    assemble(assembled.project)
                else:
                    assert f"not {assembled.bank.size}" in refused(lambda a=assembled: assemble(a.project))


def test_nested_groups_cost_what_they_hold():
    """Every level used to hold the members of all below it again: 2 to the power of its depth."""
    names = [f"e{i}" for i in range(200)]
    view = table_regions({"A": names})
    groups = {"g0": names[:50]}
    for depth in range(1, 60):
        groups = {f"g{depth}": groups}
    start = time.process_time()
    question = RegionalMap(view, {"A": RegionRule(groups=groups)})
    assert time.process_time() - start < 1.0
    assert [len(members) for _, members in question.describe()["regions"][0]["groups"]] == [50] * 60 + [200]
    for depth in range(60, 120):
        groups = {f"g{depth}": groups}
    with pytest.raises(MisuseError, match="groups must be nested at most 100 deep"):
        RegionRule(groups=groups)
