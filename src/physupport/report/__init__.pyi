from ._amounts import (
    Amount as Amount,
    amount_of as amount_of,
    amount_remedy as amount_remedy,
    amounts_json as amounts_json,
    fractions_of as fractions_of,
)
from ._assumptions import promised_level as promised_level, strengths_beside as strengths_beside
from ._claims import short_answer as short_answer
from ._contents import (
    contents as contents,
    diagnosis_json as diagnosis_json,
    fields_json as fields_json,
    is_complete as is_complete,
    is_withheld as is_withheld,
    said_answers as said_answers,
    staircase_json as staircase_json,
    unlisted_json as unlisted_json,
)
from ._diagnosis import (
    LEVELS_NOTE as LEVELS_NOTE,
    MISFIT as MISFIT,
    Details as Details,
    misfit_sentence as misfit_sentence,
    outcome_notes as outcome_notes,
    refine_sentence as refine_sentence,
)
from ._fields import field_sentences as field_sentences
from ._outcome import outcome_sentence as outcome_sentence
from ._report import (
    FieldReport as FieldReport,
    Report as Report,
    field_lines as field_lines,
    query_lines as query_lines,
)
from ._schema import (
    FORMAT as FORMAT,
    MOST_EXPLANATIONS as MOST_EXPLANATIONS,
    VERSION as VERSION,
    check_document as check_document,
    document_hash as document_hash,
    rebuilt_bank as rebuilt_bank,
    rebuilt_question as rebuilt_question,
    trace_columns as trace_columns,
    trace_json as trace_json,
)
from ._where import Where as Where
from ._widget import has_widgets as has_widgets, widget as widget, widget_bundle as widget_bundle
from ._width import read_error as read_error
from ._words import (
    coordinate_names as coordinate_names,
    counted as counted,
    in_words as in_words,
    label_words as label_words,
    listed as listed,
)
