"""Lets tests import from the other folders of tests/ as they do under Pants."""

import os
import sys
from pathlib import Path

# For tests that import tinygrad into their own process: without it, it looks for devices of this machine.
os.environ["DEV"] = "NULL"

sys.path.insert(0, str(Path(__file__).parent.parent))

from drive.artifacts import queueing, split, stateful, supercombo  # noqa: F401
