"""The keys of a scenario that lift a limit, and the values that lift it farther and farther.

The catalogue has with each key the limit that it lifts, and how its value grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerlane import _core
from peerlane._core import read_value
from peerlane.dotted import join_path, split_path
from peerlane.figures.quantities import amount_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from peerlane.explaining.present import Present
    from peerlane.results.explanation import Value
    from peerlane.results.waits import Cause

    Row = tuple[str, list[int], str | None, list[str]]

OF_FLOW = "keeps the interval of the flow"
"""The detail of a datapath at which a flow waits for its own `interval`."""


@dataclass(frozen=True, slots=True)
class Lifting:
    """A key that may lift a limit.

    `values` lift it farther and farther, each with a value for every key: the first that is enough
    is taken, or the first of all if none is.
    """

    keys: tuple[str, ...]
    before: tuple[Value, ...]
    values: tuple[tuple[Value, ...], ...]


def liftings(present: Present, flow: str, limit: Cause) -> list[Lifting]:
    """What may lift the limit of a flow; empty if no key does."""
    tables = list(dict.fromkeys(_tables(present, flow, limit)))
    if not tables:
        return []
    found = list(_of_limit(present, limit, tables, limit.detail))
    if limit.kind == "wire":
        return [one for one in found if one.values][:1]  # a faster link before a wider one
    if limit.kind == "credit" and limit.detail is not None:
        # The other one of headers and data may be just as small.
        stem = limit.detail.rpartition(" ")[0]
        both = [
            one
            for amount in ("headers", "data")
            for one in _of_limit(present, limit, tables, f"{stem} {amount}")
        ]
        found += [_together(both)] if len(both) > 1 else []
    if limit.kind == "software" and not tables[0].startswith("devices.") and found:
        return [_together(found)]  # the costs of one call
    return found


def shortcuts(present: Present, flow: str) -> list[Lifting]:
    """What may shorten the way of a flow's packets, such as no redirection to the root.

    The nodes above both ends may have these keys; where several have, all are lifted together, too.
    """
    tables = (present.table(node) for node in present.above_ends(flow))
    found = [one for table in tables for one in _switched(present, "way", table) if one.values]
    return [*found, _together(found)] if len(found) > 1 else found


def without_order(present: Present, flow: str, limit: Cause) -> list[Lifting]:
    """What lets the packets of a flow pass earlier ones, for which they may wait in a host."""
    if limit.kind != "memory" or "hosts" not in split_path(present.table(limit.where))[::2]:
        return []
    tables = (join_path(("flows", flow)), *map(present.table, present.ends_of_flow(flow)[:1]))
    found = [one for table in tables for one in _switched(present, "order", table) if one.values]
    return [_together(found)] if found else []


def without_errors(present: Present, limit: Cause) -> list[Lifting]:
    """No bit errors where a limit may be due to packets that are sent again; empty without them."""
    if limit.kind not in {"wire", "credit", "replay-buffer"}:
        return []
    errors = present.bit_errors(limit.where)
    return [] if errors is None else [Lifting((errors[0],), (errors[1],), ((0,),))]


def _tables(present: Present, flow: str, limit: Cause) -> Iterable[str]:
    """The tables whose keys lift a limit; keys of several tables are lifted together."""
    where, fibre = limit.where, present.routers(limit.where)
    if limit.detail == OF_FLOW:
        return [join_path(("flows", flow))]
    if limit.kind in {"wire", "credit"} and fibre:
        return map(present.table, fibre)
    if limit.kind == "wire":
        return [present.table_of_link(where)]
    if limit.kind in {"credit", "replay-buffer"}:
        end = _end(present, limit, sends=limit.kind == "replay-buffer")
        return [] if end is None else [present.table(end)]
    if limit.kind in {"arbitration", "other"}:
        return []
    return [present.table(where.rpartition(".")[0] if limit.kind == "socket" else where)]


def _end(present: Present, limit: Cause, *, sends: bool) -> str | None:
    """The sender, or the receiver, of a direction of a link."""
    ends = present.ends(limit.where)
    if ends is None:
        return None
    above, below = ends
    is_down = limit.direction in {"down", "forth"}
    return above if is_down == sends else below


def _of_limit(
    present: Present, limit: Cause, tables: Sequence[str], detail: str | None
) -> Iterator[Lifting]:
    """The keys of tables that lift a limit, where they have a value that limits."""
    for row in present.scenario.lifts(tables[0], limit.kind, detail):
        keys, own = _keys(present, limit, tables, row)
        yield from _lifting(keys, present.before(limit, keys[0]), own)


def _switched(present: Present, what: str, table: str) -> Iterator[Lifting]:
    """The keys of a table that lift what is no limit at one place: a "way", or an "order"."""
    for row in present.scenario.lifts(table, what):
        key = f"{table}.{row[0]}"
        yield from _lifting((key,), present.scenario.effective(key)[0], row)


def _lifting(keys: tuple[str, ...], before: Value, row: Row) -> Iterator[Lifting]:
    _, factors, most, to = row
    values = _values(before, factors, most, to)
    if values or amount_of(before):
        many = len(keys)
        yield Lifting(keys, (before,) * many, tuple((value,) * many for value in values))


def _keys(
    present: Present, limit: Cause, tables: Sequence[str], row: Row
) -> tuple[tuple[str, ...], Row]:
    """The paths of a key; with a network interface all others at its controller have one clock."""
    clocks = present.controller_clocks(limit.where) if row[0] == "clock" else ()
    if not clocks:
        return tuple(f"{table}.{row[0]}" for table in tables), row
    controller = clocks[-1].rpartition(".")[0]
    return clocks, present.scenario.lifts(controller, limit.kind)[0]


def _together(liftings: Sequence[Lifting]) -> Lifting:
    """All keys at once, each with its last value."""
    return Lifting(
        tuple(key for one in liftings for key in one.keys),
        tuple(value for one in liftings for value in one.before),
        (tuple(value for one in liftings for value in one.values[-1]),),
    )


def _values(
    before: Value, factors: Iterable[int], most: str | None, to: Iterable[str]
) -> list[Value]:
    """The values from the one before on, each more than the last, or no limit."""
    last = amount_of(before)
    grown = [times(before, factor) for factor in factors] if last else []
    if most is not None:
        greatest: Value = read_value(most)
        grown = [min(one, greatest, key=lambda each: amount_of(each) or 0.0) for one in grown]
    values: list[Value] = []
    for one in (*grown, *map(read_value, to)):
        if _is_more(one, before, last):
            values.append(one)
            last = amount_of(one) or last
    return values


def _is_more(value: Value, before: Value, last: float | None) -> bool:
    if isinstance(value, bool):
        return value is not before
    amount = amount_of(value)
    return amount is None or last is None or amount > last or (amount == 0 != last)


def times(value: Value, factor: int) -> Value:
    """A number, or a quantity with its unit, as many times."""
    if isinstance(value, int | float):
        return value * factor
    found = _core.quantity(value or "")
    if found is None:
        return value
    number = float(found[0]) * factor
    return f"{int(number) if number.is_integer() else number} {found[1]}".strip()
