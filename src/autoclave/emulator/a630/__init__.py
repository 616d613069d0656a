"""The Adreno a630: decoder, arithmetic, translator, interpreter and launches of IR3 machine code."""
