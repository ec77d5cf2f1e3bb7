"""Tables of data and how to read them: arrays, labelled arrays, and the files that laboratories keep them in."""

from ._complex import as_pairs as as_pairs
from ._csv import read_columns as read_columns
from ._held import Held as Held
from ._labelled import as_table as as_table
from ._read import read_archive as read_archive
from ._read import read_array as read_array
from ._read import read_table as read_table
from ._read import register_reader as register_reader
from ._rows import ArrayRows as ArrayRows
from ._rows import ReadRows as ReadRows
from ._rows import RowSource as RowSource
from ._split import Split as Split
from ._split import SplitRows as SplitRows
from ._split import split_rows as split_rows
from ._split import split_streams as split_streams
from ._table import Source as Source
from ._table import Table as Table
