"""Numbers beside an axis."""

from collections.abc import Iterable
from decimal import Decimal


def fixed(values: Iterable[float]) -> list[str]:
    """Numbers with as many decimals each as the longest of them needs at six digits.

    >>> fixed([0.1, 0.122])
    ['0.100', '0.122']
    """
    exact = [Decimal(f"{value:g}") for value in values]
    # A finite number has a whole exponent.
    decimals = max((-int(number.as_tuple().exponent) for number in exact), default=0)
    return [f"{number:.{max(decimals, 0)}f}" for number in exact]
