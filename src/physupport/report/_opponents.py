"""Laws off the bank that opposed its explanations, in words."""

from collections.abc import Callable, Mapping
from typing import Any

# What proposal rows look like, by the entry under which the law off the bank is written that they gave.
_FREE: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "covariance_point": lambda law: _directions(len(law["strengths"])),
    "mean_point": lambda _: "a mean of their own",
    "dictionary_point": lambda _: "another dictionary",
    "point": lambda law: f"another dictionary with an activity of {law['p']:.3g}",
}


def _directions(count: int) -> str:
    return f"sources along {count} independent direction{'' if count == 1 else 's'}" if count else "no source at all"


def opposed(document: Mapping[str, Any]) -> str:
    """What free opponents are made of, where nothing in the bank is left beside them."""
    said = ""
    for stream in document["protocol"]["streams"]:
        mixed = stream["numerator"].get("mixture", [])
        for kind, law in mixed[-1]["law"].items() if mixed else ():
            if kind in _FREE:
                what = f"{_FREE[kind](law)}, in noise of variance {law['noise']:.3g}"
                said += f" The {stream['name']} rows that propose look like {what}."
    return said
