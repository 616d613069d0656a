"""Lets tests import from the other folders of tests/ as they do under Pants, whose source root it is."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
