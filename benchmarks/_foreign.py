"""Read the files of spectra below a folder, such as unpacked source packages: `python -m benchmarks._foreign FOLDER`.

A line for each file that is refused, with the reason; then how many of each ending are read.  Anything but a refusal
in words ends the run.
"""

import sys
from collections import Counter
from pathlib import Path

from physupport import MisuseError
from physupport.io import read_spectra

ENDINGS = (".jdx", ".dx", ".spc", ".0", ".spa", ".spg", ".wdf", ".msa", ".mca", ".spe", ".n42", ".hdr", ".tif")


def main(folder):
    found: Counter[str] = Counter()
    read: Counter[str] = Counter()
    for path in sorted(Path(folder).rglob("*")):
        ending = path.suffix.lower()
        if ending not in ENDINGS or not path.is_file():
            continue
        found[ending] += 1
        try:
            read[ending] += bool(read_spectra(path, "file"))
        except MisuseError as error:
            print(f"{path.name}: {str(error).replace(str(path), '')[:150]}")
    for ending, count in sorted(found.items()):
        print(f"{ending}: {read[ending]} of {count}")
    print(f"{read.total()} of {found.total()}")


if __name__ == "__main__":
    main(sys.argv[1])
