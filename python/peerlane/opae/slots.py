"""The accelerators that `peerlane opae conf` loaded, kept from one command to the next."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def loaded(source: str) -> dict[str, bytes]:
    """The bitstreams of the cards of a scenario, by their names."""
    folder = _folder(source)
    files = sorted(folder.glob("*.gbs")) if folder.is_dir() else []
    return {file.stem: file.read_bytes() for file in files}


def load(source: str, card: str, bits: bytes) -> None:
    """Keeps a bitstream as the one that a card has loaded."""
    folder = _folder(source)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{card}.gbs").write_bytes(bits)


def forget(source: str, card: str) -> None:
    """Makes the scenario say again what a card has loaded."""
    (_folder(source) / f"{card}.gbs").unlink(missing_ok=True)


def _folder(source: str) -> Path:
    """The folder of one scenario, in the user's folder for the state of programs."""
    own = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(source)
    key = str(path.resolve()) if path.is_file() else source
    return Path(own) / "peerlane" / "cards" / hashlib.sha256(key.encode()).hexdigest()[:16]
