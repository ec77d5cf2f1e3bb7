"""Deployment rows that count: Poisson around nonnegative amounts of responses and background."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import read_only
from .._checks import check_array
from .._codec import array_json, real
from .._errors import MisuseError
from .._stored import check_form
from .._typing import Array
from ..banks import Bank
from ..io import RowSource
from ._base import Stream
from ._design import Design
from ._law import Law, Part, register

_FORM = {"kind": str, "background": dict, "exposure": ([float], None)}


@register
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Poisson(Law):
    r"""Counts :math:`y_{ti} \sim \mathrm{Poisson}(s_t\,(A_ex + Bb)_i)`, x >= 0 and b >= 0 free, in rows of exposure s.

    Strengths of the bank are marks that say which atoms are active.
    background: (q, b) columns.  exposure: (T,) of every row, such as live times; the same for all unless given.
    """

    name: ClassVar[str] = "poisson"
    part: ClassVar[Part] = "deployment"
    why_real: ClassVar[str] = "Counts are whole numbers."
    has_strengths: ClassVar[bool] = False
    is_linear: ClassVar[bool] = True
    is_counted: ClassVar[bool] = True
    file_keys: ClassVar[Mapping[str, bool]] = {"split": False, "splits": False, "exposure": False, "background": False}
    usual_judge: ClassVar[str] = "counts"

    background: ArrayLike | None = None
    exposure: ArrayLike | None = None
    is_complex: bool = False

    def __post_init__(self) -> None:
        if self.is_complex:
            raise MisuseError("is_complex", "be False for counts", "True", self.why_real)
        for name in ("background", "exposure"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_only(getattr(self, name), np.float64))
        if self.exposure is not None and not (check_array("exposure", self.exposure, (None,)) > 0.0).all():
            raise MisuseError("exposure", "be above 0", "another", "Leave out rows that were not exposed.")

    def completed(self, bank: Bank) -> Self:
        """As it is, after a look at the bank."""
        self.check_bank(bank)
        return self

    def check_bank(self, bank: Bank) -> None:
        """Refuse columns with negative entries."""
        for name, columns in (("responses", bank.states.elements), ("background", self._background(bank))):
            if columns.size and columns.min() < 0.0:
                remedy = "Means of counts are sums of nonnegative parts."
                raise MisuseError(name, "not be negative with the law poisson", f"{columns.min():g}", remedy)

    def design(self, bank: Bank) -> Design:
        """Atoms and background of every key."""
        step, states = len(bank.deployment), bank.states
        count = states.elements.shape[1]
        return Design(
            columns=states.elements,
            names=states.names(np.arange(count)),
            supports=bank.deployment_parts(np.arange(0, bank.n_deployment_keys, step)).elements,
            background=self._background(bank),
            rows="same mean",
            deviations=(None,) * step,
            whitener=None,
            low=np.zeros(count),
            high=np.full(count, np.inf),
            least=np.zeros(count),
            exposure=None if self.exposure is None else np.asarray(self.exposure),
        )

    def sample(self, bank: Bank, explanation: int, rng: np.random.Generator, n_rows: int) -> Array:
        """(n_rows, width) counts around the strengths, without background."""
        parts = bank.deployment_parts(bank.deployment_keys(explanation))
        active = parts.elements[0] >= 0
        means = bank.states.elements[:, parts.elements[0, active]] @ parts.strengths[0, active]
        return rng.poisson(means, (n_rows, len(means))).astype(np.float64)

    def stream(self, bank: Bank, rows: RowSource, checkpoints: ArrayLike) -> Stream:  # noqa: ARG002
        """None: rows are split by another judge, as amounts are free."""
        raise MisuseError("judge", "be 'counts' for rows of the law poisson", "evidence", "Leave judge out.")

    def encode(self) -> dict[str, object]:
        """All of it."""
        background = np.zeros((0, 0)) if self.background is None else np.asarray(self.background)
        exposure = None if self.exposure is None else np.asarray(self.exposure).tolist()
        return {"kind": self.name, "background": array_json(background), "exposure": exposure}

    @classmethod
    def decode(cls, node: Mapping[str, object], stream: str = "the stream") -> Self:
        """What `encode` made."""
        check_form(node, _FORM, f"the law of {stream}")
        background = real(node["background"], None, None)
        return cls(background=background if background.size else None, exposure=node["exposure"])  # type: ignore[arg-type]

    def _background(self, bank: Bank) -> Array:
        given = np.zeros((self.width(bank), 0)) if self.background is None else self.background
        return check_array("background", given, (self.width(bank), None))
