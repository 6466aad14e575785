"""The gap map: each partition a strip from its first offset to its last, coloured by what is there.

The whole height of a bin is what most of it is; an explained gap in it is a foot below, a fault the
whole height and never narrower than can be seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.pipeline.audit.drawing import RIGHT_PX, colour, lengths, new_figure
from barnabas.pipeline.audit.kinds import FAULTS, Kind
from barnabas.pipeline.audit.summary import Found, MapCell, PartFound
from barnabas.pipeline.audit.verdict import name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_STRIPS = 24
STRIP_PX = 18
ROW_PX = 28
FOOT = 0.34
LEAST_FAULT_PX = 4
ROLE_OF = {
    Kind.LANDED: "landed",
    Kind.ONLY_IN_LAKE: "only",
    Kind.MARKER: "none",
    Kind.ABORTED: "none",
    Kind.COMPACTED: "gone",
    Kind.READ_EMPTY: "none",
    Kind.RETAINED: "gone",
    Kind.DELETED: "gone",
    Kind.RECREATED: "gone",
    Kind.OPEN: "wait",
    Kind.NOT_LANDED_YET: "wait",
} | dict.fromkeys(FAULTS, "fault")
LEGEND = (
    ("landed", "landed"),
    ("only", "only in the lake"),
    ("none", "no record: marker, aborted, empty when read"),
    ("gone", "gone: compacted, retained, deleted, recreated"),
    ("wait", "still to land"),
    ("fault", "fault"),
)


def strips(found: Found) -> list[PartFound]:
    """The partitions to draw: those at fault first, then the largest, in their own order."""
    drawn = [part for part in found.parts if part.part.number in found.map_ranges]
    ranked = sorted(drawn, key=lambda part: (-part.fault_count, -_size(found, part)))
    chosen = {part.part.number for part in ranked[:MOST_STRIPS]}
    return [part for part in drawn if part.part.number in chosen]


def _size(found: Found, part: PartFound) -> int:
    low, high = found.map_ranges[part.part.number]
    return high - low


def draw(found: Found, width_px: int) -> Figure:
    """The map at a width."""
    shown = strips(found)
    left = min(max((len(label(part)) for part in shown), default=0) * 7 + 16, width_px * 2 // 5)
    figure, (axes,) = new_figure(width_px, [ROW_PX * max(len(shown), 1)], left_px=left, bottom_px=4)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    axes.set_yticks(range(len(shown)), [label(part, left) for part in shown])
    axes.tick_params(axis="y", colors=colour("ink"))
    by_part: dict[int, list[MapCell]] = {}
    for cell in found.cells:
        by_part.setdefault(cell.part, []).append(cell)
    inner_px = width_px - left - RIGHT_PX
    for row, part in enumerate(shown):
        _strip(axes, found, part, by_part.get(part.part.number, []), row, inner_px)
    return figure


def label(part: PartFound, left_px: int = 10_000) -> str:
    """The strip's name, shortened in the middle where there is no room."""
    text = name_of(part.part.key) + ("" if part.part.is_current else " (earlier)")
    most = max((left_px - 16) // 7, 8)
    if len(text) <= most:
        return text
    kept = most - 1
    return f"{text[: kept - kept // 2]}…{text[-(kept // 2) :]}"


def _strip(
    axes: Axes, found: Found, part: PartFound, cells: Sequence[MapCell], row: int, inner_px: int
) -> None:
    low, high = found.map_ranges[part.part.number]
    width = -(-(high - low) // found.map_bins)
    bins = -(-(high - low) // width)
    looks = bin_looks(cells, bins)
    share = width / (high - low)
    half = STRIP_PX / ROW_PX / 2
    for at, count, (body, foot, _) in lengths(looks, lambda look: (look[0], look[1], False)):
        start, end = at * share, min((at + count) * share, 1.0)
        if body:
            _bar(axes, body, start, end, row - half, 2 * half)
        if foot:
            _bar(axes, foot, start, end, row + half - 2 * half * FOOT, 2 * half * FOOT)
    least = LEAST_FAULT_PX / inner_px
    for at, count, is_fault in lengths(looks, lambda look: look[2]):
        if is_fault:
            start, end = at * share, min((at + count) * share, 1.0)
            spare = max(least - (end - start), 0) / 2
            _bar(
                axes,
                "fault",
                max(start - spare, 0),
                end + spare,
                row - half - 0.06,
                2 * half + 0.12,
            )


def _bar(axes: Axes, role: str, start: float, end: float, bottom: float, height: float) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(
        Rectangle((start, bottom), end - start, height, facecolor=colour(role), linewidth=0)
    )


Look = tuple[str, str, bool]


def bin_looks(cells: Sequence[MapCell], bins: int) -> list[Look]:
    """For each bin the role of most of it, of the largest explained gap beside, and: a fault?"""
    counts: list[dict[str, int]] = [{} for _ in range(bins)]
    for cell in cells:
        if cell.bin < bins:
            role = ROLE_OF[cell.kind]
            counts[cell.bin][role] = counts[cell.bin].get(role, 0) + cell.count
    return [_look_of(each) for each in counts]


def _look_of(counts: Mapping[str, int]) -> Look:
    has_fault = "fault" in counts
    others = sorted(
        ((count, role) for role, count in counts.items() if role != "fault"), reverse=True
    )
    body = others[0][1] if others else ""
    gaps = [role for _, role in others[1:] if role not in ("landed", "only")]
    return body, gaps[0] if gaps else "", has_fault
