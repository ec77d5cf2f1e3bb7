"""Tables of data and how to read them: arrays, labelled arrays, and the files that laboratories keep them in."""

from ._gamma import read_foreground as read_foreground, write_n42 as write_n42
from ._measured import Measured as Measured, measured_rows as measured_rows
from ._names import (
    Axis as Axis,
    check_apart as check_apart,
    is_numbering as is_numbering,
    is_unit as is_unit,
    matches as matches,
    measure as measure,
    order_of as order_of,
    place_of as place_of,
    root_unit as root_unit,
    same_unit as same_unit,
)
from ._read import (
    SPECTRA_ENDINGS as SPECTRA_ENDINGS,
    Reader as Reader,
    check_codecs as check_codecs,
    files_read as files_read,
    is_labelled as is_labelled,
    library_units as library_units,
    open_array as open_array,
    open_labelled as open_labelled,
    read_archive as read_archive,
    read_array as read_array,
    read_file as read_file,
    read_names as read_names,
    read_shape as read_shape,
    read_spectra as read_spectra,
    read_table as read_table,
    register_reader as register_reader,
)
from ._rows import (
    ArrayRows as ArrayRows,
    HashedRows as HashedRows,
    ReadRows as ReadRows,
    RowSource as RowSource,
    SplitRows as SplitRows,
    as_complex as as_complex,
    as_pairs as as_pairs,
    atom_table as atom_table,
    doubled as doubled,
    mean_row as mean_row,
    part_of as part_of,
    split_rows as split_rows,
    split_streams as split_streams,
    turned as turned,
    undivided_rows as undivided_rows,
)
from ._spectra import Resampled as Resampled, Spectrum as Spectrum, resampled as resampled
from ._table import (
    Coordinate as Coordinate,
    ReaderOutput as ReaderOutput,
    Source as Source,
    Table as Table,
    as_reader_output as as_reader_output,
    as_table as as_table,
    at_time as at_time,
    check_counted as check_counted,
    in_order as in_order,
    kind_of as kind_of,
)
from ._text import (
    is_number as is_number,
    read_columns as read_columns,
    read_pairs as read_pairs,
    read_reals as read_reals,
)
from ._waves import Frames as Frames, wav_rate as wav_rate
