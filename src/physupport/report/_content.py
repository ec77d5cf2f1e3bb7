"""The bank and the view of a question, made again from a document."""

from .._codec import real, whole
from .._stored import Node, Refusal
from ..banks import (
    ArrayStates,
    Bank,
    Library,
    LibraryStates,
    Nuisances,
    RegionalView,
    SettingStates,
    StateFamily,
    TableRegions,
    bank_regions,
)

# More explanations, or numbers of all states together, are refused before memory is taken for them.
MOST_EXPLANATIONS = 1 << 26
MOST_ENTRIES = 1 << 28


def rebuilt_bank(node: Node | None) -> Bank | None:
    """The bank of a document; None if it has none."""
    if node is None:
        return None
    _names(node, "states", "strengths", "calibration", "deployment")
    calibration, deployment = (_nuisances(node[name]) for name in ("calibration", "deployment"))
    return Bank(_states(node["states"]), real(node["strengths"], None, None), calibration, deployment)


def _states(node: Node) -> StateFamily:
    if node["kind"] == "library":
        return _library(node)
    if node["kind"] == "library settings":
        _names(node, "kind", "base", "names", "values", "responses")
        values, responses = real(node["values"], None, None), real(node["responses"], None, None, None)
        return SettingStates(_library(node["base"]), tuple(node["names"]), values, responses)
    if node["kind"] == "arrays":
        _names(node, "kind", "elements", "index")
        elements, index = real(node["elements"], None, None), whole(node["index"], None, None)
        if len(elements) * index.size > MOST_ENTRIES:
            raise Refusal(f"states of {len(elements)} x {index.size} numbers are too many to be checked here")
        return ArrayStates(elements[:, index].transpose(1, 0, 2))
    raise Refusal(f"states of the unknown kind {node['kind']!r}")


def _library(node: Node) -> LibraryStates:
    _names(node, "kind", "ids", "regions", "order", "coordinates", "responses", "shared")
    if node["kind"] != "library":
        raise Refusal(f"settings of states of the kind {node['kind']!r}")
    places, responses = real(node["coordinates"], None, None), real(node["responses"], None, None)
    library = Library(tuple(node["ids"]), tuple(node["regions"]), places, responses)
    return LibraryStates(library, tuple(node["order"]), real(node["shared"], None, None))


def _nuisances(node: Node) -> Nuisances:
    _names(node, "names", "values")
    return Nuisances(tuple(node["names"]), real(node["values"], None, None))


def rebuilt_view(node: Node, bank: Bank | None) -> RegionalView:
    """The view of a regional map."""
    if node["kind"] == "bank" and bank is not None:
        _names(node, "kind")
        return bank_regions(bank)
    if node["kind"] == "table":
        _names(node, "kind", "elements", "locations", "strengths", "coordinates")
        elements = {region: tuple(names) for region, names in node["elements"]}
        places = {region: real(places, None, None) for region, places in node["coordinates"]}
        if len(elements) < len(node["elements"]) or len(places) < len(node["coordinates"]):
            raise Refusal("a region stands twice in the table")
        return TableRegions(elements, whole(node["locations"], None, None), real(node["strengths"], None, None), places)
    raise Refusal(f"a view of the unknown kind {node['kind']!r}")


def _names(node: Node, *names: str) -> None:
    if {*node} != {*names}:
        raise Refusal(f"an entry has other names than {', '.join(names)}")
