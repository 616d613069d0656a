"""What a driving model is and what its outputs mean: kinds, behaviour versions, metadata, parsing, drawing. Pure functions."""
