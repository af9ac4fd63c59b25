"""Defines the colours of pages and images, named after their purpose."""

from __future__ import annotations

import re

_COLOURS = {
    "paper": ("#ffffff", "#16181b"),
    "ink": ("#1b1b1b", "#e8e6e3"),
    "muted": ("#5f6368", "#a2a6ab"),
    "line": ("#d9dadc", "#3a3e43"),
    "soft": ("#f4f4f2", "#1f2226"),
    "accent": ("#0063a6", "#66b8ec"),
    "c1": ("#0063a6", "#66b8ec"),
    "c2": ("#c4500a", "#f0894a"),
    "c3": ("#00805c", "#3fc79c"),
    "c4": ("#a6498a", "#dc8fc0"),
    "c5": ("#8a6d00", "#e0b93c"),
    "c6": ("#3a94cf", "#9ad4f5"),
    "c7": ("#6b6b6b", "#b4b4b4"),
    "c8": ("#7a3e1d", "#c9977a"),
    "c9": ("#5b4bb3", "#a99bf2"),
    "c10": ("#b0173f", "#f0808f"),
    "c11": ("#56670a", "#b5c667"),
    "c12": ("#1f3a6e", "#8fa8e0"),
}
"""Each colour has a value for paper and light pages, and a value for dark pages. The colours of
series have the hues of Okabe and Ito, which colour-blind readers can distinguish. They are so dark
that text has a contrast of 4.5 to the page, except in sky blue."""

LIGHT = {name: light for name, (light, _) in _COLOURS.items()}
DARK = {name: dark for name, (_, dark) in _COLOURS.items()}

SERIES = tuple(f"var(--c{number})" for number in range(1, 9))
"""The colours of lines, in the order of use."""


def properties(colours: dict[str, str]) -> str:
    """The colours as custom properties of a style sheet."""
    return "\n".join(f"  --{name}: {colour};" for name, colour in colours.items())


def painted(text: str) -> str:
    """A specification or drawing in which the colours of paper replace the custom properties."""
    return re.sub(r"var\(--([a-z0-9]+)(?:,[^()]*)?\)", lambda found: LIGHT[found[1]], text)
