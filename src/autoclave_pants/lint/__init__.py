"""Ruff as a linter and formatter: the backend `autoclave_pants.lint`."""
