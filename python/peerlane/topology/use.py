"""Calculates the use of links in a run: share of time in use, rate, stalls and replays."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from peerlane.formats import RATES, scaled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from peerlane.fabric.tree import Tree
    from peerlane.results.flows import LinkResult
    from peerlane.results.networks import FibreResult
    from peerlane.results.run import RunResult
    from peerlane.results.series import Series

STEPS = 5
"""The number of steps (colours) of the scale of use, without the colour of an idle wire."""

IDLE = 0.01
"""A wire is drawn as idle if it was in use for less than this share of time; ordered sets alone
take 0.3 %."""

FULL = 0.01
"""The least share of time for which a tooltip states that a wire was full."""

STALLED = 0.05
"""The least share of time for which stalls for credit are marked."""


@dataclass(frozen=True, slots=True)
class Use:
    """The use of one direction of a link, or of the same direction of several links that are alike.

    `least` and `most` are the least and the greatest share of time in which a wire carried
    anything. `full` is the greatest share of time in which a wire was full, and `stalled` the
    greatest share in which a packet waited only for credit. `bytes_per_second` is the payload rate
    of all links together, and `replays` counts the packets that were sent again. The time of a link
    is the time in which workloads that cross it were active.
    """

    least: float
    most: float
    stalled: float
    bytes_per_second: float
    replays: int
    count: int = 1
    full: float = 0.0

    @property
    def step(self) -> int:
        """The step of the scale of use, from 0 (idle) to `STEPS`."""
        return step_of(self.most)

    @property
    def share(self) -> str:
        """The share of time in which the wire was in use, as text; for several wires, a range."""
        least, most = percent(self.least), percent(self.most)
        return most if least == most else f"{least.removesuffix(' %')}..{most}"

    def told(self) -> str:
        """The numbers of this direction as text."""
        each = " each" * (self.count > 1)
        said = [
            f"used {self.share}{each}",
            f"payload {scaled(self.bytes_per_second, RATES, digits=3)}",
        ]
        if self.full >= FULL:
            said.append(
                f"full for {'at most ' * (self.count > 1)}{percent(self.full)} of that time"
            )
        if self.stalled > 0:
            said.append(f"waited for credit {'at most ' * (self.count > 1)}{percent(self.stalled)}")
        if self.replays:
            said.append(f"{self.replays} sent again")
        return ", ".join(said)


Uses = tuple[Use, Use]
"""The use of both directions of a wire: down and up, or from the first and from the second end."""


def step_of(share: float) -> int:
    """The step of the scale for a share of time: 0 for an idle wire, one step for each fifth."""
    if share < IDLE:
        return 0
    return min(STEPS, 1 + int(share * STEPS))


def percent(share: float) -> str:
    """A share in percent as text; a small share has a decimal place."""
    value = 100 * share
    if 0 < value < 0.05:  # noqa: PLR2004 - what would be written as nothing
        return "<0.1 %"
    return f"{value:.1f} %" if 0 < value < 9.95 else f"{value:.0f} %"  # noqa: PLR2004 - two digits


_DOWN = "the link did not come up"


class Usage:
    """The use of all wires of a fabric in a run; it is empty without a result.

    `links` has the name of the node below each link, because two links may have the same id.
    """

    def __init__(self, tree: Tree, result: RunResult | None) -> None:
        self.links: dict[str, Uses] = {}
        self.others: dict[str, Uses] = {}
        self.fibres: dict[str, Uses] = {}
        self.failed: set[str] = set()
        bounds = result.measured_ns if result else None
        self.memories: dict[str, dict[int, float]] = {}
        self.known = bounds is not None
        if result is None or bounds is None:
            return
        self.memories = _memories(result.series, bounds)
        length = bounds[1] - bounds[0]
        self.failed = {error.where for error in result.errors if error.what == _DOWN}
        pairs = _pairs((one.id, _use(one, length)) for one in result.links)
        for node in tree.nodes:
            if node.upstream and (found := pairs.get(link_id(node.name, node.upstream.to))):
                self.links[node.name] = found.pop(0)
        self.others = {key: uses[0] for key, uses in pairs.items() if uses}
        of_fibres = _pairs((one.id, _use(one, length)) for one in result.fibres)
        self.fibres = {key: uses[0] for key, uses in of_fibres.items()}

    @property
    def has_stalls(self) -> bool:
        """Whether any direction has a mark for its stalls."""
        found = (self.links, self.others, self.fibres)
        pairs = (uses for part in found for uses in part.values())
        return any(use.stalled >= STALLED for uses in pairs for use in uses)


def link_id(node: str, above: str) -> str:
    """The id of the link between a node and the node above it."""
    return f"{above}-{node}"


def together(uses: Iterable[Uses | None]) -> Uses | None:
    """The combined use of wires that are drawn as one wire."""
    known = [pair for pair in uses if pair]
    if not known:
        return None
    return _merged([down for down, _ in known]), _merged([up for _, up in known])


def _merged(uses: list[Use]) -> Use:
    return Use(
        least=min(use.least for use in uses),
        most=max(use.most for use in uses),
        stalled=max(use.stalled for use in uses),
        bytes_per_second=sum(use.bytes_per_second for use in uses),
        replays=sum(use.replays for use in uses),
        count=sum(use.count for use in uses),
        full=max(use.full for use in uses),
    )


def _use(one: LinkResult | FibreResult, length_ns: float) -> Use:
    length_ns = getattr(one, "under_way_ns", None) or length_ns
    seconds = length_ns * 1e-9
    return Use(
        least=one.utilisation,
        most=one.utilisation,
        stalled=one.credit_stall_ns / length_ns if length_ns else 0.0,
        bytes_per_second=one.payload_bytes / seconds if seconds else 0.0,
        replays=one.replays,
        full=getattr(one, "full", 0.0),
    )


def _memories(series: Series | None, bounds: tuple[float, float]) -> dict[str, dict[int, float]]:
    """The use of the memory of each socket, by host and socket, from samples within `bounds`."""
    found: dict[str, dict[int, float]] = defaultdict(dict)
    if series is None or not series.end_ns:
        return found
    edges = pairwise([series.begin_ns, *series.end_ns])
    lengths = [max(min(end, bounds[1]) - max(begin, bounds[0]), 0.0) for begin, end in edges]
    for one in series.memories:
        busy = sum(share * length for share, length in zip(one.utilisation, lengths, strict=True))
        if busy > 0:
            found[one.host][one.socket] = busy / sum(lengths)
    return found


def _pairs(directions: Iterable[tuple[str, Use]]) -> dict[str, list[Uses]]:
    """Combines the directions into pairs: each with the next direction of the same id."""
    found: dict[str, list[Uses]] = defaultdict(list)
    waiting: dict[str, Use] = {}
    for key, use in directions:
        if key in waiting:
            found[key].append((waiting.pop(key), use))
        else:
            waiting[key] = use
    return found
