"""The keys of a scenario, by the nodes and links that results name, and their values."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from peerlane import _core
from peerlane.dotted import join_path
from peerlane.fabric.paths import find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane.fabric.tree import Node, Tree
    from peerlane.results.explanation import Value

_SECTIONS = {"host": "hosts", "switch": "switches", "device": "devices", "io-port": "io_ports"}
"""The section of each kind of node."""


class Present:
    """A scenario as it was run: where its keys are, and what they say.

    Args:
        scenario: Its tables.
        tree: The fabric that was made of it.
    """

    def __init__(self, scenario: dict[str, Any], tree: Tree) -> None:
        self.scenario = scenario
        self.tree = tree

    def node(self, name: str) -> Node:
        """The node of this name."""
        return self.tree.nodes[name]

    def path(self, name: str, key: str) -> str:
        """The path of a key of a node; of one of a network, that of all its hosts or routers."""
        section = _SECTIONS[self.node(name).kind]
        if name in self.scenario.get(section, {}):
            return join_path((section, name, key))
        part = "hosts" if section == "hosts" else "routers"
        return join_path(("networks", self._network(name), part, key))

    def value(self, name: str, key: str) -> Value:
        """The value of a key of a node; `None` if it has none, or the simulator calculates it."""
        written = find(self.scenario, self.path(name, key))
        if written is None:
            profile = find(self.scenario, self.path(name, "profile"))
            written = self._of_profile(str(profile or "generic"), key)
        if written is not None:
            return written  # type: ignore[return-value]  # a value of TOML
        node = self.node(name)
        return _default(_SECTIONS[node.kind], node.model, key)

    def has(self, name: str, key: str) -> bool:
        """Whether nodes of the kind and model of this one have the key."""
        node = self.node(name)
        return any(True for _ in _declared(_SECTIONS[node.kind], node.model, key))

    def ends(self, link: str) -> tuple[str, str] | None:
        """The nodes above and below a link; of a cable, its controllers."""
        for node in self.tree.nodes:
            if node.upstream is not None and f"{node.upstream.to}-{node.name}" == link:
                return node.upstream.to, node.name
        return next(((one.source, one.target) for one in self.tree.cables if one.id == link), None)

    def routers(self, fibre: str) -> tuple[str, ...]:
        """The routers at the ends of a fibre; none if it is no fibre."""
        known = (one for one in self.tree.fibres if one.id == fibre)
        return next(((one.source, one.target) for one in known), ())

    def controller_clocks(self, name: str) -> tuple[str, ...]:
        """The paths of the clocks of a network interface, its controller, and the others there."""
        for controller in self.tree.controllers:
            if name in controller.ports:
                own = (self.path(port, "clock") for port in controller.ports)
                return *own, join_path(("controllers", controller.name, "crossbar_clock"))
        return ()

    def rate(self, link: str) -> tuple[int, int] | None:
        """The generation and the lanes of a link."""
        for node in self.tree.nodes:
            if node.upstream is not None and f"{node.upstream.to}-{node.name}" == link:
                return node.upstream.generation, node.upstream.lanes
        known = (one for one in self.tree.cables if one.id == link)
        return next(((one.generation, one.lanes) for one in known), None)

    def path_of_link(self, link: str, key: str) -> str:
        """The path of a key of a link; of one of a network, that of all of them."""
        ends = self.ends(link)
        below = ends[1] if ends is not None else ""
        is_written = any(below in self.scenario.get(kind, {}) for kind in ("switches", "devices"))
        if is_written or any(one.id == link for one in self.tree.cables):
            return join_path(("links", link, key))
        return join_path(("networks", self._network(below), "routers", "upstream", key))

    def bit_errors(self, link: str) -> tuple[str, float] | None:
        """The path of the bit error rate of a link or fibre, and its value; `None` if it is 0."""
        if routers := self.routers(link):
            path = self._path_of_fibre(link, routers[0])
            rate = find(self.scenario, path)
        else:
            path = self.path_of_link(link, "bit_error_rate")
            rate = find(self.scenario, path)
            if rate is None:
                rate = find(self.scenario, "links.bit_error_rate")
        return (path, rate) if isinstance(rate, int | float) and rate > 0 else None

    def _path_of_fibre(self, fibre: str, router: str) -> str:
        """The path of the bit error rate of a fibre; of one of a network, that of all of them."""
        if router in self.scenario.get("devices", {}):
            return join_path(("fibres", fibre, "fibre_bit_error_rate"))
        return join_path(("networks", self._network(router), "fibre_bit_error_rate"))

    def _network(self, node: str) -> str:
        """The network that a node belongs to."""
        networks: list[str] = list(self.scenario.get("networks", {}))
        return max((name for name in networks if node.startswith(f"{name}-")), key=len)

    def _of_profile(self, name: str, key: str) -> object:
        """The value of a key in a profile or in those below it."""
        own = self.scenario.get("profiles", {}).get(name)
        if own is None:
            return _built_in().get(name, {}).get(key)
        return own[key] if key in own else self._of_profile(own.get("base", "generic"), key)


def _declared(section: str, model: str | None, key: str) -> Iterator[str]:
    """The defaults of a key in a section."""
    for sections, of, name, default in _catalogue():
        if name == key and section in sections and of in {"", model}:
            yield default


def _default(section: str, model: str | None, key: str) -> Value:
    return next((_read(default) for default in _declared(section, model, key)), None)


def _read(text: str) -> Value:
    """A value as the catalogue tells it."""
    if text == "none":
        return None
    if text in {"true", "false"}:
        return text == "true"
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?\d+\.\d+", text) else text


@cache
def _catalogue() -> list[tuple[set[str], str, str, str]]:
    """Sections, model, key and default of every parameter."""
    found = []
    for parameter in json.loads(_core.catalogue())["parameters"]:
        sections, _, model = parameter["where"].partition(", model ")
        found.append((set(sections.split(", ")), model, parameter["key"], parameter["default"]))
    return found


@cache
def _built_in() -> dict[str, dict[str, Value]]:
    """The profiles of the simulator, and what they set."""
    return {
        profile["name"]: {one["key"]: _read(one["value"]) for one in profile["settings"]}
        for profile in json.loads(_core.catalogue())["profiles"]
    }
