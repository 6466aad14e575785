"""Volume by partition over time, and the delay from an event to its landing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.pipeline.audit.drawing import colour, new_figure, time_ticks
from barnabas.pipeline.audit.gap_map import label
from barnabas.pipeline.audit.summary import Found, PartFound

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS = 24
ROW_PX = 20
TOTAL_PX = 110
DELAY_PX = 190
FAINTEST = 0.08
_UNITS: tuple[tuple[int, str, tuple[int, ...]], ...] = (
    (1, "ms", (1, 10, 100)),
    (1000, "s", (1, 10)),
    (60_000, "min", (1, 10)),
    (3_600_000, "h", (1, 6)),
    (86_400_000, "d", (1, 7, 30, 365)),
)


def rows_shown(found: Found) -> list[PartFound]:
    """The partitions with the most rows, in their own order."""
    rows = rows_by_part(found)
    ranked = sorted(rows, key=lambda number: (-rows[number], number))
    chosen = set(ranked[:MOST_ROWS])
    return [part for part in found.parts if part.part.number in chosen]


def rows_by_part(found: Found) -> dict[int, int]:
    """How many rows of each partition there are to draw."""
    rows: dict[int, int] = {}
    for volume in found.volumes:
        rows[volume.part] = rows.get(volume.part, 0) + volume.rows
    return rows


def time_span(found: Found) -> tuple[int, int]:
    """From the first bin to the end of the last."""
    starts = [volume.start_ms for volume in found.volumes]
    return min(starts), max(starts) + found.bin_ms


def draw_volume(found: Found, width_px: int) -> Figure:
    """Rows in the lake by time of the event: all of them, and a line of shades by partition."""
    shown = rows_shown(found)
    left = min(max(len(label(part)) for part in shown) * 7 + 16, width_px * 2 // 5)
    left = max(left, 64)
    figure, (total, each) = new_figure(width_px, [TOTAL_PX, ROW_PX * len(shown)], left_px=left)
    _draw_total(total, found)
    _draw_shades(each, found, shown, left)
    for axes in (total, each):
        axes.set_xlim(*time_span(found))
    _time_axis(each, found, (width_px - left) // 90)
    total.set_xticks([])
    return figure


def _draw_total(axes: Axes, found: Found) -> None:
    sums: dict[int, int] = {}
    for volume in found.volumes:
        sums[volume.start_ms] = sums.get(volume.start_ms, 0) + volume.rows
    starts = sorted(sums)
    axes.bar(
        starts,
        [sums[at] for at in starts],
        width=found.bin_ms * 0.86,
        align="edge",
        color=colour("accent"),
        linewidth=0,
    )
    most = max(sums.values())
    axes.set_ylim(0, most * 1.08)
    ticks = count_ticks(most)
    axes.set_yticks(ticks, [short_count(tick) for tick in ticks])
    axes.grid(axis="y", color=colour("rule"), linewidth=1)


def count_ticks(most: int) -> list[float]:
    """Zero and two or three round numbers up to `most`."""
    power = 10.0 ** (len(str(most)) - 1)
    step = next(power * share for share in (0.25, 0.5, 1, 2, 5) if most <= power * share * 3.9)
    return [step * number for number in range(4) if step * number <= most * 1.05]


def _draw_shades(axes: Axes, found: Found, shown: Sequence[PartFound], left_px: int) -> None:
    from matplotlib.patches import Rectangle

    row_of = {part.part.number: row for row, part in enumerate(shown)}
    most = max((volume.rows for volume in found.volumes), default=1)
    for volume in found.volumes:
        if volume.part in row_of:
            # By the root: a partition with a twentieth of the rows is still to be seen.
            shade = FAINTEST + (1 - FAINTEST) * (volume.rows / most) ** 0.5
            place = (volume.start_ms, row_of[volume.part] - 0.41)
            axes.add_patch(
                Rectangle(
                    place, found.bin_ms * 0.97, 0.82,
                    facecolor=colour("accent"), alpha=round(shade, 2), linewidth=0,
                )
            )  # fmt: skip
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_yticks(range(len(shown)), [label(part, left_px) for part in shown])
    axes.tick_params(axis="y", colors=colour("ink"))
    axes.spines["bottom"].set_visible(False)


def _time_axis(axes: Axes, found: Found, most: int) -> None:
    start, end = time_span(found)
    ticks = time_ticks(start, end, max(most, 2))
    axes.set_xticks([at for at, _ in ticks], [text for _, text in ticks])


def draw_delay(found: Found, width_px: int) -> Figure:
    """From event to landing: the median, up to 95 of 100, and the slowest, by time of the event."""
    left = 64
    figure, (axes,) = new_figure(width_px, [DELAY_PX], left_px=left)
    middles = [each.start_ms + found.bin_ms / 2 for each in found.delays]
    median = [max(each.median_ms, 1) for each in found.delays]
    p95 = [max(each.p95_ms, 1) for each in found.delays]
    largest = [max(each.largest_ms, 1) for each in found.delays]
    axes.fill_between(middles, median, p95, color=colour("accent"), alpha=0.22, linewidth=0)
    axes.plot(middles, largest, color=colour("muted"), linewidth=1, linestyle=(0, (3, 3)))
    axes.plot(middles, median, color=colour("accent"), linewidth=2, solid_capstyle="round")
    if len(middles) == 1:
        axes.plot(middles, median, "o", color=colour("accent"))
    axes.set_yscale("log")
    axes.minorticks_off()
    low, high = min(median), max(largest)
    axes.set_ylim(low / 1.6, high * 1.6)
    ticks = delay_ticks(low, high)
    axes.set_yticks([at for at, _ in ticks], [text for _, text in ticks])
    axes.grid(axis="y", color=colour("rule"), linewidth=1)
    axes.set_xlim(*time_span(found))
    _time_axis(axes, found, (width_px - left) // 90)
    return figure


def delay_ticks(low_ms: int, high_ms: int) -> list[tuple[int, str]]:
    """Round delays around a range, at most seven."""
    known = [(unit * step, f"{step} {name}") for unit, name, steps in _UNITS for step in steps]
    within = [tick for tick in known if low_ms / 1.6 <= tick[0] <= high_ms * 1.6]
    if len(within) < 2:
        return [(low_ms, short_delay(low_ms)), (high_ms, short_delay(high_ms))]
    return within[:: -(-len(within) // 7)]


def short_delay(delay_ms: float) -> str:
    """A delay in its largest unit: `340 ms`, `2.5 min`."""
    unit, name, _ = max((each for each in _UNITS if delay_ms >= each[0]), default=_UNITS[0])
    value = delay_ms / unit
    return f"{value:.0f} {name}" if value >= 10 or unit == 1 else f"{value:.1f} {name}"


def short_count(count: float) -> str:
    """A number as an axis shows it: `950`, `1.2k`, `3M`."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= unit:
            text = f"{count / unit:.1f}".removesuffix(".0")
            return f"{text}{name}"
    return f"{count:g}"
