"""``python -m unbraid``."""

import sys

from unbraid.cli import main

if __name__ == "__main__":
    sys.exit(main())
