"""How long a catalogue takes to build on many machines, and what moves between them: a simulation from measured actions."""
