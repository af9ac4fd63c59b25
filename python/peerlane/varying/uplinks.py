"""Resolves metrics of the link above a node, whose paths have the node's name, not the link's name.

The path is valid wherever the node is connected: `devices.fpga2.upstream.up.utilisation` means
`links.board-fpga2.up.utilisation` if fpga2 is below the switch board.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane import _core
from peerlane.dotted import join_path, split_path
from peerlane.figures.metrics import UnknownMetricError, expanded, matching

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from peerlane import Simulation
    from peerlane.fabric.tree import Node, Tree
    from peerlane.figures.metrics import Json

_PLACE = 2
"""The position of `upstream` in a path, after the section and the name."""
_EVERY = "*"


def is_uplink(path: str) -> bool:
    """Whether a path is the path of a metric of the link above a node."""
    return tuple(split_path(path)[_PLACE : _PLACE + 1]) == ("upstream",)


def on_links(paths: Iterable[str], simulation: Simulation) -> Mapping[str, str]:
    """For each path of a metric, the path in results of a simulation, which has the link's name.

    Raises:
        UnknownMetricError: A node does not exist, or has no link above it.
    """
    known = list(paths)
    if not any(map(is_uplink, known)):
        return dict(zip(known, known, strict=True))
    tree = simulation.tree()
    return {path: _on_link(path, tree) if is_uplink(path) else path for path in known}


def each_of(document: Json, paths: Iterable[str], simulation: Simulation) -> Iterator[str]:
    """The given paths; a path with `*` is replaced by a path for each matching name.

    Args:
        document: A result of the simulation, possibly before the run.
        paths: The paths of metrics.
        simulation: The simulation with the nodes and links.

    Raises:
        UnknownMetricError: A path does not exist, or a `*` matches nothing.
    """
    for path in _each_node(paths, simulation):
        own = on_links([path], simulation)[path]
        for found in expanded(document, own):
            before = split_path(path)[: _PLACE + 1]
            yield found if own == path else join_path((*before, *split_path(found)[_PLACE:]))


def _each_node(paths: Iterable[str], simulation: Simulation) -> list[str]:
    found: list[str] = []
    for path in paths:
        try:
            parts = split_path(path)
        except ValueError:
            right = "write one such as flows.up.bytes_per_second"
            raise UnknownMetricError(f"{path!r} is not the path of a metric; {right}") from None
        if not is_uplink(path) or _EVERY not in parts[1]:
            found.append(path)
            continue
        nodes = [one for one in simulation.tree().nodes if one.upstream and _is_in(one, parts[0])]
        names = matching(parts[1], [one.name for one in nodes])
        if not names:
            like = "" if parts[1] == _EVERY else f" like {parts[1]}"
            raise UnknownMetricError(f"{path}: the scenario has no {parts[0]}{like} below a link")
        found += [join_path((parts[0], name, *parts[_PLACE:])) for name in names]
    return found


def _is_in(node: Node, section: str) -> bool:
    return section == ("switches" if node.kind == "switch" else "devices")


def _on_link(path: str, tree: Tree) -> str:
    _, name, _, *rest = split_path(path)
    node = next((one for one in tree.nodes if one.name == name), None)
    if node is None:
        names = [one.name for one in tree.nodes if one.upstream]
        raise UnknownMetricError(
            f"there is no metric {path}: there is no {name!r}; {_core.advice(name, names)}"
        )
    if node.upstream is None:
        raise UnknownMetricError(f"there is no metric {path}: no link is above {name}")
    return join_path(("links", f"{node.upstream.to}-{name}", *rest))
