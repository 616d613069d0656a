"""Proof that an artifact computes what it should: check files, recorded and reference outputs, and gates over them."""
