from __future__ import annotations


def rules():
    return []
