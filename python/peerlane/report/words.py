"""Numbers in the words of a page."""

from __future__ import annotations

import re
from hashlib import sha256

_LONGEST = 80
"""Letters of the name of a file."""

NONE = "\N{EN DASH}"
"""The absence of a value."""


def number(value: float | None) -> str:
    """Four significant digits, or all of an integer part that has more."""
    if value is None:
        return NONE
    if value == int(value):
        return str(int(value))
    return f"{value:.1f}" if abs(value) >= 1000 else f"{value:.4g}"  # noqa: PLR2004


def percent(value: float | None) -> str:
    """An error or a change, with its sign."""
    if value is None:
        return NONE
    words = f"{value:+.2f} %".replace("-", "\N{MINUS SIGN}")
    return words[1:] if words[1:] == "0.00 %" else words


def share(value: float) -> str:
    """A part of a whole."""
    return f"{100 * value:.1f} %"


def duration(ns: float | None) -> str:
    """A time in the unit that suits it."""
    if ns is None:
        return NONE
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns:.4g} ns"


def rate(bytes_per_second: float | None) -> str:
    """A rate in GB/s."""
    return NONE if bytes_per_second is None else f"{bytes_per_second / 1e9:.4g} GB/s"


def size(count: float) -> str:
    """A number of bytes in the largest binary unit that keeps it readable."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= scale:
            return f"{count / scale:.4g} {unit}"
    return f"{count:.4g} B"


def slug(name: str) -> str:
    """A name as that of a file, but for that of the index: letters, digits, ., - and _ stay."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:_LONGEST]
    return f"{plain}-" if plain in {"", "index"} else plain


def variant_name(name: str, settings: str) -> str:
    """The name of a file for what `name` names, with settings; a digest where these are not plain.

    Args:
        name: The name of the file without settings.
        settings: The settings, in an order that follows from them.
    """
    words = f"{name}-with-{settings}"
    if len(words) <= _LONGEST and not re.search(r"[^A-Za-z0-9._=, -]", words):
        return slug(words)
    digest = sha256(settings.encode()).hexdigest()[:8]
    return f"{slug(words)[: _LONGEST - len(digest) - 1]}-{digest}"
