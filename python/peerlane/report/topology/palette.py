"""The colours of a drawing: those of the page around it, or of a theme of its own.

The scale of use goes from the paper over orange to the ink. Its steps differ in lightness, on light
and on dark paper, so that nobody needs to tell hues apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from peerlane.report.topology.use import STEPS

Theme = Literal["page", "light", "dark"]
Colour = tuple[float, float, float]

ORANGE = "#d9660a"

_PAPER_SHARES = (0.0, 0.55, 0.28, 0.0, 0.0, 0.0)
"""The share of paper in the colour of each step of the scale."""
_INK_SHARES = (0.0, 0.0, 0.0, 0.0, 0.38, 0.72)
"""The share of ink in the colour of each step of the scale."""


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a theme, as six hexadecimal digits each."""

    ink: str
    paper: str
    muted: str
    line: str
    accent: str


LIGHT = Palette(ink="#1b1f24", paper="#ffffff", muted="#57606a", line="#8c959f", accent="#0969da")
DARK = Palette(ink="#e6edf3", paper="#15191e", muted="#9aa4ae", line="#6e7781", accent="#58a6ff")


def style(theme: Theme) -> str:
    """The declarations of all colours, as custom properties of the drawing.

    For a page they are taken from the page's custom properties `--ink`, `--paper`, `--muted`,
    `--line` and `--accent`; where it has none, from the light or the dark theme, as the reader
    prefers, and on print from the light one.
    """
    if theme == "light":
        return f".peerlane-topology{{{_fixed(LIGHT)}}}"
    if theme == "dark":
        return f".peerlane-topology{{{_fixed(DARK)}}}"
    light, dark = _of_page(LIGHT), _of_page(DARK)
    return (
        f".peerlane-topology{{{light}{_mixed()}}}"
        f"@media screen and (prefers-color-scheme:dark){{.peerlane-topology{{{dark}}}}}"
    )


def fallback(name: str) -> str:
    """A colour of the light theme, for what reads no style sheets with custom properties."""
    return _all(LIGHT)[name]


def fixed(theme: Palette, step: int) -> str:
    """The colour of a step of the scale in a theme."""
    if step == 0:
        return theme.line
    first = _mix(ORANGE, theme.paper, _PAPER_SHARES[step])
    return _mix(first, theme.ink, _INK_SHARES[step])


def _all(theme: Palette) -> dict[str, str]:
    named = {name: getattr(theme, name) for name in theme.__slots__}
    return named | {f"use-{step}": fixed(theme, step) for step in range(STEPS + 1)}


def _fixed(theme: Palette) -> str:
    return "".join(f"--t-{name}:{colour};" for name, colour in _all(theme).items())


def _of_page(theme: Palette) -> str:
    return "".join(f"--t-{name}:var(--{name},{getattr(theme, name)});" for name in theme.__slots__)


def _mixed() -> str:
    """The scale of use, of the colours of the page."""
    said = "--t-use-0:var(--t-line);"
    for step in range(1, STEPS + 1):
        with_, share = (
            ("paper", _PAPER_SHARES[step])
            if _PAPER_SHARES[step]
            else (
                "ink",
                _INK_SHARES[step],
            )
        )
        said += f"--t-use-{step}:color-mix(in srgb,{ORANGE},var(--t-{with_}) {share:.0%});"
    return said


def _mix(one: str, other: str, share: float) -> str:
    """The colour with a `share` of the other, as `color-mix(in srgb, …)` has it."""
    pairs = zip(_digits(one), _digits(other), strict=True)
    return "#" + "".join(f"{round(a * (1 - share) + b * share):02x}" for a, b in pairs)


def _digits(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))
