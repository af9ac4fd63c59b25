"""Shortens the names of rows and lines in charts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SHORT, LONG = 20, 48
"""The most letters of a name beside a plot, on a narrow page and on a wide page."""

_ARROWS = {" down": " \N{DOWNWARDS ARROW}", " up": " \N{UPWARDS ARROW}"}


def short(name: str, mark: str = "", most: int = SHORT) -> str:
    """A name with an arrow for a direction at its end; a long name is shortened in its middle.

    Args:
        name: The whole name.
        mark: A mark at the end of the short form, which distinguishes the name from other names.
        most: The number of letters of the short form.
    """
    name = re.sub("( down| up)$", lambda found: _ARROWS[found[0]], name)
    room = most - len(mark)
    if len(name) > room:
        head = room // 2
        name = f"{name[:head]}\N{HORIZONTAL ELLIPSIS}{name[head + 1 - room :]}"
    return name + mark


def wire_name(wire: str, sender: str) -> str:
    """The name of one direction of a wire; for a fibre, the names of both routers, sender first.

    Args:
        wire: The wire's own name.
        sender: The direction of a link, or the router that sends into a fibre.
    """
    for other in (wire.removeprefix(f"{sender}-"), wire.removesuffix(f"-{sender}")):
        if other != wire:
            return f"{sender} \N{RIGHTWARDS ARROW} {other}"
    return f"{wire} {sender}"


def short_names(names: Iterable[str], most: int = SHORT) -> dict[str, str]:
    """The short form of each name, with at most `most` letters; no two names have the same form."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        label, count = short(name, most=most), 1
        while label in taken:
            count += 1
            label = short(name, f" ({count})", most)
        taken.add(label)
        found[name] = label
    return found
