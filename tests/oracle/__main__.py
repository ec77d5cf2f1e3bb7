"""Compare the answers of the program with the frozen ones, or freeze those of today.

python -m tests.oracle                      compare everything
python -m tests.oracle --only "project 17"  compare this entry, any number of times
python -m tests.oracle --loose              where draws are others on purpose: verdicts near a threshold may differ
python -m tests.oracle --freeze             store what the program says now
"""

import argparse
import sys
import time

from .answers import arithmetic, entries, found_again, store, stored
from .compare import differences

_SHOWN = 5  # differences of an answer


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__.splitlines()[0])
    parser.add_argument("--freeze", action="store_true", help="store the answers of today")
    parser.add_argument("--loose", action="store_true", help="allow for other draws and other last bits")
    parser.add_argument("--only", action="append", metavar="ENTRY", help="this entry, such as 'project 17'")
    options = parser.parse_args()
    names = options.only or [*entries()]
    if options.freeze:
        earlier = stored() if options.only else {}
        store(earlier | {entry: found_again(entry) for entry in names})
        print(f"{len(names)} entries stored, {time.process_time():.0f} s of CPU")
        return 0
    frozen = stored()
    is_loose = options.loose or frozen["arithmetic"] != arithmetic()
    if is_loose:
        print("Compared loosely: draws or the last bits of sums may be others than those that were frozen.")
    unequal = sum(_is_other(entry, frozen.get(entry, {}), is_loose) for entry in names)
    print(f"{unequal} of {len(names)} entries differ, {time.process_time():.0f} s of CPU")
    return int(unequal > 0)


def _is_other(entry: str, frozen: dict, is_loose: bool) -> bool:
    """True if an entry has another answer, whose differences are printed."""
    answers = found_again(entry)
    is_other = False
    for part in sorted({*frozen, *answers}):
        lines = [*differences(frozen.get(part, {}), answers.get(part, {}), is_loose=is_loose)]
        is_other |= bool(lines)
        for line in lines[:_SHOWN]:
            print(f"{entry}, {part}: {line}", flush=True)
        if len(lines) > _SHOWN:
            print(f"{entry}, {part}: and {len(lines) - _SHOWN} more", flush=True)
    return is_other


if __name__ == "__main__":
    sys.exit(main())
