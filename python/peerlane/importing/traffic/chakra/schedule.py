"""Writes the compute and communication nodes of traces as the steps of a schedule.

A node without steps, such as the load of a tensor from a remote memory, takes no time: the nodes
that depend on it depend on the nodes before it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from peerlane.fabric.settings import size as size_text
from peerlane.importing.traffic.chakra.collectives import (
    WORD,
    Collective,
    Transfer,
    rounds,
    vector,
)
from peerlane.importing.traffic.chakra.operations import Operation, collective_of, operations
from peerlane.importing.traffic.chakra.trace import Key, Node, NodeType
from peerlane.importing.traffic.text import left_out, table
from peerlane.results.reading import FileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_ID = "chakra"
"""The id of the schedule."""

_LONGEST_STEP = 50_000
_LONGEST = 10**9
"""The most microseconds of a step, and of a compute node."""


def schedule_of(
    traces: Mapping[int, Sequence[Node]], devices: Sequence[str], *, paced: bool = True
) -> str:
    """The text of one schedule and its steps.

    Args:
        traces: The nodes of each rank; there is at least one node of each rank.
        devices: The device of each rank.
        paced: Whether compute nodes take their time.

    Raises:
        FileError: Nodes do not match each other, have no steps, or wait for each other; or there
            are more ranks than devices.
    """
    last = max(traces)
    if len(traces) == 1:
        raise FileError(f"{traces[last][0].path} is of one rank; give the files of all ranks")
    if last >= len(devices):
        raise FileError(
            f"{traces[last][0].path} is of rank {last}, and --devices names {len(devices)}; "
            "name a device for each rank, beginning with rank 0"
        )
    steps = _Steps(devices, paced=paced)
    for one in operations(traces):
        steps.add(one)
    if not steps.tables:
        raise FileError(
            f"{traces[last][0].path} and the other files have no computation and no communication; "
            "name traces with nodes of these types"
        )
    head = {
        "id": _ID,
        "devices": [devices[rank] for rank in traces],
        "operation": "steps",
        "size": size_text(steps.size),
    }
    tables = [table("schedules", head), *(table("steps", one) for one in steps.tables)]
    return "\n\n".join(["\n".join(steps.notes(len(traces))), *tables]) + "\n"


class _Steps:
    """The tables of steps, and the steps with which each node ends."""

    def __init__(self, devices: Sequence[str], *, paced: bool) -> None:
        self._devices = devices
        self._paced = paced
        self._ends: dict[Key, list[str]] = {}
        self._used: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()
        self._numbers: Counter[Key] = Counter()
        self._rounded = 0
        self._has_root = False
        self.tables: list[dict[str, object]] = []
        self.size = WORD
        """The bytes of the vector of a device."""

    def notes(self, ranks: int) -> list[str]:
        """The comments before the steps."""
        used = ", ".join(f"{name} ({count:,})" for name, count in self._used.items())
        notes = [f"# Nodes of the Chakra execution traces of {ranks} ranks: {used}."]
        if self._rounded:
            notes.append(
                f"# Sizes that are no multiple of {WORD} B for each rank are rounded up: "
                f"{self._rounded:,}."
            )
        if self._has_root:
            notes.append("# The traces do not name the root of a BROADCAST: it is the first rank.")
        return notes + left_out(self._left_out)

    def add(self, operation: Operation) -> None:
        """Adds the steps of an operation; all operations before it have been added."""
        node, *others = operation.nodes
        is_used = node.type in _USED and (self._paced or node.type != NodeType.COMP_NODE)
        (self._used if is_used else self._left_out)[node.type.name] += 1 + len(others)
        match node.type:
            case NodeType.COMM_COLL_NODE:
                self._collective(operation)
            case NodeType.COMM_SEND_NODE:
                self._send(node)
            case NodeType.COMM_RECV_NODE:
                self._ends[node.key] = [
                    self._step(node.key, "compute", self._before(operation.after))
                ]
            case _:
                self._compute(node, node.micros if is_used else 0)

    def _compute(self, node: Node, micros: int) -> None:
        """A node with a time is one step, or several if a step may not be so long."""
        if micros > _LONGEST:
            raise node.error(f"takes {micros:,} us; a node takes {_LONGEST:,} us at most")
        ends = self._before(node.after)
        for begin in range(0, micros, _LONGEST_STEP):
            time = min(micros - begin, _LONGEST_STEP)
            ends = [self._step(node.key, "compute", ends, time=f"{time} us")]
        self._ends[node.key] = ends

    def _send(self, node: Node) -> None:
        target, size = node.number("comm_dst"), node.number("comm_size")
        ends = self._before(node.after)
        one = Transfer(node.rank, target, size)
        self._ends[node.key] = [self._push(node.key, target, one, ends)] if size else ends

    def _collective(self, operation: Operation) -> None:
        """The transfers of a collective; a rank sends in a round what it has after the last one."""
        nodes = operation.nodes
        kind, given = collective_of(nodes[0])
        bytes_ = vector(kind, len(nodes), given)
        whole = bytes_ + -bytes_ % (WORD * len(nodes))
        self._rounded += whole != bytes_
        self._has_root |= kind == Collective.BROADCAST
        ready = {node.rank: self._before(node.after) for node in nodes}
        for transfers in rounds(kind, len(nodes), whole) if whole else ():
            ended: defaultdict[int, list[str]] = defaultdict(list)
            for one in transfers:
                source, target = nodes[one.source], nodes[one.target]
                push = self._push(source.key, target.rank, one, ready[source.rank])
                after = [push, *ready[target.rank]]
                sums = _places(one) if one.is_sum else {}
                work = "reduce" if one.is_sum else "compute"
                ended[source.rank].append(push)
                ended[target.rank].append(self._step(target.key, work, after, **sums))
            ready |= ended
        self._ends |= {node.key: ready[node.rank] for node in nodes}

    def _push(self, key: Key, target: int, one: Transfer, after: Iterable[str]) -> str:
        self.size = max(self.size, one.size + max(one.offset, one.place))
        return self._step(key, "push", after, peer=self._devices[target], **_places(one))

    def _step(self, key: Key, work: str, after: Iterable[str], **fields: str) -> str:
        """Adds a step of a node, and returns its id."""
        rank, node = key
        number = self._numbers[key] = self._numbers[key] + 1
        name = f"rank{rank}-node{node}" + f"-{number}" * (number > 1)
        own = {"id": name, "schedule": _ID, "device": self._devices[rank], "work": work}
        steps = list(after)
        self.tables.append(own | fields | ({"after": steps} if steps else {}))
        return name

    def _before(self, keys: Iterable[Key]) -> list[str]:
        """The steps with which nodes end, each once."""
        return list(dict.fromkeys(step for key in keys for step in self._ends[key]))


_USED = {
    NodeType.COMP_NODE,
    NodeType.COMM_SEND_NODE,
    NodeType.COMM_RECV_NODE,
    NodeType.COMM_COLL_NODE,
}


def _places(one: Transfer) -> dict[str, str]:
    """The keys of a step for its bytes."""
    offsets = {"offset": one.offset, "peer_offset": one.place}
    keys = {"size": one.size} | {key: place for key, place in offsets.items() if place}
    return {key: size_text(value) for key, value in keys.items()}
