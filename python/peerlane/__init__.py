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
    from peerlane._core import ModelError as ModelError
    from peerlane._core import ScenarioError as ScenarioError
    from peerlane._core import __version__ as __version__
    from peerlane.building.builder import Fabric as Fabric
    from peerlane.errors import MissingPackageError as MissingPackageError
    from peerlane.errors import PeerlaneError as PeerlaneError
    from peerlane.explaining.explain import explain as explain
    from peerlane.fabric.filter import Filter as Filter
    from peerlane.fabric.scenario_warning import ScenarioWarning as ScenarioWarning
    from peerlane.fabric.simulation import Simulation as Simulation
    from peerlane.fabric.tree import Fibre as Fibre
    from peerlane.fabric.tree import Network as Network
    from peerlane.fabric.tree import Node as Node
    from peerlane.fabric.tree import Region as Region
    from peerlane.fabric.tree import Traffic as Traffic
    from peerlane.fabric.tree import Tree as Tree
    from peerlane.fabric.tree import Upstream as Upstream
    from peerlane.figures.figure import Figure as Figure
    from peerlane.figures.figure import PlotError as PlotError
    from peerlane.models.device import Bar as Bar
    from peerlane.models.device import Device as Device
    from peerlane.models.device import Malformed as Malformed
    from peerlane.models.engine import RequestError as RequestError
    from peerlane.models.engine import Signal as Signal
    from peerlane.models.engine import Task as Task
    from peerlane.models.loading import Library as Library
    from peerlane.models.outside import BarAccess as BarAccess
    from peerlane.models.outside import OutsideDevice as OutsideDevice
    from peerlane.models.parameter import Parameter as Parameter
    from peerlane.models.registry import registered_models as registered_models
    from peerlane.network.bounds import Bounds as Bounds
    from peerlane.network.sweep import LoadPoint as LoadPoint
    from peerlane.network.sweep import LoadSweep as LoadSweep
    from peerlane.network.sweep import sweep_loads as sweep_loads
    from peerlane.programs.access import Access as Access
    from peerlane.programs.host_thread import HostThread as HostThread
    from peerlane.programs.host_thread import run_programs as run_programs
    from peerlane.progress import Progress as Progress
    from peerlane.ranks.rank import Message as Message
    from peerlane.ranks.rank import Rank as Rank
    from peerlane.ranks.rank import Window as Window
    from peerlane.ranks.run import Deadlock as Deadlock
    from peerlane.ranks.run import RankRun as RankRun
    from peerlane.ranks.run import run_ranks as run_ranks
    from peerlane.reproduction.reproduce import reproduce as reproduce
    from peerlane.results.collection import Collection as Collection
    from peerlane.results.explanation import Explanation as Explanation
    from peerlane.results.flows import ChannelResult as ChannelResult
    from peerlane.results.flows import DirectionResult as DirectionResult
    from peerlane.results.flows import FlowResult as FlowResult
    from peerlane.results.flows import LinkResult as LinkResult
    from peerlane.results.latency import Bucket as Bucket
    from peerlane.results.latency import Latency as Latency
    from peerlane.results.networks import CollectiveResult as CollectiveResult
    from peerlane.results.networks import FibreResult as FibreResult
    from peerlane.results.networks import TrafficResult as TrafficResult
    from peerlane.results.run import Fault as Fault
    from peerlane.results.run import IncidentResult as IncidentResult
    from peerlane.results.run import InterruptResult as InterruptResult
    from peerlane.results.run import IommuResult as IommuResult
    from peerlane.results.run import RunResult as RunResult
    from peerlane.results.series import FibreSeries as FibreSeries
    from peerlane.results.series import FlowSeries as FlowSeries
    from peerlane.results.series import LinkSeries as LinkSeries
    from peerlane.results.series import Series as Series
    from peerlane.topology.draw import Drawing as Drawing
    from peerlane.topology.draw import draw as draw
    from peerlane.varying.sweep import Sweep as Sweep
    from peerlane.varying.work import SweepPoint as SweepPoint

_MODULES = {
    "peerlane._core": "ModelError ScenarioError __version__",
    "peerlane.building.builder": "Fabric",
    "peerlane.errors": "MissingPackageError PeerlaneError",
    "peerlane.explaining.explain": "explain",
    "peerlane.fabric.filter": "Filter",
    "peerlane.fabric.scenario_warning": "ScenarioWarning",
    "peerlane.fabric.simulation": "Simulation",
    "peerlane.fabric.tree": "Fibre Network Node Region Traffic Tree Upstream",
    "peerlane.figures.figure": "Figure PlotError",
    "peerlane.models.device": "Bar Device Malformed",
    "peerlane.models.engine": "RequestError Signal Task",
    "peerlane.models.loading": "Library",
    "peerlane.models.outside": "BarAccess OutsideDevice",
    "peerlane.models.parameter": "Parameter",
    "peerlane.models.registry": "registered_models",
    "peerlane.network.bounds": "Bounds",
    "peerlane.network.sweep": "LoadPoint LoadSweep sweep_loads",
    "peerlane.programs.access": "Access",
    "peerlane.programs.host_thread": "HostThread run_programs",
    "peerlane.progress": "Progress",
    "peerlane.ranks.rank": "Message Rank Window",
    "peerlane.ranks.run": "Deadlock RankRun run_ranks",
    "peerlane.reproduction.reproduce": "reproduce",
    "peerlane.results.collection": "Collection",
    "peerlane.results.explanation": "Explanation",
    "peerlane.results.flows": "ChannelResult DirectionResult FlowResult LinkResult",
    "peerlane.results.latency": "Bucket Latency",
    "peerlane.results.networks": "CollectiveResult FibreResult TrafficResult",
    "peerlane.results.run": "Fault IncidentResult InterruptResult IommuResult RunResult",
    "peerlane.results.series": "FibreSeries FlowSeries LinkSeries Series",
    "peerlane.topology.draw": "Drawing draw",
    "peerlane.varying.sweep": "Sweep",
    "peerlane.varying.work": "SweepPoint",
}
"""The public names, by their modules, which are imported when a name is first used."""

_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = list(_MODULE_OF)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'peerlane' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
