"""Scenarios that are made from real machines."""

from peerlane.importing.listing import ListingError
from peerlane.importing.reading import Form, load, machine_of
from peerlane.importing.scenario import Speed, scenario_of, separate_hosts, slow_links

__all__ = [
    "Form",
    "ListingError",
    "Speed",
    "load",
    "machine_of",
    "scenario_of",
    "separate_hosts",
    "slow_links",
]
