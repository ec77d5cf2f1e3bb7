"""Tables of data and how to read them: arrays, labelled arrays, and the files that laboratories keep them in."""

from ._names import (
    Axis as Axis,
    check_apart as check_apart,
    is_numbering as is_numbering,
    is_unit as is_unit,
    matches as matches,
    order_of as order_of,
    place_of as place_of,
    root_unit as root_unit,
    same_unit as same_unit,
)
from ._read import (
    Reader as Reader,
    check_codecs as check_codecs,
    files_read as files_read,
    is_labelled as is_labelled,
    open_array as open_array,
    open_labelled as open_labelled,
    read_archive as read_archive,
    read_array as read_array,
    read_file as read_file,
    read_names as read_names,
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
    atom_table as atom_table,
    doubled as doubled,
    mean_row as mean_row,
    part_of as part_of,
    split_rows as split_rows,
    split_streams as split_streams,
    turned as turned,
    undivided_rows as undivided_rows,
)
from ._table import (
    Coordinate as Coordinate,
    ReaderOutput as ReaderOutput,
    Source as Source,
    Table as Table,
    as_reader_output as as_reader_output,
    as_table as as_table,
    in_order as in_order,
)
from ._text import (
    is_number as is_number,
    read_columns as read_columns,
    read_pairs as read_pairs,
    read_reals as read_reals,
)
