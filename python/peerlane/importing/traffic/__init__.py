"""Flows of scenarios that are made from recorded traffic."""

from peerlane.importing.traffic.flows import flows_of
from peerlane.importing.traffic.reading import read
from peerlane.importing.traffic.request import Ends, Recording, Request

__all__ = ["Ends", "Recording", "Request", "flows_of", "read"]
