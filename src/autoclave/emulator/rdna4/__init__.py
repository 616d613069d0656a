"""The emulated gfx1200 (AMD RDNA4): what its instructions are, and what they do."""
