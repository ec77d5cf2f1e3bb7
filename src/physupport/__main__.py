"""The program, as `physupport` or `python -m physupport`."""

import signal
import sys


def main() -> None:
    """Run it; while it is being loaded, Ctrl-C ends it without a word."""
    # Libraries in the middle of being imported make other exceptions of KeyboardInterrupt, and long traces.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli import main as program

    program()


def rid() -> None:
    """`physupport rid` as a program of its own, for those that can name a program but no command of it."""
    sys.argv.insert(1, "rid")
    main()


if __name__ == "__main__":
    main()
