"""Devices that are known by their vendor and device number, and what stands for them here."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

GENERIC = "generic"
"""The profile of a GPU that has no profile of its own."""


class Model(NamedTuple):
    """A known device: its name, and the profile of a GPU that stands for it, if there is one."""

    name: str
    gpu: str | None

    def settings(self) -> dict[str, str]:
        """The keys of a device of a scenario: its device model, and its profile."""
        return {"model": "gpu", "profile": self.gpu} if self.gpu else {"model": "dma"}


@cache
def _models() -> dict[str, Model]:
    text = (files("peerlane.importing") / "parts.toml").read_text(encoding="utf-8")
    return {
        ids: Model(entry["name"], entry.get("gpu")) for ids, entry in tomllib.loads(text).items()
    }


def model_of(ids: str | None) -> Model | None:
    """The known device with these numbers, as in "10de:2331"."""
    return _models().get(ids or "")


CLASSES = {
    "0108": "Non-Volatile memory controller",
    "0200": "Ethernet controller",
    "0207": "Infiniband controller",
    "0300": "VGA compatible controller",
    "0302": "3D controller",
    "0380": "Display controller",
    "0604": "PCI bridge",
    "1200": "Processing accelerators",
}


def description(class_code: str, ids: str) -> str:
    """A function in the words of `lspci -nn`, from its class ("0302") and numbers ("10de:2331")."""
    known = model_of(ids)
    name = known.name if known else "Device"
    return f"{CLASSES.get(class_code, 'Class')} [{class_code}]: {name} [{ids}]"
