# try_reader.py
from pathlib import Path

import bar_reader

from physupport.io import read_table

Path("two.bar").write_text("1|2|3\n4|5|6\n")
table = read_table("two.bar", channels=1, label="deployment")
print(table.values.tolist(), table.channels)
