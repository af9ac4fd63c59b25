"""Scenarios that are made from real machines."""

from peerlane.importing.listing import ListingError
from peerlane.importing.lspci import load
from peerlane.importing.scenario import Speed, scenario_of, separate_hosts, slow_links

__all__ = ["ListingError", "Speed", "load", "scenario_of", "separate_hosts", "slow_links"]
