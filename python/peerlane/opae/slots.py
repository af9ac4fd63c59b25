"""Stores the bitstreams that `peerlane opae conf` has loaded, for later commands."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path


def loaded(source: str) -> dict[tuple[str, int], bytes]:
    """The stored bitstreams for the cards of a scenario, by the name of the card and the slot.

    Raises:
        ValueError: The folder has a file whose name is not the name of a bitstream.
    """
    folder = _folder(source)
    files = sorted(folder.glob(f"*{SLOT}*.gbs")) if folder.is_dir() else []
    found = {}
    for file in files:
        named = NAME.fullmatch(file.name)
        if named is None:
            raise ValueError(
                f"{file} is no bitstream that `peerlane opae conf` has loaded, whose name is "
                f"CARD{SLOT}SLOT.gbs, such as card{SLOT}0.gbs; remove the file"
            )
        card, slot = named.groups()
        found[card, int(slot)] = file.read_bytes()
    return found


def load(source: str, card: str, slot: int, bits: bytes) -> None:
    """Stores a bitstream for a slot of a card."""
    file = _file(source, card, slot)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(bits)


def has(source: str, card: str, slot: int) -> bool:
    """Whether a bitstream is stored for a slot of a card."""
    return _file(source, card, slot).is_file()


def forget(source: str, card: str, slot: int) -> None:
    """Removes the stored bitstream of a slot, so that it has the scenario's accelerator again."""
    _file(source, card, slot).unlink(missing_ok=True)


SLOT = "@"
"""The character between card and slot in the name of a file."""

NAME = re.compile(rf"(.+){SLOT}([0-9]{{1,4}})\.gbs")
"""The pattern of file names: card and slot."""


def _file(source: str, card: str, slot: int) -> Path:
    return _folder(source) / f"{card}{SLOT}{slot}.gbs"


def _folder(source: str) -> Path:
    """The folder for one scenario, below the user's folder for states of programs."""
    own = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(source)
    key = str(path.resolve()) if path.is_file() else source
    return Path(own) / "peerlane" / "cards" / hashlib.sha256(key.encode()).hexdigest()[:16]
