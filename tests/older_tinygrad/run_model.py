"""A process of its own: runs the small model's artifact with the loader on an older tinygrad's device, its state fed back.

Usage: run_model.py ARTIFACT DEVICE STEPS. Prints, as JSON, tinygrad's release and the output `answer` of each step in hex.
"""

import json
import sys
from importlib.metadata import version

from older_tinygrad.images import images

from autoclave.runtime import load


def main(artifact: str, device: str, steps: int) -> None:
    if device != "CPU":
        from older_tinygrad.emulated_devices import register

        register(device)
    part = load(artifact, allow_unverified=True, allow_synthetic=True)["run"]
    answers = [part.run({"image": image})["answer"].tobytes().hex() for image in images(steps)]
    print(json.dumps({"tinygrad": version("tinygrad"), "answers": answers}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
