# bar_reader.py
import numpy as np

from physupport.io import ReaderOutput, register_reader


def read_bar(name, path, member):
    """One row a line, numbers between bars; what it raises becomes one message that names the file."""
    return ReaderOutput(np.array([[float(cell) for cell in line.split("|")] for line in path.read_text().splitlines()]))


register_reader(".bar", read_bar)
