"""`python -m barnabas` is the `barnabas` command."""

import sys

from barnabas.server.cli import main

sys.exit(main())
