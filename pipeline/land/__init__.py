"""Topics into the lake, every record once, whatever is killed."""
