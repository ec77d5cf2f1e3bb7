"""What may be said, in a document that carries its proof."""

from ._content import MOST_EXPLANATIONS as MOST_EXPLANATIONS
from ._content import rebuilt_bank as rebuilt_bank
from ._content import rebuilt_view as rebuilt_view
from ._details import Details as Details
from ._report import FieldReport as FieldReport
from ._report import Report as Report
from ._schema import FORMAT as FORMAT
from ._schema import VERSION as VERSION
from ._schema import check_document as check_document
from ._schema import document_hash as document_hash
from ._sentences import field_sentences as field_sentences
from ._sentences import outcome_sentence as outcome_sentence
from ._trace import trace_columns as trace_columns
from ._trace import trace_json as trace_json
