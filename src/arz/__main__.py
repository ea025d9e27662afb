"""`python -m arz`: the command line."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:  # python -m puts the working directory there, which may be a stranger's
        del sys.path[0]
    from arz.cli import main

    sys.exit(main())
