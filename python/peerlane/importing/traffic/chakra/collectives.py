"""The transfers of collective operations in traces, for one algorithm of each.

A collective among other steps cannot be an entry of `[[schedules]]`, because a schedule depends on
no other one. Vectors are moved around a ring, or directly from rank to rank, in whole segments.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Collective(IntEnum):
    """The values of the attribute comm_type."""

    ALL_REDUCE = 0
    REDUCE = 1
    ALL_GATHER = 2
    GATHER = 3
    SCATTER = 4
    BROADCAST = 5
    ALL_TO_ALL = 6
    REDUCE_SCATTER = 7
    REDUCE_SCATTER_BLOCK = 8
    BARRIER = 9


KNOWN = frozenset(Collective) - {Collective.REDUCE, Collective.GATHER, Collective.SCATTER}
"""The collectives that are imported. The traces do not name the root of the other ones."""

WORD = 4


class Transfer(NamedTuple):
    """Bytes that one rank of a group writes to another one, which may add them to its own bytes."""

    source: int
    target: int
    size: int
    offset: int = 0
    place: int = 0
    """The offset of the first byte at the target."""
    is_sum: bool = False


def vector(kind: Collective, ranks: int, size: int) -> int:
    """The bytes of the largest vector of a rank; a barrier is an all-reduce of a word of each rank.

    Args:
        kind: The collective.
        ranks: The ranks of the group.
        size: The bytes that a rank gives, as in the attribute comm_size.
    """
    of_all = {Collective.ALL_GATHER: size, Collective.BARRIER: WORD}
    return of_all[kind] * ranks if kind in of_all else size


def rounds(kind: Collective, ranks: int, whole: int) -> list[list[Transfer]]:
    """The transfers of each round; a rank sends what it has after the round before.

    Bytes that are added or exchanged arrive behind the vector.

    Args:
        kind: The collective.
        ranks: The ranks of the group.
        whole: The bytes of the vector: whole words in equal segments, one for each rank.
    """
    part = whole // ranks
    others = [(one, other) for one in range(ranks) for other in range(ranks) if one != other]
    if kind == Collective.BROADCAST:
        return [[Transfer(0, other, whole) for one, other in others if one == 0]]
    if kind == Collective.ALL_TO_ALL:
        return [[Transfer(*ends, part, ends[1] * part, whole + ends[0] * part) for ends in others]]
    sums = [True] * (ranks - 1) * (kind != Collective.ALL_GATHER)
    is_scatter = kind in {Collective.REDUCE_SCATTER, Collective.REDUCE_SCATTER_BLOCK}
    copies = [False] * (ranks - 1) * (not is_scatter)
    return [
        [
            Transfer(rank, (rank + 1) % ranks, part, offset, offset + whole * is_sum, is_sum)
            for rank in range(ranks)
            for offset in [(rank - number) % ranks * part]
        ]
        for number, is_sum in enumerate(sums + copies)
    ]
