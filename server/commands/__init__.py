"""The `barnabas` commands, one module each; each imports what it needs and no more."""
