"""The form of a document: which names stand where, and what kind of value each has."""

from .._stored import ANY, HASH, Form, Maybe
from ..report import FORMAT, VERSION

_EXPLANATION = {"explanation": int, "margin": [(float, str)], "says": ANY}
_FIELD = {
    "field": str, "label": str, "cell": [str], "group": (str, None), "numbers": ANY, "certificate": str,
    "witnesses": [_EXPLANATION], "excluded": (_EXPLANATION, None), "sentence": str,
}  # fmt: skip
_OUTCOME = {
    "status": str, "ending": str, "is_certified": bool, "queries": int, "budget": int, "witnessed": int,
    "possible": int, "indeterminate": int, "sentence": str,
}  # fmt: skip
_STREAM = {
    "name": str, "rows": int, "width": int, "fraction": float, "proposal_rows": HASH, "checkpoints": [int],
    "law": dict, "numerator": dict,
}  # fmt: skip
_PROTOCOL = {
    "bank": (HASH, None), "size": int, "question": dict, "level": float, "judge": Maybe(dict), "seed": int,
    "streams": [_STREAM],
    "proposals": [int], "plausibility": (HASH, None), "policy": dict, "budget": int, "until_witnessed": bool,
}  # fmt: skip
_DIGESTS = {
    "bank": (HASH, None), "question": HASH, "protocol": HASH, "data": HASH, "chain": HASH, "document": HASH
}  # fmt: skip
DOCUMENT: Form = {
    "format": FORMAT, "version": VERSION, "program": {"physupport": str, "numpy": str, "python": str},
    "fields": [_FIELD], "outcome": _OUTCOME, "protocol": _PROTOCOL, "data": dict,
    "trace": {"queries": ANY, "codes": ANY, "lower": ANY, "upper": ANY},
    "question": dict, "bank": (dict, None), "digests": _DIGESTS,
}  # fmt: skip
