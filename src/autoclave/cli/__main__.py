"""`python -m autoclave.cli`: the same as the `autoclave` command."""

import sys

from autoclave.cli.main import main

sys.exit(main())
