"""Writes numbers, times and names of files in the form of pages."""

from __future__ import annotations

import re
from hashlib import sha256
from unicodedata import normalize

from peerlane import formats

_LONGEST = 80
"""The largest number of bytes in the name of a file, without its ending."""

NONE = "\N{EN DASH}"
"""The text for a value that does not exist."""


def number(value: float | None) -> str:
    """A number in the form of `peerlane.formats.number`."""
    return NONE if value is None else formats.number(value)


def percent(value: float | None) -> str:
    """An error or a change, with its sign."""
    if value is None:
        return NONE
    words = f"{value:+.2f} %".replace("-", "\N{MINUS SIGN}")
    return words[1:] if words[1:] == "0.00 %" else words


def duration(ns: float | None) -> str:
    """A time in a suitable unit."""
    return NONE if ns is None else formats.duration(ns).replace("us", "µs")


def rate(bytes_per_second: float | None) -> str:
    """A rate in GB/s."""
    return NONE if bytes_per_second is None else f"{formats.gigabytes(bytes_per_second)} GB/s"


def slug(name: str) -> str:
    """A name for a file, made from any name; it is never the name of the index.

    Letters and digits of all scripts are kept, and also the characters ".", "-" and "_".
    """
    plain = re.sub(r"[^\w.-]+", "-", normalize("NFC", name)).strip(".-")
    plain = plain.encode()[:_LONGEST].decode(errors="ignore")
    return f"{plain}-" if plain in {"", "index"} else plain


def variant_name(name: str, settings: str) -> str:
    """The name of a file for `name` with settings, or with a digest of settings that are not plain.

    Args:
        name: The name of the file without settings.
        settings: The settings, in an order that depends only on the settings.
    """
    words = f"{name}-with-{settings}"
    if len(words) <= _LONGEST and not re.search(r"[^A-Za-z0-9._=, -]", words):
        return slug(words)
    digest = sha256(settings.encode()).hexdigest()[:8]
    return f"{slug(words)[: _LONGEST - len(digest) - 1]}-{digest}"
