"""The hash of a bank: the same bytes everywhere, other bytes for any other bank."""

import hashlib
import struct

import numpy as np
import pytest

from physupport import MisuseError
from physupport.banks import ArrayStates, Bank, Library, Nuisances, check_digest, library_bank, product_grid

PINNED = "719e9fda192c9fdeec654300637306ff80cdff13b128796785efc5d3b5071b7c"


def small_bank(**changes):
    parts = {
        "states": ArrayStates(np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]]])),
        "strengths": np.array([[1.0, 0.5]]),
        "calibration": product_grid(p=[0.25, 0.5]),
        "deployment": Nuisances(),
    }
    return Bank(**{**parts, **changes})


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def shape(kind, *sizes):
    return text(kind) + struct.pack(f"<{len(sizes) + 1}Q", len(sizes), *sizes)


def test_the_hash_is_that_of_the_canonical_bytes():
    # Two states of two atoms: (e1, e2) and (e2, e2), so two elements, numbered 0, 1 and 1, 1.
    data = text("physupport bank, version 1") + shape("texts", 0)
    data += text("array states") + shape("texts", 0)
    data += text("elements") + shape("real", 2, 2) + struct.pack("<4d", 1.0, 0.0, 0.0, 1.0)
    data += text("index") + shape("whole", 2, 2) + struct.pack("<4q", 0, 1, 1, 1)
    data += text("strengths") + shape("real", 1, 2) + struct.pack("<2d", 1.0, 0.5)
    data += text("calibration") + shape("texts", 0)
    data += text("names") + shape("texts", 1) + text("p")
    data += text("values") + shape("real", 2, 1) + struct.pack("<2d", 0.25, 0.5)
    data += text("deployment") + shape("texts", 0)
    data += text("names") + shape("texts", 0) + text("values") + shape("real", 1, 0)
    assert small_bank().digest == hashlib.sha256(data).hexdigest() == PINNED


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
        small_bank(states=ArrayStates(np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]))),
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


def test_another_bank_than_the_frozen_one_is_refused():
    check_digest(small_bank(), PINNED)
    with pytest.raises(MisuseError, match=f"bank must have the hash {PINNED}, got [0-9a-f]{{64}}. It is not the bank"):
        check_digest(small_bank(strengths=[[1.0, 1.0]]), PINNED)
