"""Website activity counted: sessions and windows with watermarks, late events shown."""
