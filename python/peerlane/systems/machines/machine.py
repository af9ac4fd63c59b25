"""The constants of the experiments."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane.reproduction import machine


@dataclass(frozen=True, slots=True)
class Constants:
    """Numbers that the experiments use beside the scenario."""

    size: str = "4 MiB"
    """Bytes of each copy, and of the reads of each drive. The rates do not depend on it."""
    all_reduce: tuple[str, ...] = ("4 KiB", "32 KiB", "128 KiB", "384 KiB")
    """The published sizes of the one-shot all-reduce."""


Machine = machine.Machine[Constants]
