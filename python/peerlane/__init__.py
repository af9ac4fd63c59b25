"""Peerlane: a lab for PCIe-class fabrics of hosts, switches, FPGAs and NICs.

Describe a fabric in a scenario file or in code, simulate it packet by packet with real bytes, and
measure it the way hardware papers do:

    >>> from peerlane import Fabric
    >>> fabric = Fabric("pair").links(generation=3, lanes=8)
    >>> fabric = fabric.host("h0").switch("s0", "h0").device("a", "s0")
    >>> fabric = fabric.device("b", "s0", bar="1 MiB")
    >>> result = fabric.flow("a", "b", size="1 MiB").run()
    >>> result.flows[0].intact
    True
"""

from __future__ import annotations

from importlib import import_module

# The module typing takes longer to load than the command to be ready for an interrupt.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from peerlane._core import ModelError, ScenarioError, __version__
    from peerlane.building.builder import Fabric
    from peerlane.fabric.filter import Filter
    from peerlane.fabric.scenario_warning import ScenarioWarning
    from peerlane.fabric.simulation import Simulation
    from peerlane.fabric.tree import Fibre, Network, Node, Region, Traffic, Tree, Upstream
    from peerlane.models.device import Bar, Device, Malformed
    from peerlane.models.engine import RequestError, Signal, Task
    from peerlane.models.loading import Library
    from peerlane.models.outside import BarAccess, OutsideDevice
    from peerlane.models.parameter import Parameter
    from peerlane.models.registry import registered_models
    from peerlane.network.bounds import Bounds
    from peerlane.network.sweep import LoadPoint, Sweep, sweep
    from peerlane.programs.access import Access
    from peerlane.programs.host_thread import HostThread, run_programs
    from peerlane.ranks.rank import Message, Rank, Window
    from peerlane.ranks.run import Deadlock, RankRun, run_ranks
    from peerlane.results.collection import Collection
    from peerlane.results.explanation import Explanation
    from peerlane.results.flows import ChannelResult, DirectionResult, FlowResult, LinkResult
    from peerlane.results.latency import Bucket, Latency
    from peerlane.results.networks import CollectiveResult, FibreResult, TrafficResult
    from peerlane.results.run import (
        Fault,
        IncidentResult,
        InterruptResult,
        IommuResult,
        RunResult,
    )
    from peerlane.results.series import FibreSeries, FlowSeries, LinkSeries, Series
    from peerlane.varying.sweep import Points
    from peerlane.varying.work import SweepPoint

__all__ = [
    "Access",
    "Bar",
    "BarAccess",
    "Bounds",
    "Bucket",
    "ChannelResult",
    "Collection",
    "CollectiveResult",
    "Deadlock",
    "Device",
    "DirectionResult",
    "Explanation",
    "Fabric",
    "Fault",
    "Fibre",
    "FibreResult",
    "FibreSeries",
    "Filter",
    "FlowResult",
    "FlowSeries",
    "HostThread",
    "IncidentResult",
    "InterruptResult",
    "IommuResult",
    "Latency",
    "Library",
    "LinkResult",
    "LinkSeries",
    "LoadPoint",
    "Malformed",
    "Message",
    "ModelError",
    "Network",
    "Node",
    "OutsideDevice",
    "Parameter",
    "Points",
    "Rank",
    "RankRun",
    "Region",
    "RequestError",
    "RunResult",
    "ScenarioError",
    "ScenarioWarning",
    "Series",
    "Signal",
    "Simulation",
    "Sweep",
    "SweepPoint",
    "Task",
    "Traffic",
    "TrafficResult",
    "Tree",
    "Upstream",
    "Window",
    "__version__",
    "registered_models",
    "run_programs",
    "run_ranks",
    "sweep",
]

_NAMES = {
    "peerlane._core": (
        "ModelError",
        "ScenarioError",
        "__version__",
    ),
    "peerlane.building.builder": ("Fabric",),
    "peerlane.fabric.filter": ("Filter",),
    "peerlane.fabric.scenario_warning": ("ScenarioWarning",),
    "peerlane.fabric.simulation": ("Simulation",),
    "peerlane.fabric.tree": (
        "Fibre",
        "Network",
        "Node",
        "Region",
        "Traffic",
        "Tree",
        "Upstream",
    ),
    "peerlane.models.device": ("Bar", "Device", "Malformed"),
    "peerlane.models.engine": ("RequestError", "Signal", "Task"),
    "peerlane.models.loading": ("Library",),
    "peerlane.models.outside": ("BarAccess", "OutsideDevice"),
    "peerlane.models.parameter": ("Parameter",),
    "peerlane.models.registry": ("registered_models",),
    "peerlane.network.bounds": ("Bounds",),
    "peerlane.network.sweep": (
        "LoadPoint",
        "Sweep",
        "sweep",
    ),
    "peerlane.programs.access": ("Access",),
    "peerlane.programs.host_thread": (
        "HostThread",
        "run_programs",
    ),
    "peerlane.ranks.rank": (
        "Message",
        "Rank",
        "Window",
    ),
    "peerlane.ranks.run": (
        "Deadlock",
        "RankRun",
        "run_ranks",
    ),
    "peerlane.results.collection": ("Collection",),
    "peerlane.results.explanation": ("Explanation",),
    "peerlane.results.flows": (
        "ChannelResult",
        "DirectionResult",
        "FlowResult",
        "LinkResult",
    ),
    "peerlane.results.latency": ("Bucket", "Latency"),
    "peerlane.results.networks": (
        "CollectiveResult",
        "FibreResult",
        "TrafficResult",
    ),
    "peerlane.results.run": (
        "Fault",
        "IncidentResult",
        "InterruptResult",
        "IommuResult",
        "RunResult",
    ),
    "peerlane.results.series": (
        "FibreSeries",
        "FlowSeries",
        "LinkSeries",
        "Series",
    ),
    "peerlane.varying.sweep": ("Points",),
    "peerlane.varying.work": ("SweepPoint",),
}
"""Modules and what they have of `__all__`. They are imported when it is first used."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        for module, names in _NAMES.items():
            if name in names:
                value = globals()[name] = getattr(import_module(module), name)
                return value
        raise AttributeError(f"module 'peerlane' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
