"""What may be said, in a document that carries its proof."""

from ._details import Details as Details
from ._document_form import FORMAT as FORMAT
from ._document_form import VERSION as VERSION
from ._report import FieldReport as FieldReport
from ._report import Report as Report
from ._sentences import field_sentence as field_sentence
from ._sentences import outcome_sentence as outcome_sentence
