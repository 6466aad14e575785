"""Where reading begins and ends: `--from` and `--to` as offsets of each partition.

earliest, latest     the start and the end of a partition
1500                 an offset
-10                  ten records before the end
2026-03-01T12:00Z    the first record at or after that time (see `times`)

What kcat and rpk call these is understood, too: beginning, start, oldest; end, newest;
s@MS and e@MS for the times where reading begins and ends.
"""

from barnabas.server.cli.connection import Cluster
from barnabas.server.cli.failures import BadInput
from barnabas.server.cli.offsets import EARLIEST, LATEST, Place, offsets_once_led
from barnabas.server.cli.times import FORMS, parse_time_ms
from barnabas.server.cli.whole_numbers import signed_number

OTHER_WORDS = {
    **dict.fromkeys(("beginning", "start", "oldest"), "earliest"),
    **dict.fromkeys(("end", "newest"), "latest"),
}


def bounds(starts: tuple[str, ...], end: str | None) -> tuple[str, str | None]:
    """--from and --to in our words; BadInput for two beginnings or two ends."""
    ends = [text[1:] for text in starts if text.startswith("e@")]
    ends += [] if end is None else [OTHER_WORDS.get(end, end)]
    begins = [text[1:] if text.startswith("s@") else OTHER_WORDS.get(text, text)
              for text in starts if not text.startswith("e@")]  # fmt: skip
    for option, found in (("--from", begins), ("--to", ends)):
        if len(found) > 1:
            raise BadInput(f"{option}: one position, not {' and '.join(found)}")
    return (begins or ["earliest"])[0], ends[0] if ends else None


def check_position(text: str, option: str) -> None:
    """BadInput unless the text names a position."""
    if text not in ("earliest", "latest") and signed_number(text) is None:
        if parse_time_ms(text) is None:
            raise BadInput(
                f"{option}: {text!r} is no position; earliest, latest, an offset,"
                f" -N (from the end) or a time are: {FORMS}"
            )


def positions(
    cluster: Cluster, places: list[Place], text: str, *, committed: bool = False
) -> dict[Place, int]:
    """The offset of a position in each partition, within what readers of it get to see."""
    if text == "earliest":
        return offsets_once_led(cluster, places, EARLIEST)
    ends = offsets_once_led(cluster, places, LATEST, committed=committed)
    if text == "latest":
        return ends
    starts = offsets_once_led(cluster, places, EARLIEST)
    number = signed_number(text)
    if number is None:
        time_ms = parse_time_ms(text) or 0
        wanted = offsets_once_led(cluster, places, time_ms, committed=committed)
    elif text.startswith("-"):
        wanted = {place: end + number for place, end in ends.items()}
    else:
        wanted = dict.fromkeys(places, number)
    return {place: min(max(wanted[place], starts[place]), ends[place]) for place in places}
