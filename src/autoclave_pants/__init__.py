"""The Pants backend of Autoclave: targets, rules and goals that turn declared models into artifacts."""
