"""Lets tests import from the other folders of tests/ as they do under Pants."""

import os
import sys
from pathlib import Path

os.environ["DEV"] = "NULL"

sys.path.insert(0, str(Path(__file__).parent.parent))
