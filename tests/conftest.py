"""Generated examples have no time limit each: a busy machine makes no test fail."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
