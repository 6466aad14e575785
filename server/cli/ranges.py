"""Where reading begins and ends: `--from` and `--to` as offsets of each partition.

earliest, latest     the start and the end of a partition
1500                 an offset
-10                  ten records before the end
2026-03-01T12:00Z    the first record at or after that time (see `times`)
"""

import re

from barnabas.server.cli.connection import Cluster
from barnabas.server.cli.failures import BadInput
from barnabas.server.cli.offsets import EARLIEST, LATEST, Place, offsets_of
from barnabas.server.cli.times import FORMS, parse_time_ms


def check_position(text: str, option: str) -> None:
    """BadInput unless the text names a position."""
    if text not in ("earliest", "latest") and not re.fullmatch(r"-?\d+", text):
        if parse_time_ms(text) is None:
            raise BadInput(
                f"{option}: {text!r} is no position; earliest, latest, an offset,"
                f" -N (from the end) or a time are: {FORMS}"
            )


def positions(cluster: Cluster, places: list[Place], text: str) -> dict[Place, int]:
    """The offset of a position in each partition, within what the partition holds."""
    if text == "earliest":
        return offsets_of(cluster, places, EARLIEST)
    ends = offsets_of(cluster, places, LATEST)
    if text == "latest":
        return ends
    starts = offsets_of(cluster, places, EARLIEST)
    if re.fullmatch(r"-\d+", text):
        wanted = {place: end + int(text) for place, end in ends.items()}
    elif text.isdigit():
        wanted = dict.fromkeys(places, int(text))
    else:
        wanted = offsets_of(cluster, places, parse_time_ms(text) or 0)
    return {place: min(max(wanted[place], starts[place]), ends[place]) for place in places}
