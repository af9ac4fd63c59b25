"""A schedule of a scenario that is made from the Chakra execution traces of all ranks."""

from peerlane.importing.traffic.chakra.schedule import schedule_of
from peerlane.importing.traffic.chakra.trace import read

__all__ = ["read", "schedule_of"]
