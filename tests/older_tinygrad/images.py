"""What the small model is shown."""

import numpy as np


def images(count: int) -> list[np.ndarray]:
    """The same for everybody who asks for that many."""
    generator = np.random.default_rng(11)
    return [generator.integers(0, 256, (1, 4, 16, 16), np.uint8) for _ in range(count)]
