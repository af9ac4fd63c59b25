"""Escapes text from outside, such as names of scenarios and files, for terminals and pages."""

from __future__ import annotations

import json
import re


def printable(text: str, keep: str = "") -> str:
    r"""The text with an escape such as `\x1b` for each character that is not printable.

    These are controls (C0, DEL, C1), which a terminal obeys, and formats such as overrides of the
    direction, by which a text reads as another one.

    Args:
        text: Any text.
        keep: Characters that stay as they are, such as the line feed.
    """
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign in keep else ascii(sign)[1:-1] for sign in text
    )


def json_text(document: object) -> str:
    """A document as indented JSON, whose texts have escapes for what is not printable."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    if text.replace("\n", "").isprintable():
        return text
    return _OUTSIDE_ASCII.sub(
        lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text
    )


_OUTSIDE_ASCII = re.compile(r"[^\n -~]")
