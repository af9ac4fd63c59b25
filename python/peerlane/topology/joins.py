"""Finds the connections between trees: fibres, controllers and cables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peerlane.fabric.tree import Controller, Fibre, Network, Node, Tree


@dataclass(slots=True)
class Joined:
    """The roots of trees that are drawn together, and the controllers and networks between them."""

    roots: list[Node] = field(default_factory=list)
    controllers: list[Controller] = field(default_factory=list)
    networks: list[Network] = field(default_factory=list)


class Joins:
    """The connections between the trees of a fabric."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.root: dict[str, str] = {}
        for node in tree.nodes:
            above = node.upstream
            self.root[node.name] = self.root[above.to] if above else node.name
        self.controller = {
            port: controller.name for controller in tree.controllers for port in controller.ports
        } | {
            port.name: controller.name
            for controller in tree.controllers
            for port in controller.io_ports
        }
        self.network = {
            router: network.name for network in tree.networks for router in network.routers
        }
        self.fibres: dict[str, list[Fibre]] = {network.name: [] for network in tree.networks}
        for fibre in tree.fibres:
            self.fibres[self.network[fibre.source]].append(fibre)

    def parts(self) -> list[Joined]:
        """The groups of connected trees; if there are trees without connections, they are first."""
        leaders = _Leaders()
        for controller in self.tree.controllers:
            ports = (*controller.ports, *(port.name for port in controller.io_ports))
            leaders.join(_key(controller), *(self.root[port] for port in ports))
        for cable in self.tree.cables:
            leaders.join(f"controller {cable.source}", f"controller {cable.target}")
        for network in self.tree.networks:
            leaders.join(*(self.root[router] for router in network.routers))
        alone = Joined()
        found: dict[str, Joined] = {}
        for node in self.tree.nodes:
            if node.upstream is None:
                leader = leaders.of(node.name)
                part = found.setdefault(leader, Joined()) if leader else alone
                part.roots.append(node)
        for controller in self.tree.controllers:
            found.setdefault(leaders.of(_key(controller)) or "", Joined()).controllers.append(
                controller
            )
        for network in self.tree.networks:
            leader = leaders.of(self.root[network.routers[0]])
            found[leader or ""].networks.append(network)
        return [alone] * bool(alone.roots) + list(found.values())

    def is_simple(self, part: Joined) -> bool:
        """Whether a part is one network in which each tree has one router and no `nic`."""
        if part.controllers or len(part.networks) != 1:
            return False
        roots = [self.root[router] for router in part.networks[0].routers]
        return len(set(roots)) == len(roots)


class _Leaders:
    """Disjoint sets of names that can be merged; one name, the leader, identifies a set."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def join(self, *names: str) -> None:
        first = names[0]
        self._above.setdefault(first, first)
        for name in names[1:]:
            self._above.setdefault(name, name)
            one, other = self.of(name), self.of(first)
            if one and other and one != other:
                self._above[one] = other

    def of(self, name: str) -> str | None:
        """The leader of a name's set; `None` if the name is in no set."""
        if name not in self._above:
            return None
        while (above := self._above[name]) != name:
            self._above[name] = self._above[above]
            name = above
        return name


def _key(controller: Controller) -> str:
    """The name of a controller in the sets; it has a prefix, because a node can have the name."""
    return f"controller {controller.name}"
