"""The colours of pages and images, by what they stand for."""

from __future__ import annotations

import re

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1b1b1b",
    "muted": "#5f6368",
    "line": "#d9dadc",
    "soft": "#f4f4f2",
    "accent": "#0063a6",
    "c1": "#0063a6",
    "c2": "#c4500a",
    "c3": "#00805c",
    "c4": "#a6498a",
    "c5": "#8a6d00",
    "c6": "#3a94cf",
    "c7": "#6b6b6b",
    "c8": "#7a3e1d",
    "c9": "#5b4bb3",
    "c10": "#b0173f",
    "c11": "#56670a",
    "c12": "#1f3a6e",
}
"""On paper and by day. The series have the hues of Okabe and Ito, which colour-blind readers tell
apart, darkened until text in them has a contrast of 4.5 to the page (but for the sky blue)."""

DARK = {
    "paper": "#16181b",
    "ink": "#e8e6e3",
    "muted": "#a2a6ab",
    "line": "#3a3e43",
    "soft": "#1f2226",
    "accent": "#66b8ec",
    "c1": "#66b8ec",
    "c2": "#f0894a",
    "c3": "#3fc79c",
    "c4": "#dc8fc0",
    "c5": "#e0b93c",
    "c6": "#9ad4f5",
    "c7": "#b4b4b4",
    "c8": "#c9977a",
    "c9": "#a99bf2",
    "c10": "#f0808f",
    "c11": "#b5c667",
    "c12": "#8fa8e0",
}
"""The same colours on a dark page."""

SERIES = tuple(f"var(--c{number})" for number in range(1, 9))
"""The colours of lines, in the order in which they are given out."""


def properties(colours: dict[str, str]) -> str:
    """The colours as custom properties of a style sheet."""
    return "\n".join(f"  --{name}: {colour};" for name, colour in colours.items())


def painted(text: str) -> str:
    """A specification or a drawing with the colours of paper in place of custom properties."""
    return re.sub(r"var\(--([a-z0-9]+)(?:,[^()]*)?\)", lambda found: LIGHT[found[1]], text)
