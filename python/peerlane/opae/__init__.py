"""Runs programs for OPAE on simulated cards, whose accelerators can be loaded.

`Afu` is the base class of user-written accelerators. `run_program` runs a program that is linked
with `libopae-c` on a simulated host.
"""

from __future__ import annotations

from peerlane._core import UnitError
from peerlane.opae.afu import Afu, Shell
from peerlane.opae.bitstream import bitstream
from peerlane.opae.card import Accelerator, Place, accelerators, configure, places
from peerlane.opae.session import include_folder, library_folder, run_program
from peerlane.opae.sweep import CardSweep, sweep

__all__ = [
    "Accelerator",
    "Afu",
    "CardSweep",
    "Place",
    "Shell",
    "UnitError",
    "accelerators",
    "bitstream",
    "configure",
    "include_folder",
    "library_folder",
    "places",
    "run_program",
    "sweep",
]
