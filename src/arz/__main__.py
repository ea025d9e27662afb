"""`python -m arz`: the command line."""

import sys

from arz.cli import main

if not sys.flags.safe_path:  # python -m puts the working directory there, which may be a stranger's
    del sys.path[0]
sys.exit(main())
