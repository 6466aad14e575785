"""`barnabas pipeline demo`: every job once, on a broker of its own."""
