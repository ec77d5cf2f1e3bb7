"""The program, as `physupport` or `python -m physupport`."""

import signal


def main() -> None:
    """Run it; while it is being loaded, Ctrl-C ends it without a word."""
    # Libraries in the middle of being imported make other exceptions of KeyboardInterrupt, and long traces.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli import main as program

    program()


if __name__ == "__main__":
    main()
