"""Supports old names of methods of `Simulation`, which are methods of `SimulatedNode`."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from peerlane.fabric.simulated_node import SimulatedNode

_SAME = """
read write begin_read begin_write memory fill allocate free config_read config_write interrupts
window vector
"""
MOVED = {"host_thread": "thread"} | {name: name for name in _SAME.split()}
"""The old names of methods of `Simulation`, each with the name of the method of a node."""


class Nodes(Protocol):
    """The part of `peerlane.Simulation` that returns nodes."""

    def node(self, name: str) -> SimulatedNode:
        """The node of this name."""


def moved(nodes: Nodes, name: str) -> Callable[..., Any]:
    """The method for an old name; its first argument is the name of a node.

    Warns:
        DeprecationWarning: The name is an old name of a method.

    Raises:
        AttributeError: The name is no old name of a method.
    """
    if name not in MOVED:
        message = f"a Simulation has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=nodes)
    now = MOVED[name]
    right = f"write Simulation.node(NODE).{now}(...)"
    message = f"Simulation.{name}(NODE, ...) has moved; {right}"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return lambda node, *arguments, **options: getattr(nodes.node(node), now)(*arguments, **options)
