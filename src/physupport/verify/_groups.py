"""The groups of a rule as sets of places, which are elements or sets of these."""

from typing import Any

import numpy as np

from .._stored import Node, Refusal, check_form
from .._typing import BoolArray, IntArray
from ..banks import RegionalView, RegionSets


def _read_groups(node: Any, region: str, elements: tuple[str, ...]) -> tuple[tuple[str, frozenset[int]], ...]:  # noqa: ANN401
    """Named groups as sets of numbers, the smallest first and the region itself last."""
    number = {name: i for i, name in enumerate(elements)}
    strange = [member for _, members in node for member in members if member not in number]
    if strange:
        raise Refusal(f"a group of region {region!r} holds {strange[0]!r}, which is no element of it")
    groups = tuple((name, frozenset(number[member] for member in members)) for name, members in node)
    sizes = [len(members) for _, members in groups]
    is_whole = bool(groups) and groups[-1] == (region, frozenset(range(len(elements))))
    if not is_whole or sizes != sorted(sizes) or sizes[0] == 0:
        raise Refusal(f"the groups of region {region!r} are not listed from the smallest to the region itself")
    if len({name for name, _ in groups}) < len(groups):
        raise Refusal(f"two groups of region {region!r} have one name")
    return groups


def read_groups(node: Any, region: str, sets: RegionSets) -> tuple[tuple[str, frozenset[int]], ...]:  # noqa: ANN401
    """Groups of elements, each with every set that has no element outside of it."""
    listed, groups = _read_groups(node, region, sets.ids), []
    if sets.is_single:
        return listed  # places are the elements themselves
    for name, members in listed:
        outside = np.array([i not in members for i in range(len(sets.ids))])
        is_out = ((sets.members >= 0) & outside[sets.members]).any(axis=1)
        groups.append((name, frozenset(np.flatnonzero(~is_out).tolist())))
    return tuple(groups)


def read_claims(node: Any, rules: list[Node], view: RegionalView, locations: IntArray) -> dict[str, BoolArray]:  # noqa: ANN401
    """(M,) of each claim whether explanations bear it out, from the elements that each of them has."""
    claims: dict[str, BoolArray] = {}
    for name, kind, of in check_form(node, [list], "the claims"):
        there = [_there(name, item, rules, view, locations) for item in check_form(of, [str], f"the claim {name!r}")]
        if not of or len({*of}) < len(of):
            raise Refusal(f"the claim {name!r} is not about at least one element or group, each named once")
        count = np.sum(there, axis=0)
        wanted = {"any": count > 0, "all": count == len(of), "exactly_one": count == 1}
        if kind not in wanted or name in claims:
            raise Refusal(f"the claim {name!r} is of an unknown kind or stands twice")
        claims[name] = wanted[kind]
    return claims


def _there(claim: str, item: str, rules: list[Node], view: RegionalView, locations: IntArray) -> BoolArray:
    """(M,) whether explanations have what is named, in any region that is asked about; one of these must know it."""
    places = [_has(rule, item, view.sets(rule["region"])) for rule in rules]
    if not any(place.any() for place in places):
        raise Refusal(f"the claim {claim!r} is about {item!r}, which is in no region that is asked about")
    columns = [view.regions.index(rule["region"]) for rule in rules]
    found = [place[locations[:, column]] for place, column in zip(places, columns, strict=True)]
    return np.asarray(np.any(found, axis=0))


def _has(rule: Node, item: str, sets: RegionSets) -> BoolArray:
    """(m + 1,) the places with an element of this name, or with one of the group of this name; the last is nothing."""
    groups = {name: {*members} for name, members in rule["groups"] if name != rule["region"]}
    wanted = groups.get(item, {item})
    places = sets.members.tolist()
    return np.array([*(any(i >= 0 and rule["elements"][i] in wanted for i in place) for place in places), False])
