"""What was configured into the cards of a scenario, from one command to the next."""

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
    """From now on a card has this one."""
    folder = _folder(source)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{card}.gbs").write_bytes(bits)


def forget(source: str, card: str) -> None:
    """From now on a card has what the scenario says."""
    (_folder(source) / f"{card}.gbs").unlink(missing_ok=True)


def _folder(source: str) -> Path:
    """Where that is kept for one scenario: in the user's folder for the state of programs."""
    own = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(source)
    key = str(path.resolve()) if path.is_file() else source
    return Path(own) / "peerlane" / "cards" / hashlib.sha256(key.encode()).hexdigest()[:16]
