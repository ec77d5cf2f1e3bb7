"""What may be said, in a document that carries its proof."""

from typing import TYPE_CHECKING

from .._lazy import published

if TYPE_CHECKING:
    from ._covers import promised_level as promised_level
    from ._details import Details as Details
    from ._outcome import outcome_sentence as outcome_sentence
    from ._report import FieldReport as FieldReport, Report as Report
    from ._schema import (
        FORMAT as FORMAT,
        MOST_EXPLANATIONS as MOST_EXPLANATIONS,
        VERSION as VERSION,
        check_document as check_document,
        document_hash as document_hash,
        rebuilt_bank as rebuilt_bank,
        rebuilt_view as rebuilt_view,
        trace_columns as trace_columns,
        trace_json as trace_json,
    )
    from ._sentences import field_sentences as field_sentences
    from ._tables import field_lines as field_lines, query_lines as query_lines
else:
    __getattr__, __dir__, __all__ = published(__name__)
