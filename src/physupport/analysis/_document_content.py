"""A bank and a question written out, so that both can be made again from the document alone."""

from .._codec import array_json
from .._errors import MisuseError
from ..banks import (
    ArrayStates,
    Bank,
    BankRegions,
    LibraryStates,
    Nuisances,
    RegionalView,
    SettingStates,
    StateFamily,
    TableRegions,
)
from ..questions import Question, RegionalMap, Resolution


def bank_json(bank: Bank) -> dict[str, object]:
    """States, strengths and nuisances; the explanations are their product and need no line each."""
    return {
        "states": _states_json(bank.states),
        "strengths": array_json(bank.strengths),
        "calibration": _nuisances_json(bank.calibration),
        "deployment": _nuisances_json(bank.deployment),
    }


def question_json(question: Question, bank: Bank | None) -> dict[str, object]:
    """What the description of a question gives only as hashes; a question of one's own has its description alone."""
    if isinstance(question, RegionalMap):
        return {
            "kind": "regional map",
            "view": _view_json(question.view, bank),
            "distances": [array_json(region.distances) for region in question.asked],
        }
    if isinstance(question, Resolution):
        return {
            "kind": "resolution",
            "places": array_json(question.places),
            "distances": array_json(question.distances),
            "proposal_distances": array_json(question.proposal_distances),
        }
    return {"kind": "own"}


def _states_json(states: StateFamily) -> dict[str, object]:
    if isinstance(states, LibraryStates):
        return _library_json(states)
    if isinstance(states, SettingStates):
        return {
            "kind": "library settings",
            "base": _library_json(states.base),
            "names": list(states.parameters),
            "values": array_json(states.values),
            "responses": array_json(states.responses),
        }
    if isinstance(states, ArrayStates):
        return {"kind": "arrays", "elements": array_json(states.elements), "index": array_json(states.index)}
    raise MisuseError("bank", "have states of a library or of arrays", type(states).__name__)


def _library_json(states: LibraryStates) -> dict[str, object]:
    library = states.library
    return {
        "kind": "library",
        "ids": list(library.ids),
        "regions": list(library.regions),
        "order": list(states.regions),
        "coordinates": array_json(library.coordinates),
        "responses": array_json(library.responses),
        "shared": array_json(states.extra),
    }


def _nuisances_json(nuisances: Nuisances) -> dict[str, object]:
    return {"names": list(nuisances.names), "values": array_json(nuisances.values)}


def _view_json(view: RegionalView, bank: Bank | None) -> dict[str, object]:
    if isinstance(view, BankRegions):
        if bank is None or view.digest != bank.digest:
            raise MisuseError("question", "be about the bank of the protocol", "a view of another bank")
        return {"kind": "bank"}
    if isinstance(view, TableRegions):
        return {
            "kind": "table",
            "elements": [[region, list(names)] for region, names in view.elements.items()],
            "locations": array_json(view.locations),
            "strengths": array_json(view.represented),
            "coordinates": [[region, array_json(places)] for region, places in view.places.items()],
        }
    raise MisuseError("question", "have the view of a bank or of a table", type(view).__name__)
