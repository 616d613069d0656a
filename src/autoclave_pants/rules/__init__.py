"""The rules, one module per stage of a model's way from its declaration to its artifact and its parity test."""
