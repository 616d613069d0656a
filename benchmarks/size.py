"""What a big model needs: memory of its compile process and copies of its weights on disk, over the size of its weights.

    python benchmarks/size.py --scale XL

Builds a synthetic model for chestnut through ./pants with a store of its own. Disk counts the store's growth (the source and the
artifact) and dist; the goals are at most 2.2 times the weights in memory and 3 copies on disk.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

from catalogue import copy_checkout, declare, timed

PEAK = re.compile(r"peak memory ([0-9.]+) MB")


def disk_usage(folder: Path) -> int:
    """Bytes that a folder takes on disk, each file counted once."""
    return int(
        subprocess.run(["du", "-s", "-B1", str(folder)], capture_output=True, text=True, check=True).stdout.split()[0]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="XL", help="scale of the synthetic model")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        checkout, store = Path(temporary, "checkout"), Path(temporary, "store")
        copy_checkout(checkout)
        declare(checkout, "warm", "S", 1, "chestnut")
        declare(checkout, "big", options.scale, 1, "chestnut")
        package = ["./pants", "--no-pantsd", f"--local-store-dir={store}", "package"]
        timed([*package, "models:warm"], checkout)
        before = disk_usage(store)
        seconds, printed = timed([*package, "models:big"], checkout)
        artifact = (checkout / "dist/models/big/chestnut/big_tinygrad.pkl").stat().st_size
        peak = max(float(found) for found in PEAK.findall(printed)) * 1e6
        stored, dist = disk_usage(store) - before, disk_usage(checkout / "dist/models/big")
        print(f"{options.scale}: artifact {artifact / 1e6:.0f} MB, built in {seconds:.0f} s")
        print(f"  memory of the compile process {peak / artifact:.2f} times the artifact")
        print(f"  disk: store {stored / artifact:.2f}, dist {dist / artifact:.2f} times the artifact")


if __name__ == "__main__":
    main()
