"""`python -m autoclave.servers`: a shared cache for the checkouts of one machine."""

import sys

from autoclave.servers.cache_server import main

if __name__ == "__main__":
    sys.exit(main())
