"""Circuits of a user's own: SystemVerilog modules that run in simulated fabrics.

`build` translates a module with Verilator and compiles it to a library, and `load` makes the
circuit of a library known, so that scenarios of this process can name it.
"""

from __future__ import annotations

from peerlane.circuits.build import CircuitError, Source, build
from peerlane.circuits.hard_blocks import PORT_SETS
from peerlane.circuits.loading import load

__all__ = ["PORT_SETS", "CircuitError", "Source", "build", "load"]
