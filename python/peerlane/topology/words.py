"""Makes the texts of boxes and tooltips for nodes and links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerlane.formats import counted, duration
from peerlane.topology.scene import shortened

if TYPE_CHECKING:
    from peerlane.fabric.tree import Cable, Fibre, Network, Node, Upstream
    from peerlane.topology.grouping import Item
    from peerlane.topology.use import Uses

MOST_NAMED = 8
"""If a group has more nodes than this, a tooltip names only the first nodes and the number of the
others."""


def kind_of(node: Node) -> str:
    """The kind of a node in one or two words: its model, if it has one."""
    return node.model or {"io-port": "I/O port"}.get(node.kind, node.kind)


def lines_of(item: Item) -> tuple[str, ...]:
    """The text in the box of a node or group."""
    node = item.node
    if len(item.nodes) == 1:
        extra = len(node.virtual_functions)
        functions = (f"{extra} VF{'s' * (extra > 1)}",) if extra else ()
        return (shortened(node.name), " + ".join((kind_of(node), *functions)))
    names = f"{shortened(node.name, 12)} … {shortened(item.nodes[-1].name, 12)}"
    what = kind_of(node) if node.model else ""
    return (counted(len(item.nodes), _noun(node)), *([what] if what else []), names)


def note_of(item: Item) -> str:
    """The tooltip of a node or group."""
    node = item.node
    if len(item.nodes) > 1:
        first = f"{counted(len(item.nodes), _noun(node))}: {named(item.names)}"
        return f"{first}\neach: {kind_of(node)}, {_payload(node)}"
    return f"{node.name}: {kind_of(node)} {node.id}\n{_payload(node)}"


def link_note(title: str, uses: Uses | None, directions: tuple[str, str], *more: str) -> str:
    """The tooltip of a link: its title, further lines, and the use of each direction."""
    said = [title, *(line for line in more if line)]
    if uses:
        said += [f"{way}: {use.told()}" for way, use in zip(directions, uses, strict=True)]
    return "\n".join(said)


def width_of(link: Upstream | Cable) -> str:
    """The negotiated lanes and generation: "x8 Gen3"."""
    return f"x{link.lanes} Gen{link.generation}"


def speed_of(link: Upstream | Cable) -> str:
    """The lanes, the generation and the rate of a lane of a link: "x8 Gen3 (8 GT/s)"."""
    return f"{width_of(link)} ({link.gigatransfers:g} GT/s)"


def fibre_title(network: Network, fibre: Fibre) -> str:
    """The lanes, the rate of a lane, the delay and the time of a cut of a fibre."""
    cut = "" if fibre.severed_at_ns is None else f", cut at {duration(fibre.severed_at_ns)}"
    return f"{lanes_of(network)}, {duration(fibre.delay_ns)}{cut}"


def lanes_of(network: Network) -> str:
    """The lanes of the fibres of a network, and their rate."""
    return f"{network.lanes} x {network.lane_rate / 1e9:g} Gbit/s"


def fibre_note(network: Network, fibre: Fibre, uses: Uses | None) -> str:
    """The tooltip of a fibre."""
    title = f"fibre {fibre.id}: {fibre_title(network, fibre)}"
    wrong = f"bit error rate {fibre.bit_error_rate:g}" if fibre.bit_error_rate else ""
    return link_note(title, uses, (f"from {fibre.source}", f"from {fibre.target}"), wrong)


def shares(uses: Uses | None, arrows: str) -> list[str]:
    """The use of both directions, each with its arrow."""
    if uses is None:
        return []
    return [f"{arrow} {use.share}" for arrow, use in zip(arrows, uses, strict=True)]


def named(names: tuple[str, ...]) -> str:
    """The names of a group, or the first names of a large group and the number of the others."""
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: MOST_NAMED - 1])} and {len(names) - MOST_NAMED + 1} more"


def _noun(node: Node) -> str:
    return {"io-port": "I/O port"}.get(node.kind, node.kind)


def _payload(node: Node) -> str:
    said = f"MPS {node.max_payload} B"
    if node.max_read_request is not None:
        reads = "loads of" if node.kind == "host" else "MRRS"
        said += f", {reads} {node.max_read_request} B"
    return said
