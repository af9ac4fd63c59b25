"""Finds keys of a scenario and their values from the names of nodes and links in results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.dotted import join_path
from peerlane.figures.quantities import amount_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from peerlane._core import Scenario
    from peerlane.fabric.tree import Node, Tree, Upstream
    from peerlane.results.bottleneck import Value
    from peerlane.results.waits import Cause


_DRIVE = "nvme"


class Present:
    """A scenario as it was run, with the paths of its keys and their values.

    Args:
        scenario: The scenario.
        tree: The fabric of this scenario.
    """

    def __init__(self, scenario: Scenario, tree: Tree) -> None:
        self.scenario = scenario
        self.tree = tree

    def table(self, name: str) -> str:
        """The path of the table of a node; in a network, the table of all its hosts or routers."""
        return f"{self.scenario.path_of_node(name)}"

    def table_of_link(self, link: str) -> str:
        """The path of the table of a link; in a network, the table of all its links."""
        return f"{self.scenario.path_of_link(link)}"

    def before(self, limit: Cause, path: str) -> Value:
        """The value of a key; for a generation or lanes, the value after link training.

        It is `None` if the simulator calculates the value.
        """
        rate = self.rate(limit.where) if limit.kind == "wire" else None
        trained = dict(zip(("generation", "lanes"), rate or (), strict=False))
        key = path.rpartition(".")[2]
        return trained[key] if key in trained else self.value(path)

    def value(self, path: str) -> Value:
        """The value of a key in a run, also of a default; `None` if the simulator calculates it."""
        found: Value = self.scenario.effective(path)[0]
        return found

    def of_others(self, limit: Cause, path: str) -> Value:
        """The highest generation, or the most lanes, that links of comparable devices have."""
        key = path.rpartition(".")[2]
        ends = self.ends(limit.where) if limit.kind == "wire" else None
        if ends is None or key not in {"generation", "lanes"}:
            return None
        return self._best_slot(is_drive=self.is_drive(ends[1]))[key]

    def slow_slots(self) -> list[str]:
        """The links of devices that are slower than the links of other devices.

        Drives are compared only with other drives, because drives usually have few lanes. If there
        is only one device, its link is compared with the values of `[links]`.
        """
        found = []
        for is_drive in (False, True):
            best = self._best_slot(is_drive=is_drive)
            found += [
                f"{one.to}-{name}"
                for name, one in self._slots(is_drive=is_drive).items()
                if one.lanes < best["lanes"] or one.generation < best["generation"]
            ]
        return found

    def is_drive(self, name: str) -> bool:
        """Whether a node is a drive."""
        return self.tree.nodes[name].model == _DRIVE

    def _best_slot(self, *, is_drive: bool) -> dict[str, int]:
        """The highest generation and the most lanes of the links of drives, or of other devices.

        If there is only one device, the values of `[links]` are also compared.
        """
        slots = self._slots(is_drive=is_drive).values()
        best = {}
        for key in ("generation", "lanes"):
            known = [getattr(one, key) for one in slots]
            usual = self.scenario.get(f"links.{key}")
            if len(known) == 1 and isinstance(usual, int) and not (is_drive and key == "lanes"):
                known.append(usual)
            best[key] = max(known, default=0)
        return best

    def _slots(self, *, is_drive: bool) -> dict[str, Upstream]:
        """The upstream links of all drives, or of all other devices."""
        return {
            one.name: one.upstream
            for one in self.tree.nodes
            if one.kind == "device" and one.upstream and (one.model == _DRIVE) == is_drive
        }

    def way(self, flow: str) -> tuple[str, ...]:
        """The links of a flow's ends and of the nodes above them, and all cables and fibres."""
        ends = (*self.ends_of_flow(flow), *self.above_ends(flow))
        above = {one.name: one.upstream.to for one in self.tree.nodes if one.upstream}
        links = [f"{above[end]}-{end}" for end in ends if end in above]
        between = (*(one.id for one in self.tree.cables), *(one.id for one in self.tree.fibres))
        return (*links, *between)

    def upstream_of(self, name: str) -> str | None:
        """The node above a node in its tree; `None` for a node at the top."""
        return next(iter(self.above(name)), None)

    def above(self, name: str) -> tuple[str, ...]:
        """The nodes above a node, up to its host."""
        upstream = self.tree.nodes[name].upstream
        return () if upstream is None else (upstream.to, *self.above(upstream.to))

    def own_link(self, name: str) -> str:
        """The link above a node."""
        return f"{self.upstream_of(name)}-{name}"

    def root_port(self, name: str) -> tuple[str, int] | None:
        """The node below the root port that leads to a node, and the socket of the port."""
        node = self.below_port(name)
        if node.upstream is None or node.upstream.socket is None:
            return None
        return node.name, node.upstream.socket

    def below_port(self, name: str) -> Node:
        """The node below the root port that leads to a node; for a host, the host itself."""
        nodes = self.tree.nodes
        node = nodes[name]
        while node.upstream is not None and nodes[node.upstream.to].upstream is not None:
            node = nodes[node.upstream.to]
        return node

    def root(self, name: str) -> str:
        """The host above a node."""
        return self.tree.root_of(self.tree.nodes[name]).name

    def below_ports_of(self, names: Iterable[str]) -> list[str]:
        """All nodes below the root ports that lead to some nodes, and the hosts of these ports."""
        ports = {self.below_port(name).name for name in names}
        return [one.name for one in self.tree.nodes if self.below_port(one.name).name in ports]

    def payload_supported(self, name: str) -> float:
        """The largest payload that a node supports, in bytes."""
        return amount_of(self.value(f"{self.table(name)}.max_payload_supported")) or 0.0

    def ends(self, link: str) -> tuple[str, str] | None:
        """The nodes above and below a link; for a cable, its controllers."""
        for node in self.tree.nodes:
            if node.upstream is not None and f"{node.upstream.to}-{node.name}" == link:
                return node.upstream.to, node.name
        return next(((one.source, one.target) for one in self.tree.cables if one.id == link), None)

    def is_schedule(self, flow: str) -> bool:
        """Whether the id is the id of a schedule, and not of a flow."""
        return flow in self.scenario.members("schedules")

    def reads(self, flow: str) -> bool:
        """Whether the requests of a flow or a schedule are reads."""
        if self.is_schedule(flow):
            return self.value(join_path(("schedules", flow, "by"))) == "pull"
        return self.value(join_path(("flows", flow, "direction"))) == "read"

    def ends_of_flow(self, flow: str) -> tuple[str, ...]:
        """The nodes at the ends of a flow, with the requester first; the devices of a schedule."""
        if self.is_schedule(flow):
            return tuple(self.scenario.get(join_path(("schedules", flow, "devices"))))
        keys = (join_path(("flows", flow, end)) for end in ("from", "to"))
        names = {node.name for node in self.tree.nodes}
        return tuple(one for one in map(self.scenario.get, keys) if one in names)

    def above_ends(self, flow: str) -> tuple[str, ...]:
        """The nodes above the ends of a flow, up to their hosts, each once."""
        return tuple(dict.fromkeys(up for end in self.ends_of_flow(flow) for up in self.above(end)))

    def routers(self, fibre: str) -> tuple[str, ...]:
        """The routers at the ends of a fibre; nothing if no fibre has this name."""
        known = (one for one in self.tree.fibres if one.id == fibre)
        return next(((one.source, one.target) for one in known), ())

    def controller_clocks(self, name: str) -> tuple[str, ...]:
        """The paths of the clocks of a controller's network interfaces, and of its own clock."""
        for controller in self.tree.controllers:
            if name in controller.ports:
                own = (f"{self.table(port)}.clock" for port in controller.ports)
                return *own, join_path(("controllers", controller.name, "crossbar_clock"))
        return ()

    def rate(self, link: str) -> tuple[int, int] | None:
        """The generation and the lanes of a link."""
        for node in self.tree.nodes:
            if node.upstream is not None and f"{node.upstream.to}-{node.name}" == link:
                return node.upstream.generation, node.upstream.lanes
        known = (one for one in self.tree.cables if one.id == link)
        return next(((one.generation, one.lanes) for one in known), None)

    def speed(self, link: str) -> int:
        """A number by which the speeds of links can be compared."""
        generation, lanes = self.rate(link) or (0, 0)
        return lanes << generation

    def bit_errors(self, link: str) -> tuple[str, float] | None:
        """The path of the bit error rate of a link or fibre, and its value; `None` if it is 0."""
        if routers := self.routers(link):
            path = f"{self.scenario.path_of_fibre(link, routers[0])}.fibre_bit_error_rate"
        else:
            path = f"{self.table_of_link(link)}.bit_error_rate"
        rate = self.scenario.effective(path)[0]
        return (path, rate) if isinstance(rate, int | float) and rate > 0 else None
