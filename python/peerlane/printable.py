"""Escapes text from outside, such as names of scenarios and files, for terminals and pages."""

from __future__ import annotations

import json
import re


def printable(text: str, keep: str = "") -> str:
    r"""The text with an escape such as `\x1b` for each character that is not printable.

    Characters that are not printable are control characters (C0, DEL, C1), which a terminal
    executes, and format characters, such as overrides of the text direction, with which a text
    looks like another text.

    Args:
        text: Any text.
        keep: Characters that are not escaped, such as the line feed.
    """
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign in keep else ascii(sign)[1:-1] for sign in text
    )


def json_text(document: object) -> str:
    """A document as indented JSON, with escapes for all characters that are not printable."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    if text.replace("\n", "").isprintable():
        return text
    return _OUTSIDE_ASCII.sub(
        lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text
    )


_OUTSIDE_ASCII = re.compile(r"[^\n -~]")
