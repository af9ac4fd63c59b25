"""Defines the colours of a drawing: the colours of the page around it, or of a fixed theme.

The scale of use goes from the colour of paper over orange to the colour of ink. Its steps differ in
lightness, on light and on dark paper, so readers need not distinguish hues.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from peerlane.topology.use import STEPS

Theme = Literal["page", "light", "dark"]

ORANGE = "#d9660a"

_STEPS = (
    ("muted", "paper", 0.6),
    (ORANGE, "paper", 0.6),
    (ORANGE, "paper", 0.3),
    (ORANGE, "paper", 0.0),
    (ORANGE, "ink", 0.38),
    (ORANGE, "ink", 0.72),
)
"""Each step of the scale as a mixture: a colour, another colour, and the share of the other colour.
"""


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a theme, each with six hexadecimal digits."""

    ink: str
    paper: str
    muted: str
    line: str
    accent: str


LIGHT = Palette(ink="#1b1f24", paper="#ffffff", muted="#57606a", line="#8c959f", accent="#0969da")
DARK = Palette(ink="#e6edf3", paper="#15191e", muted="#9aa4ae", line="#6e7781", accent="#58a6ff")


def coloured(rules: str, theme: Theme) -> str:
    """A style sheet in the colours of a theme, in place of the colours `var(--t-NAME)` of `rules`.

    In the theme "page" the colours are custom properties of the drawing, with the values of the
    page's `--ink`, `--paper`, `--muted`, `--line` and `--accent`. If the page does not define them,
    the values are from the light or the dark theme, as the reader prefers, and in print from the
    light theme. In the themes "light" and "dark", all colours are constants, which any program can
    show.
    """
    if theme == "page":
        dark = f"@media screen and (prefers-color-scheme:dark){{{_of_page(DARK)}}}"
        return _of_page(LIGHT) + _scale() + dark + rules
    palette = LIGHT if theme == "light" else DARK
    named = {name: getattr(palette, name) for name in palette.__slots__}
    named |= {f"use-{step}": colour(palette, step) for step in range(STEPS + 1)}
    plain = _NAME.sub(lambda match: named[match[1]], rules)
    return _MIX.sub(lambda match: mix(match[3], match[1], int(match[2]) / 100), plain)


_NAME = re.compile(r"var\(--t-([a-z0-9-]+)\)")
_MIX = re.compile(r"color-mix\(in srgb,(#\w{6}) (\d+)%,(#\w{6})\)")


def colour(theme: Palette, step: int) -> str:
    """The colour of a step of the scale of use in a theme."""
    base, other, share = _STEPS[step]
    first = base if base.startswith("#") else getattr(theme, base)
    return mix(first, getattr(theme, other), share)


def mix(one: str, other: str, share: float) -> str:
    """The first colour with a `share` of the other, mixed as in `color-mix(in srgb, ...)`."""
    pairs = zip(bytes.fromhex(one[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + "".join(f"{round(a * (1 - share) + b * share):02x}" for a, b in pairs)


def _of_page(theme: Palette) -> str:
    """A rule with the colours of the page, or of `theme` if the page does not define them."""
    names = theme.__slots__
    said = "".join(f"--t-{name}:var(--{name},{getattr(theme, name)});" for name in names)
    return f".peerlane-topology{{{said}}}"


def _scale() -> str:
    """A rule with the colours of the scale of use, mixed from the colours of the page."""
    said = ""
    for step, (base, other, share) in enumerate(_STEPS):
        first = base if base.startswith("#") else f"var(--t-{base})"
        said += f"--t-use-{step}:color-mix(in srgb,var(--t-{other}) {share:.0%},{first});"
    return f".peerlane-topology{{{said}}}"
