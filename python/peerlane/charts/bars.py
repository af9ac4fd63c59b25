"""Makes bar charts: bars that are divided into shares of a whole, and bars of amounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerlane.charts.chart import Panel, Spec
from peerlane.charts.scales import beside, rows
from peerlane.formats import number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from peerlane.charts.lines import Axis

_LINE = 24
_LETTER = 6.2
_VALUE = 40
"""The width of the value at the end of a bar, in pixels."""

_BAR = 18
"""The height of a bar of `amounts`, with the space to the next bar, in pixels."""

_FITTING: list[Spec] = [
    {"flatten": ["labels", "needs"], "as": ["text", "need"]},
    {"filter": "datum.need < datum.share * width"},
    {
        "window": [{"op": "row_number", "as": "place"}],
        "sort": [{"field": "need", "order": "descending"}],
        "groupby": ["bar", "from"],
    },
    {"filter": "datum.place === 1"},
]
"""Chooses the longest label of each part that is not wider than the part."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar, in the colour of its kind, with the longest of its labels that fits.

    `words` are the full description of the part.
    """

    bar: str
    kind: str
    share: float
    labels: tuple[str, ...]
    words: str = ""


def bars(
    parts: Sequence[Part], colours: Mapping[str, str], axis: str, *, plain: Sequence[str] = ()
) -> Panel:
    """Bars of parts that add up to at most 1, in the order in which the parts first name them.

    Args:
        parts: The parts, from left to right.
        colours: The colour of each kind, in the order of the key.
        axis: The title of the horizontal axis.
        plain: Kinds whose colour is similar to the page, so that their labels have the colour of
            text.
    """
    names = list(dict.fromkeys(part.bar for part in parts))
    starts: dict[str, float] = {}
    values = []
    for part in parts:
        begin = starts.get(part.bar, 0.0)
        starts[part.bar] = begin + part.share
        values.append(
            {
                "bar": part.bar,
                "kind": part.kind,
                "from": begin,
                "to": begin + part.share,
                "share": part.share,
                "words": part.words or part.labels[0],
                "labels": part.labels,
                "needs": [_LETTER * len(label) + 8 for label in part.labels],
            }
        )
    shown = [kind for kind in colours if any(part.kind == kind for part in parts)]
    y = rows("bar", names, "band", 0.22, domain=False, ticks=False)
    x: Spec = {
        "field": "from",
        "type": "quantitative",
        "scale": {"domain": [0, 1], "nice": False},
        "axis": {"title": axis, "format": "~%", "tickCount": 5, "grid": False},
    }
    spec: Spec = {
        "data": {"values": values},
        "height": _LINE * len(names),
        "layer": [
            {
                "mark": {"type": "bar", "stroke": "var(--paper)", "strokeWidth": 1},
                "encoding": {
                    "y": y,
                    "x": x,
                    "x2": {"field": "to"},
                    "color": {
                        "field": "kind",
                        "type": "nominal",
                        "scale": {"domain": shown, "range": [colours[kind] for kind in shown]},
                        "legend": {
                            "orient": "top",
                            "direction": "horizontal",
                            "columns": 4,
                            "title": None,
                            "symbolType": "square",
                            "symbolSize": 70,
                            "labelColor": "var(--muted)",
                            "labelLimit": 120,
                            "offset": 6,
                        },
                    },
                    "tooltip": [
                        {"field": "bar", "title": "of"},
                        {"field": "words", "title": "part"},
                        {"field": "share", "format": ".1%"},
                    ],
                },
            },
            {
                "mark": {
                    "type": "text",
                    "align": "left",
                    "dx": 5,
                    "fontSize": 10.5,
                    "aria": False,
                },
                "transform": _FITTING,
                "encoding": {
                    "y": y,
                    "x": x,
                    "text": {"field": "text"},
                    "color": {
                        "condition": {
                            "test": {"field": "kind", "oneOf": list(plain)},
                            "value": "var(--ink)",
                        },
                        "value": "var(--paper)",
                    },
                },
            },
        ],
    }
    return Panel("", spec, *beside(names))


def amounts(title: str, names: Sequence[str], values: Sequence[float], axis: Axis) -> Panel:
    """A bar from zero for each name, with its value at its end.

    Args:
        title: The title above the plot.
        names: The names, from top to bottom.
        values: The value of each name.
        axis: The horizontal axis.
    """
    known = zip(names, values, strict=True)
    y = rows("of", names, "band", 0.1)
    along: Spec = {"title": axis.words, "tickCount": 6}
    x: Spec = {"field": "value", "type": "quantitative", "axis": along}
    spec: Spec = {
        "data": {"values": [{"of": of, "value": one, "text": number(one)} for of, one in known]},
        "height": _BAR * len(names),
        "layer": [
            {
                "mark": {"type": "bar", "color": "var(--c1)"},
                "encoding": {
                    "y": y,
                    "x": x,
                    "tooltip": [{"field": "of"}, {"field": "value", "title": axis.words}],
                },
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 4, "aria": False},
                "encoding": {"y": y, "x": x, "text": {"field": "text"}},
            },
        ],
    }
    right, narrow = beside(names)
    return Panel(title, spec, right + _VALUE, narrow + _VALUE)
