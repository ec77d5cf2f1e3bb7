"""Tables of data and how to read them: arrays, labelled arrays, and the files that laboratories keep them in."""

from ._csv import read_columns as read_columns
from ._labelled import as_table as as_table
from ._opened import (
    Coordinate as Coordinate,
    Opened as Opened,
    is_labelled as is_labelled,
    open_array as open_array,
    open_labelled as open_labelled,
)
from ._parts import part_of as part_of
from ._read import (
    Reader as Reader,
    files_read as files_read,
    read_archive as read_archive,
    read_array as read_array,
    read_shape as read_shape,
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
    mean_row as mean_row,
    split_rows as split_rows,
    split_streams as split_streams,
    undivided_rows as undivided_rows,
)
from ._table import Held as Held, Source as Source, Table as Table
