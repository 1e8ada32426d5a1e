"""`python -m ragstone`, and the console script: the command line of `ragstone.cli`."""

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        from ragstone.cli import run  # noqa: PLC0415  (so that `import ragstone.__main__` is cheap)
    except KeyboardInterrupt:  # nothing was done yet
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
