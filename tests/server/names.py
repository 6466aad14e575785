"""Names of topics and groups that no other test has."""

from itertools import count

_numbers = count()


def unique(name: str) -> str:
    """A name nobody else uses: the tests of a file share a broker."""
    return f"{name}-{next(_numbers)}"
