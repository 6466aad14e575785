"""Whole numbers as people type them, and as lines of input have them."""

MOST_DIGITS = 19  # of an int64; int() takes its time over long texts, and refuses 5,000 digits
_MOST = (1 << 63) - 1


def whole_number(text: str) -> int | None:
    """The number that digits of ASCII spell, up to Kafka's int64; None for all other text.

    str.isdigit() is true of '²', which int() refuses.
    """
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        return None
    number = int(text)
    return number if number <= _MOST else None


def signed_number(text: str) -> int | None:
    """The same, with a minus before it or without."""
    number = whole_number(text.removeprefix("-"))
    return -number if number is not None and text.startswith("-") else number
