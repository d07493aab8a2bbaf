"""``python -m mxcast`` is the command `mxcast`."""

import sys

from .cli import main

sys.exit(main())
