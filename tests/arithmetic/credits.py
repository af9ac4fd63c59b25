"""Buffers of a receiver, counted in credits, and when freed credit is told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arithmetic.configuration import Class
from arithmetic.wire import Rate

if TYPE_CHECKING:
    from arithmetic.configuration import Configuration, Port

LARGEST = (127, 508, 2032), (2047, 8188, 32752)
"""The most headers and data credits outstanding with factors 1, 4 and 16 (3.4.2, table 3-2)."""

FACTORS = 1, 4, 16

DEFAULT = {
    Class.POSTED: ((784, 64), (1456, 1024)),
    Class.NON_POSTED: ((784, 64), (392, 64)),
    Class.COMPLETION: ((1024, 64), (4096, 1024)),
}
"""Headers and data credits at 32 GT/s x16, in proportion to the fastest link, and the least."""


@dataclass
class Store:
    """The credits of a buffer for headers or for data."""

    size: int
    unit: int
    threshold: int
    """Free credits that are told at once."""
    packet: int
    """What the largest packet takes."""
    used: int = 0
    allocated: int = 0
    announced: int = 0

    @property
    def untold(self) -> int:
        """Freed credits that the far end does not know of."""
        return self.allocated - self.announced

    def is_due(self) -> bool:
        """A share is free, or the far end has too little for a packet (2.6.1.2)."""
        is_starving = self.used + self.untold + self.packet > self.size
        return self.untold >= self.unit and (self.untold >= self.threshold or is_starving)

    def announce(self) -> int:
        self.announced = self.allocated - self.allocated % self.unit
        return self.announced


@dataclass
class Buffer:
    """The buffers of a class: headers and data; none for infinite credit."""

    stores: tuple[Store, Store] | None
    since: int | None = None
    """When there began to be freed credit to tell."""
    announcements: int = 0

    @property
    def is_limited(self) -> bool:
        return self.stores is not None

    def limit(self) -> tuple[float, float]:
        """The limits of InitFC."""
        if self.stores is None:
            return math.inf, math.inf
        headers, data = self.stores
        return headers.announced, data.announced

    def take(self, data: int) -> None:
        if self.stores is not None:
            self.stores[0].used += 1
            self.stores[1].used += data

    def free(self, data: int) -> None:
        if self.stores is not None:
            for store, freed in zip(self.stores, (1, data), strict=True):
                store.used -= freed
                store.allocated += freed

    def can_announce(self) -> bool:
        return any(store.untold >= store.unit for store in self.stores or ())

    def is_due(self) -> bool:
        return any(store.is_due() for store in self.stores or ())

    def announce(self) -> tuple[float, float]:
        self.since = None
        for store in self.stores or ():
            store.announce()
        return self.limit()


def buffers(configuration: Configuration, rate: Rate, port: Port, *, counts: bool) -> list[Buffer]:
    """The buffers of a port by class; completions have limits if it `counts` them."""
    return [
        Buffer(_stores(configuration, rate, port, kind))
        if counts or kind != Class.COMPLETION
        else Buffer(None)
        for kind in Class
    ]


def sizes(configuration: Configuration, kind: Class) -> tuple[int, int]:
    """The headers and data credits that each port has for a class, unless it has others."""
    fastest = min(link.rate.time(16) for link in configuration.links.values())
    share = Rate(5, 16).time(16) / fastest
    (most_headers, least_headers), (most_data, least_data) = DEFAULT[kind]
    headers = max(math.ceil(most_headers * share), least_headers)
    return headers, max(math.ceil(most_data * share), least_data)


def _stores(
    configuration: Configuration, rate: Rate, port: Port, kind: Class
) -> tuple[Store, Store]:
    headers, data = sizes(configuration, kind)
    if kind != Class.COMPLETION:
        headers = port.headers[kind] or headers
        given = port.data[kind]
        data = -(-given // 16) if given else data
    is_scaled = port.scaled_flow_control
    if is_scaled is None:
        is_scaled = rate.generation >= 4
    packet = 1 if kind == Class.NON_POSTED else configuration.max_payload // 16
    made = []
    for size, most, largest in ((headers, LARGEST[0], 1), (data, LARGEST[1], packet)):
        factor = next((f for f, m in zip(FACTORS, most, strict=True) if size <= m), FACTORS[-1])
        factor = factor if is_scaled else 1
        size = min(size, most[FACTORS.index(factor)])  # noqa: PLW2901
        size -= size % factor  # noqa: PLW2901
        threshold = max(1, math.ceil(size * port.update_fc_share))
        made.append(Store(size, factor, threshold, largest, 0, size, size))
    if port.update_fc_packets:
        made[0].threshold = min(made[0].threshold, port.update_fc_packets)
    return made[0], made[1]
