"""Scenarios made from real machines."""

from peerlane.importing.listing import ListingError
from peerlane.importing.lspci import load
from peerlane.importing.scenario import scenario_of

__all__ = ["ListingError", "load", "scenario_of"]
