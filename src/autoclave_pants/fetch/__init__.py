"""Standalone scripts that fetch and unpack what is pinned by hash: the only actions with network."""
