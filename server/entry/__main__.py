"""`python -m barnabas` is the `barnabas` command."""

import sys

from barnabas.server.cli.main import main

sys.exit(main())
