"""``python -m posviz.docs``."""

import sys

from posviz.docs import main

sys.exit(main())
