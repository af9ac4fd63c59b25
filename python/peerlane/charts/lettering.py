"""Estimates the widths of texts without a font; estimates are rather too large than too small."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_FONT = 12.0


def text_width(text: str, size: float = _FONT) -> float:
    """The approximate width of a line of text in a sans-serif font of a size, in pixels."""
    return size * sum(map(_em, text))


def widest(lines: Iterable[str], size: float = _FONT) -> float:
    """The width of the widest line."""
    return max((text_width(line, size) for line in lines), default=0.0)


def _em(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if character in "mwMW@%":
        return 0.92
    if character in "ijltfI.,:;|'! -":
        return 0.36
    return 0.68 if character.isupper() else 0.58
