"""What casd is started with, where that does not need casd itself; tests/remote start it."""

from pathlib import Path

import pytest

from autoclave.servers.casd import require_room
from autoclave.servers.errors import ServerError

GB = 1 << 30


def test_a_disk_that_is_almost_full_is_refused_with_what_to_do() -> None:
    require_room(Path("/data/cache"), 3 * GB)
    with pytest.raises(ServerError, match=r"^/data/cache: its disk has 2\.5 GB left, and casd needs 3.*make room"):
        require_room(Path("/data/cache"), 5 * GB // 2)
