"""Builds fabrics from graphs of networkx."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any, Protocol

from peerlane._core import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from networkx import Graph

    Fields = dict[str, Any]
    Edge = tuple[str, str, Fields]

_KINDS = ("host", "switch", "device", "controller")
_WIRES = ("fibre", "cable")
_ENUMERATED = {"regions": {"model"}, "gigatransfers": {"generation", "lanes", "port"}}
"""By a field that only graphs of `Tree.to_networkx` have: the fields that are keys of scenarios.
All other fields of such a node or edge are results of enumeration."""


class Buildable(Protocol):
    """The part of a `Fabric` that this module uses, besides the methods for each kind of node."""

    def set(self, name: str, **settings: Any) -> object:  # noqa: ANN401 - as a `Fabric` checks them
        """Changes parameters of a node."""


def add_graph(fabric: Buildable, graph: Graph[Any]) -> None:
    """Adds the nodes and edges of a graph to a fabric, as for `Fabric.from_networkx`.

    Raises:
        ScenarioError: A fabric cannot have a node or an edge of the graph; the message has its
            name.
    """
    nodes = {str(name): dict(fields) for name, fields in graph.nodes(data=True)}
    kinds = {name: str(fields.get("kind")) for name, fields in nodes.items()}
    settings = {name: _settings(fields) for name, fields in nodes.items()}
    edges: defaultdict[str, list[Edge]] = defaultdict(list)
    for a, b, fields in graph.edges(data=True):
        edges[fields.get("kind", "link")].append((str(a), str(b), _settings(fields)))
    for name, kind in kinds.items():
        if kind not in _KINDS:
            raise ScenarioError(f"{name}: {kind!r} is no kind of node; write {', '.join(_KINDS)}")
        if kind in {"host", "controller"}:
            getattr(fabric, kind)(name, **settings[name])
    hosts = [name for name, kind in kinds.items() if kind == "host"]
    for above, name, link in _downwards(hosts, edges.pop("link", [])):
        getattr(fabric, kinds[name])(name, above, **link | settings[name])
        settings.pop(name)
    for name in settings:
        if kinds[name] in {"switch", "device"}:
            raise ScenarioError(f"{name} is below no host; join it to one by edges")
    _join(fabric, kinds, edges)


def _join(fabric: Buildable, kinds: Mapping[str, str], edges: Mapping[str, Sequence[Edge]]) -> None:
    """Adds fibres, cables and ports, which join the trees of different hosts."""
    for a, b, _ in edges.get("port", ()):
        controller, nic = (a, b) if kinds[a] == "controller" else (b, a)
        fabric.set(nic, controller=controller)
    for kind, wires in edges.items():
        if kind not in {*_WIRES, "port"}:
            right = f"write link, port, {', '.join(_WIRES)}"
            raise ScenarioError(f"{kind!r} is no kind of edge; {right}")
        for a, b, wire in wires if kind in _WIRES else ():
            getattr(fabric, kind)(a, b, **wire)


def _downwards(hosts: Iterable[str], links: Iterable[Edge]) -> Iterator[Edge]:
    """Yields each link, from the upper to the lower node; links near the hosts come first."""
    around: defaultdict[str, list[tuple[str, Fields]]] = defaultdict(list)
    for a, b, link in links:
        around[a].append((b, link))
        around[b].append((a, link))
    above = dict.fromkeys(hosts, "")
    waiting = deque(above)
    while waiting:
        upper = waiting.popleft()
        for lower, link in around[upper]:
            if lower == above[upper]:
                continue
            if lower in above:
                right = "a fabric is a tree below each host; join routers by fibres"
                raise ScenarioError(f"the link {upper} - {lower} closes a circle; {right}")
            above[lower] = upper
            waiting.append(lower)
            yield upper, lower, link


def _settings(fields: Fields) -> Fields:
    """The keys of scenarios among the fields of a node or an edge."""
    known = next((keys for mark, keys in _ENUMERATED.items() if mark in fields), fields.keys())
    return {key: fields[key] for key in fields if key in known and key != "kind"}
