"""Running a module of an action cut off from the machine: the launcher script, and its Python side."""
