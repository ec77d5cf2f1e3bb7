"""The hash of a bank: the same bytes everywhere, other bytes for any other bank."""

import hashlib
import json
import struct

import numpy as np
import pytest

from physupport.banks import Bank, Library, Nuisances, array_states, library_bank, product_grid

PINNED = "c2c186e4dfb0fba19619f706b8ebb21b2f6309175d9aca7c71a8d603c6eb6a45"


def small_bank(**changes):
    parts = {
        "states": array_states(np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]]])),
        "strengths": np.array([[1.0, 0.5]]),
        "calibration": product_grid(p=[0.25, 0.5]),
        "deployment": Nuisances(),
    }
    return Bank(**{**parts, **changes})


def by_hash(values, kind, *shape):
    """An array as the hashed dump has it."""
    data = struct.pack(f"<{len(values)}{'d' if kind == 'real' else 'q'}", *values)
    return {"type": kind, "shape": [*shape], "sha256": hashlib.sha256(data).hexdigest()}


def test_the_hash_is_that_of_the_dump_with_arrays_by_their_hashes():
    # Two states of two atoms: (e1, e2) and (e2, e2), so two elements, numbered 0, 1 and 1, 1.
    states = {
        "kind": "arrays",
        "elements": by_hash([1.0, 0.0, 0.0, 1.0], "real", 2, 2),
        "index": by_hash([0, 1, 1, 1], "whole", 2, 2),
    }
    dump = {
        "states": states,
        "strengths": by_hash([1.0, 0.5], "real", 1, 2),
        "calibration": {"names": ["p"], "values": by_hash([0.25, 0.5], "real", 2, 1)},
        "deployment": {"names": [], "values": by_hash([], "real", 1, 0)},
    }
    text = json.dumps(dump, sort_keys=True, separators=(",", ":"))
    assert small_bank().digest == hashlib.sha256(text.encode()).hexdigest() == PINNED


@pytest.mark.parametrize(
    "same",
    [
        lambda a: a.astype(">f8"),
        np.asfortranarray,
        lambda a: np.where(a == 0.0, -0.0, a),
        lambda a: np.repeat(a, 2, axis=1)[:, ::2],
        lambda a: a.tolist(),
    ],
)
def test_neither_byte_order_nor_layout_nor_the_sign_of_zero_changes_the_hash(same):
    assert small_bank(strengths=same(np.array([[1.0, 0.5]]))).digest == PINNED
    grid = Nuisances(("p",), same(np.array([[0.25], [0.5]])))
    assert small_bank(calibration=grid).digest == PINNED


def test_any_change_of_content_changes_the_hash():
    other = [
        small_bank(states=array_states(np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]))),
        small_bank(strengths=[[1.0, np.nextafter(0.5, 1.0)]]),
        small_bank(strengths=[[1.0, 0.0], [0.0, 0.5]]),
        small_bank(calibration=product_grid(q=[0.25, 0.5])),
        small_bank(calibration=product_grid(p=[0.5, 0.25])),
        small_bank(calibration=Nuisances(), deployment=product_grid(p=[0.25, 0.5])),
    ]
    assert len({PINNED, *(bank.digest for bank in other)}) == 1 + len(other)


def make(ids=("a", "b"), regions=("A", "B"), coordinates=(0.0, 1.0), order="AB", swap=False):
    responses = np.eye(3)[:, 1::-1] if swap else np.eye(3)[:, :2]
    library = Library(ids, regions, np.array(coordinates)[:, None], responses)
    return library_bank(library, ["A"], {"A": 1.0}, regions=order, extra=np.eye(3)[:, 2:])


def test_what_elements_are_called_and_where_they_lie_is_part_of_the_hash():
    changed = [
        make(),
        make(ids=("ab", "c")),
        make(ids=("a", "bc")),
        make(coordinates=(0.0, 1.5)),
        make(order="BA"),
        make(regions=("B", "A")),
        make(swap=True),
    ]
    assert len({bank.digest for bank in changed}) == len(changed)
    assert make().digest == make().digest
