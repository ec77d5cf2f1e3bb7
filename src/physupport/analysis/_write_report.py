"""The report of a run: its document, put together from the frozen protocol and the trace."""

import platform
from typing import Any

import numpy as np

from .._codec import dumped, loaded
from .._hashes import chain_hash, content_hash
from .._version import __version__
from ..aeb import Trace
from ..questions import encoded
from ..report import FORMAT, VERSION, Report, document_hash, trace_json
from ._protocol import Seal
from ._report_fields import fields_json


def report(seal: Seal, trace: Trace) -> Report:
    """The report of a run under a frozen protocol; `trace.at(k)` gives that of a smaller budget."""
    seal.check_trace(trace)
    protocol, bank = seal.content, seal.protocol.bank
    content = encoded(seal.question)
    data, data_digest = seal.data, content_hash(seal.data)
    digests = {
        "bank": protocol["bank"],
        "question": content_hash(protocol["question"]),
        "protocol": seal.digest,
        "data": data_digest,
        "chain": chain_hash(seal.digest, data_digest, trace.queries, trace.codes, trace.margins),
    }
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "program": {"physupport": __version__, "numpy": np.__version__, "python": platform.python_version()},
        "fields": fields_json(trace),
        "outcome": _outcome(trace),
        "protocol": protocol,
        "data": data,
        "trace": trace_json(trace.queries, trace.codes, trace.margins),
        "question": content,
        "bank": None if bank is None else bank.encode(),
        "digests": digests,
    }
    document["digests"] = digests | {"document": document_hash(document)}
    return Report(loaded(dumped(document)))


def _outcome(trace: Trace) -> dict[str, Any]:
    return {
        "status": trace.status.name,
        "ending": trace.ending.name,
        "is_certified": trace.is_certified,
        "queries": len(trace),
        "budget": trace.budget,
        "witnessed": trace.n_witnessed,
        "possible": trace.n_possible,
        "indeterminate": trace.n_indeterminate,
    }
