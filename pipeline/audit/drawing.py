"""SVG by matplotlib that follows the page: its colours are CSS variables, its width the reader's.

A picture is drawn with one stand-in colour for each role, which becomes `var(--role)` in the SVG,
so that light and dark are the page's business; and once for each of the two widths, at a point a
pixel, so that text has the size it is given.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE_PX = 1112
NARROW_PX = 432
TEXT_PX = 12
RIGHT_PX = 10
ROLES = (
    "ink", "muted", "rule", "surface", "accent", "accent-soft",
    "landed", "only", "none", "gone", "wait", "fault",
)  # fmt: skip
_STAND_INS = {role: f"#0{number:x}fe0{number:x}" for number, role in enumerate(ROLES, start=1)}
RC: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "barnabas",
    "font.family": "sans-serif",
    "font.size": TEXT_PX,
    "axes.titlesize": TEXT_PX,
    "axes.labelsize": TEXT_PX,
    "xtick.labelsize": TEXT_PX - 1,
    "ytick.labelsize": TEXT_PX - 1,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "path.simplify": True,
}


def colour(role: str) -> str:
    """The stand-in for a role, to draw with."""
    return _STAND_INS[role]


def picture(draw: Callable[[int], Figure], label: str) -> str:
    """Both widths of a picture as HTML; CSS shows one. `draw(width_px)` makes the figure."""
    return "".join(
        f'<div class="{name}">{_as_svg(draw, width, label)}</div>'
        for name, width in (("wide", WIDE_PX), ("narrow", NARROW_PX))
    )


def _as_svg(draw: Callable[[int], Figure], width_px: int, label: str) -> str:
    import matplotlib

    with matplotlib.rc_context(RC):
        figure = draw(width_px)
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    return in_page(out.getvalue(), label)


def in_page(svg: str, label: str) -> str:
    """The SVG element alone, with the page's colours and font, and a name for who cannot see it."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for role, stand_in in _STAND_INS.items():
        svg = svg.replace(stand_in, f"var(--{role})")
    svg = re.sub(r"font: (\d+(?:\.\d+)?)px [^;\"]*", r"font-size: \1px", svg)
    opening = re.match(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', svg)
    assert opening is not None
    named = f'<svg viewBox="{opening[1]}" role="img" aria-label="{label}">'
    return named + svg[opening.end() :]


def new_figure(
    width_px: int, heights_px: Sequence[int], *, left_px: int, bottom_px: int = 42
) -> tuple[Figure, list[Axes]]:
    """A figure of panels above one another, at a point a pixel."""
    from matplotlib.figure import Figure

    gap, top, right = 16, 6, RIGHT_PX
    height = sum(heights_px) + gap * (len(heights_px) - 1) + top + bottom_px
    figure = Figure(figsize=(width_px / 72, height / 72))
    axes = []
    at = height - top
    for panel in heights_px:
        at -= panel
        place = (
            left_px / width_px,
            at / height,
            (width_px - left_px - right) / width_px,
            panel / height,
        )
        axes.append(quiet(figure.add_axes(place)))
        at -= gap
    return figure, axes


def quiet(axes: Axes) -> Axes:
    """An axis that stays behind what it measures."""
    for side in ("left", "top", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(colour("rule"))
    axes.tick_params(colors=colour("muted"), length=0, pad=5)
    axes.xaxis.label.set_color(colour("muted"))
    axes.set_axisbelow(True)
    return axes


_DAY_S = 86_400
_STEPS_S = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200),
    *(_DAY_S * days for days in (1, 2, 3, 7, 14, 30, 61, 91, 182, 365, 1826, 3652)),
)
_SHAPES = ((60, "%H:%M:%S"), (_DAY_S, "%H:%M"), (_DAY_S * 61, "%d %b"), (1 << 40, "%b %Y"))


def time_ticks(start_ms: int, end_ms: int, most: int) -> list[tuple[int, str]]:
    """A few round times of a range with their texts, in UTC."""
    from datetime import UTC, datetime

    span_s = max((end_ms - start_ms) / 1000, 1)
    step = next((each for each in _STEPS_S if span_s / each <= most), _STEPS_S[-1])
    shape = next(shape for limit, shape in _SHAPES if step < limit)
    first = -(-start_ms // (step * 1000)) * step
    found: list[tuple[int, str]] = []
    day = ""
    for at in range(first, end_ms // 1000 + 1, step):
        moment = datetime.fromtimestamp(at, UTC)
        text = moment.strftime(shape)
        if step < _DAY_S and moment.strftime("%d %b") != day:
            day = moment.strftime("%d %b")
            text = f"{text}\n{day}"
        found.append((at * 1000, text))
    return found


def lengths(items: Sequence[Any], key: Callable[[Any], Any]) -> list[tuple[int, int, Any]]:
    """Neighbours with the same key as (first index, how many, key)."""
    found: list[tuple[int, int, Any]] = []
    for index, item in enumerate(items):
        value = key(item)
        if found and found[-1][2] == value:
            found[-1] = (found[-1][0], found[-1][1] + 1, value)
        else:
            found.append((index, 1, value))
    return found
