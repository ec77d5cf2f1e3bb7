"""The channels of a project: one order and one unit for all inputs, or a refusal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from .._errors import MisuseError
from .._typing import IntArray
from ..io import Axis, is_numbering, order_of, place_of, same_unit

CHANNELS = "channels"


@final
@dataclass(slots=True, eq=False)
class Channels:
    """The order in which the first input that names its channels has them, filled as inputs are read.

    The deployment rows come first, so that these are never moved: all others are brought into their order.
    """

    names: tuple[str, ...] | None = None
    source: str = ""  # the key of that input
    unit: str = ""  # of the deployment rows
    unnamed: list[str] = field(default_factory=list)  # keys of inputs whose channels are only numbered
    moved: list[str] = field(default_factory=list)  # keys of inputs that have them in another order
    rows: dict[str, tuple[str, ...]] = field(default_factory=dict)  # names along the other axis of a stream

    def begin(self) -> None:
        """Forget what an earlier reading left."""
        self.names = None
        self.source = ""
        self.unit = ""
        self.unnamed.clear()
        self.moved.clear()
        self.rows.clear()

    @property
    def axis(self) -> Axis:
        """The names so far."""
        return Axis(CHANNELS, self.names, self.source)

    @property
    def are_places(self) -> bool:
        """True if channels are named by numbers on an axis, such as 400 nm."""
        return self.names is not None and all(place_of(each) is not None for each in self.names)

    def order(self, name: str, key: str, given: Sequence[str] | None) -> IntArray | None:
        """(q,) where each channel stands in an input; None where that has no names.  name: for messages."""
        if given is None or is_numbering(given):
            self.unnamed.append(key)
            return None
        if self.names is None:
            self.names = tuple(given)
            self.source = key
        order = order_of(name, self.axis, given)
        if order is not None and not np.array_equal(order, np.arange(len(order))):
            self.moved.append(key)
        return order

    def check_unit(self, name: str, unit: str) -> None:
        """Refuse rows in another unit than those of the deployment."""
        if not same_unit(unit, self.unit):
            remedy = "Bring both to one unit: numbers are never converted."
            raise MisuseError(name, f"be in the unit {self.unit} of data.deployment", unit, remedy)

    def check_named(self, name: Callable[[str], str]) -> None:
        """Refuse an input whose channels are only numbered where named ones show that orders differ.

        name: what a key is called in messages.
        """
        if self.moved and self.unnamed:
            remedy = "Name its channels too, or bring all files into one order."
            rule = f"name its channels, which {self.source} and {self.moved[0]} have in different orders"
            raise MisuseError(name(self.unnamed[0]), rule, "no names", remedy)
