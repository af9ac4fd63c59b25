"""Bars of parts of a whole, one below the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerlane.charts.chart import Panel, Spec
from peerlane.charts.scales import beside, rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LINE = 24
_LETTER = 6.2
_NARROW = 250
"""Pixels of the plot on a narrow page, by which the words in a part are chosen."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar: its kind has a colour, and its label stands in it where there is room."""

    bar: str
    kind: str
    share: float
    label: str
    words: str = ""


def bars(
    parts: Sequence[Part], colours: Mapping[str, str], axis: str, *, plain: Sequence[str] = ()
) -> Panel:
    """Bars of parts that add up to at most 1, in the order of their first parts.

    Args:
        parts: The parts, from left to right.
        colours: The colour of each kind, in the order of the key.
        axis: What the horizontal axis shows.
        plain: Kinds whose colour is near that of the page, with words in ink.
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
                "words": part.words or part.label,
                "text": part.label if _LETTER * len(part.label) < part.share * _NARROW else "",
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
                "transform": [{"filter": "datum.text !== ''"}],
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
    return Panel("", spec, right=beside(names))
